"""A user's algorithms in Python: the declarations of a class, and its import by name.

`docs/tutorial/python-algorithm.md` has the contract and a complete example.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from fullpipe.algorithms.guard import admit
from fullpipe.algorithms.plugins import give, given_as
from fullpipe.algorithms.source import Source
from fullpipe.errors import CONTROLLER, Exit, Stopped, of_class, refusal
from fullpipe.scenario.origin import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fullpipe import _core

    Controllers = Mapping[str, type]
    Given: TypeAlias = list[_core._GivenController]

_Kind = TypeVar("_Kind")
METHODS = (
    "on_ack",
    "on_acked",
    "on_end",
    "on_frame",
    "on_lost",
    "on_path",
    "on_recovery",
    "on_sent",
    "on_timer",
    "on_unused",
)
"""The methods of an algorithm that events call."""
IMPORTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
"""The name of a class to import: `my.module:Mine`."""
_HOOK = re.compile(r"[oO]n(_|[A-Z])")
"""The beginning of the name of a method that events call, or seem to."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


@dataclass(frozen=True)
class Param:
    """A parameter of an algorithm, as `params = { beta = 0.8 }` sets it in a scenario.

    Attributes:
        default: A number, True or False, or a word.
        least: The smallest number allowed.
        most: The largest number allowed.
        choices: The words allowed, the default first.
        unit: The unit of a number.
        purpose: Its effect, in a sentence.
    """

    default: float | bool | str
    least: float = float("-inf")
    most: float = float("inf")
    choices: Sequence[str] = ()
    unit: str = ""
    purpose: str = ""


@dataclass(frozen=True)
class Field:
    """A column of the trace.

    Attributes:
        unit: The unit of the number.
        purpose: The meaning of the column, in a sentence.
        labels: The names behind 0, 1, 2 of a state.
    """

    unit: str = ""
    purpose: str = ""
    labels: Sequence[str] = ()


def load_file(name: str) -> str:
    """Returns the name by which a class in a file can be imported: of `my/mine.py:Mine` it is `mine:Mine`.

    The file's directory is added to Python's path.

    Raises:
        ScenarioError: When there is no such file, or the name lacks the class.
    """
    file, colon, made = name.rpartition(":") if ":" in name else (name, "", "")
    path = Path(file)
    if not path.is_file():
        raise refusal(
            "no such file", "name a Python file and its class, like mine.py:Mine", place=name
        )
    if not (colon and made):
        listed = re.findall(r"^class (\w+)", text_of(path), re.MULTILINE)
        fix = " or ".join(f"{file}:{each}" for each in listed) or f"{file}:Mine"
        raise refusal("a file, and its class is missing", f"write {fix}", place=name)
    admit()
    directory = path.parent.resolve()
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))
    found = f"{path.stem}:{made}"
    if directory != Path.cwd():
        give(found, name)
    return found


def source(name: str) -> Source | None:
    """Returns the module of a class that was imported; None without a file."""
    module = sys.modules.get(name.partition(":")[0])
    file = getattr(module, "__file__", None)
    if not file:
        return None
    here, path = Path.cwd(), Path(file)
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    version = str(getattr(module, "__version__", ""))
    return Source(str(shown), path.read_bytes(), version, given_as(name))


def sources(classes: Given) -> bytes:
    """Returns the source text of the classes' modules, as far as it can be found: results depend on it."""
    texts = []
    for _, made, _ in classes:
        file = getattr(sys.modules.get(made.__module__), "__file__", None)
        if file:
            with open(file, "rb") as source:  # noqa: PTH123  (as it was imported)
                texts.append(source.read())
    return b"".join(texts)


def imported(name: str) -> type:
    """Imports a class by its name: from the current directory, or from Python's path.

    Raises:
        ScenarioError: When there is no such module or class.
    """
    admit()
    module_name, _, class_name = name.partition(":")
    if os.getcwd() not in sys.path:  # noqa: PTH109
        sys.path.insert(0, os.getcwd())  # noqa: PTH109  (only `python -m` has it there, an installed command has not)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise _noted(error, name) from None  # a module that the user's module imports
        file = f"{module_name.partition('.')[0]}.py"
        fix = (
            f"run the command in the directory of {file}, name the file by --plugin DIR/{file}:{class_name}, "
            "or install the module"
        )
        raise _refused(name, f"there is no module {error.name}", fix) from None
    except BaseException as error:
        if isinstance(error, Stopped) or (
            isinstance(error, KeyboardInterrupt) and not Exit.of_command
        ):
            raise
        raise _noted(error, name) from None
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        classes = [
            key
            for key, value in vars(module).items()
            if isinstance(value, type) and hasattr(value, "decision")
        ]
        fix = (
            f"name one that it has: {', '.join(classes)}"
            if classes
            else "write one; docs/tutorial/python-algorithm.md shows how"
        )
        raise _refused(name, f"{module_name} has no class {class_name}", fix)
    return made


def _noted(error: BaseException, name: str) -> BaseException:
    error.add_note(f"{CONTROLLER}{name} can't be imported")
    return of_class(error)


