"""The rehearsal of a class before its first run: whether state of one run is left to the next.

Two instances get the same calls, one after the other. If they decide differently, the results of a run would depend on
the runs before it. It happens in a copy of this process, so that nothing is left here: no state, no output.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import select
import signal
import sys
import warnings
from contextlib import suppress
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, NoReturn
from weakref import WeakSet

from fullpipe import _core
from fullpipe.algorithms.classes import described
from fullpipe.errors import ENDS, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SEQUENCES = 3
_PATIENCE_S = 2.0
_PASSED: WeakSet[type] = WeakSet()
"""Classes with nothing to refuse. The others are judged again at the next call, by which they may have changed."""


def rehearse(classes: Iterable[tuple[str, type]]) -> None:
    """Rehearses each class, until it has passed once in this process. One that takes seconds is not judged.

    Args:
        classes: Names and classes.

    Raises:
        ScenarioError: When a class decides otherwise when it is made again; the text names the state that is left.
    """
    for name, made in classes:
        if made not in _PASSED and hasattr(os, "fork"):
            if (left := _in_a_copy(name, made)) is not None:
                raise refusal(
                    "made again, the class decides otherwise at the same calls: "
                    + (f"{' and '.join(left)} outlives the run" if left else _UNKNOWN),
                    FIX,
                    key="cc",
                    value=name,
                )
            _PASSED.add(made)


_UNKNOWN = "something outlives the run, or a clock is read"
FIX = (
    "keep all state in self or in config.group, none in the class, the module, a default of an argument or "
    "a static variable; draw from cx.random() alone, and read no clock"
)
"""The conditions under which the runs of a class share nothing."""


def left_by(made: type, run: Callable[[], object]) -> list[str]:
    """Returns the names of the state of a class that a run changes, and that outlives it."""
    before = dict(_state(made))
    run()
    return [of for of, value in _state(made) if before.get(of) != value]


def _in_a_copy(name: str, made: type) -> list[str] | None:
    """Returns the names of the state that is left, as far as known; None if the class repeats itself, or is slow."""
    reads, writes = os.pipe()
    child = -1
    # A signal during the handlers of `fork` would be lost, with a message.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        with warnings.catch_warnings(), suppress(OSError):  # a container may forbid it
            warnings.simplefilter("ignore", DeprecationWarning)  # the copy needs no other threads
            child = os.fork()
        if child == 0:
            _judge(name, made, writes)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(writes)
        if child < 0 or not select.select([reads], [], [], _PATIENCE_S)[0]:
            return None
        with os.fdopen(os.dup(reads), "rb") as answer:
            told = answer.read()
        left: list[str] | None = json.loads(told) if told else None
        return left
    finally:
        os.close(reads)
        if child > 0:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _judge(name: str, made: type, writes: int) -> NoReturn:
    try:
        silent = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        sys.stdout = sys.stderr = silent  # a notebook's are no files
        os.dup2(silent.fileno(), 1)
        os.dup2(silent.fileno(), 2)
        given = [described(name, made)]
        left = None
        if not _core.repeats(name, given, _SEQUENCES):
            left = left_by(made, lambda: _core.repeats(name, given, _SEQUENCES))
        os.write(writes, json.dumps(left).encode())
    except BaseException:
        pass
    finally:
        os._exit(0)


def _state(made: type) -> Iterator[tuple[str, object]]:
    """Yields what outlives an instance: the name of each, and a value that differs when it has changed."""
    seen: set[object] = set()
    for each in made.__mro__:
        if each.__module__ in sys.builtin_module_names:
            continue
        yield from _of_class(each)
        for function in vars(each).values():
            if isinstance(function, FunctionType) and function.__module__ not in seen:
                seen.add(function.__module__)
                for key, value in list(function.__globals__.items()):
                    if isinstance(value, type):
                        if value.__module__ == function.__module__ and value not in made.__mro__:
                            yield from _of_class(value)
                    elif not (key.startswith("__") or isinstance(value, ModuleType)):
                        yield from _of_value(f"{key} of the module {function.__module__}", value)
    yield "the generator of the module random", random.getstate()
    if numpy := sys.modules.get("numpy"):
        yield "the generator of numpy.random", _fingerprint(numpy.random.get_state(legacy=False))


_NO_STATE = (
    "__dict__",
    "__weakref__",
    "__doc__",
    "__module__",
    "__annotations__",
    "__slotnames__",  # of `pickle`, and so of a fingerprint
)


def _of_class(of: type) -> Iterator[tuple[str, object]]:
    for key, value in list(vars(of).items()):
        if key not in _NO_STATE:
            yield from _of_value(f"{of.__qualname__}.{key}", value)


def _of_value(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if not isinstance(value, FunctionType):
        yield name, _fingerprint(value)
        return
    if value.__defaults__ or value.__kwdefaults__:
        yield f"a default of {name}", _fingerprint((value.__defaults__, value.__kwdefaults__))
    if vars(value):
        yield f"an attribute of {name}", _fingerprint(vars(value))
    for free, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=False):
        with suppress(ValueError):  # empty
            yield f"{free} around {name}", _fingerprint(cell.cell_contents)


def _fingerprint(value: object) -> object:
    try:
        return pickle.dumps(value)
    except Exception:
        return repr(getattr(value, "__dict__", value))