def described(name: str, made: type) -> _core._GivenController:
    """Describes a class for the core.

    Raises:
        ScenarioError: When the class is not an algorithm, or the name none of one.
    """
    if not (_NAME.fullmatch(name) or IMPORTED.fullmatch(name)):
        raise _refused(name, "not a valid name", 'use letters, digits, "-", "_" and "."')
    used = _used(made)
    for method in dir(made):
        if not method.startswith("_") and method not in used and callable(getattr(made, method)):
            _refuse_stranger(name, made, method)
    for method in ("on_ack", "decision"):
        if not callable(getattr(made, method, None)):
            raise _refused(
                name,
                f"{made.__qualname__} has no method {method}",
                "add it: every algorithm needs on_ack and decision",
            )
    recovery = getattr(made, "recovery", "prr")
    if recovery not in ("prr", "own"):
        raise _refused(name, f"recovery = {recovery!r}", 'write "prr" or "own"')
    fields = _declared(name, made, "fields", Field)
    if fields and not callable(getattr(made, "observe", None)):
        raise _refused(
            name,
            f"{made.__qualname__} has fields but no method observe",
            "add it: observe() returns their values",
        )
    params = _declared(name, made, "params", Param)
    purpose = (made.__doc__ or f"{made.__qualname__}, in Python.").strip().partition("\n")[0]
    about = (
        purpose,
        [_param(name, key, param) for key, param in params.items()],
        [(key, field.unit, field.purpose, list(field.labels)) for key, field in fields.items()],
        recovery == "own",
        bool(getattr(made, "random", False)),
    )
    return name, made, about


def _declared(name: str, made: type, table: str, kind: type[_Kind]) -> dict[str, _Kind]:
    """Returns a table of a class: its parameters or fields.

    Raises:
        ScenarioError: When it is no table of them.
    """
    given: object = getattr(made, table, {})
    fix = f'write {table} = {{"key": fullpipe.{kind.__name__}(…)}}, as docs/reference/controller.md has it'
    if not isinstance(given, Mapping):
        raise _refused(name, f"{made.__qualname__}.{table} is no dict", fix)
    for key, value in given.items():
        if not isinstance(key, str) or not isinstance(value, kind):
            raise _refused(
                name, f"{made.__qualname__}.{table}[{key!r}] is no fullpipe.{kind.__name__}", fix
            )
    return dict(given)


def _refuse_stranger(name: str, made: type, method: str) -> None:
    """Refuses a method that no other one of the class uses, if it looks like one of the contract.

    `strangers` in `web/src/explore/own.ts` has the same rule, for classes in the page.
    """
    every = (*METHODS, "decision", "observe")
    if method in every or _is_of_fullpipe(made, method):
        return
    plain = _plain(method)
    if not (_HOOK.match(method) or any(_one_letter_apart(plain, _plain(each)) for each in every)):
        return
    equal = [each for each in every if _plain(each) == plain]
    near = [*equal, *get_close_matches(method, every, n=1, cutoff=0.6)]
    problem = f"{made.__qualname__} has a method {method}, which nothing calls"
    did = f"did you mean {near[0]}? " if near else ""
    known = f"the methods that are called: {', '.join(every)}; "
    raise _refused(name, problem, f"{did}{known}a method of your own needs another name")


def _plain(method: str) -> str:
    return method.replace("_", "").lower()


def _one_letter_apart(one: str, other: str) -> bool:
    """Whether two words are equal, or one letter is to be inserted, removed or replaced."""
    short, long = sorted((one, other), key=len)
    same = next((at for at, letter in enumerate(short) if letter != long[at]), len(short))
    return short[same:] == long[same + 1 :] or short[same + 1 :] == long[same + 1 :]


def _is_of_fullpipe(made: type, method: str) -> bool:
    """Whether a class gets a method from a base that is fullpipe's."""
    of = next((each for each in made.__mro__ if method in vars(each)), made)
    return of.__module__.partition(".")[0] == "fullpipe"


def _used(made: type) -> set[str]:
    """Returns the names that the methods and properties of a class use, each without its own.

    `Decision` is that of `fullpipe.Decision`, which every class uses.
    """
    return {
        name
        for each in made.__mro__
        for key, value in vars(each).items()
        for name in _names(value)
        if name not in (key, "Decision")
    }


def _names(attribute: object) -> Iterator[str]:
    """Yields the names and texts in an attribute's code, also in functions inside it and below its decorators.

    A text may be the name that `getattr` looks up.
    """
    left, seen = [attribute], set[int]()
    while left:
        value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, CodeType):
            yield from value.co_names
            left += value.co_consts
            yield from (each for each in value.co_consts if isinstance(each, str))
        elif isinstance(value, tuple | frozenset):
            yield from (each for each in value if isinstance(each, str))
        elif isinstance(value, property):
            left += (value.fget, value.fset, value.fdel)
        elif isinstance(value, staticmethod | classmethod):
            left.append(value.__func__)
        elif isinstance(value, FunctionType):
            left.append(value.__code__)
            for cell in value.__closure__ or ():
                with suppress(ValueError):  # empty
                    left.append(cell.cell_contents)
        # The functions that `functools.wraps`, `partialmethod` and `cached_property` keep.
        inside = getattr(value, "__dict__", {})
        left += (inside.get(key) for key in ("__wrapped__", "func"))


def _param(name: str, key: str, param: Param) -> _core._ParamAbout:
    default, least, most = param.default, param.least, param.most
    choices = list(param.choices) or ([default] if isinstance(default, str) else [])
    if isinstance(default, str):
        if default != choices[0]:
            raise _refused(
                name, f"the default of {key} is not the first of its choices", "list it first"
            )
    elif not isinstance(default, bool) and not least <= default <= most:
        raise _refused(
            name, f"the default of {key} is not from {least} to {most}", "choose one in that range"
        )
    return key, param.unit, param.purpose, default, least, most, choices


def _refused(name: str, problem: str, fix: str) -> _core.ScenarioError:
    return refusal(problem, fix, key="cc", value=name, place=f'cc = "{name}"')
