"""The program `fullpipe-kernel` and its BPF objects, which a wheel or `make kernel` brings."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe import _core
from fullpipe.errors import UserError
from fullpipe.wings.traces.foreign.kernel_name import stem

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = "fullpipe-kernel"
OBJECTS = "fullpipe-bpf"
"""The directory of the objects, next to the program."""
ENDING = ".bpf.o"
SECONDS = {"s": 1.0, "ms": 1e-3}
"""Seconds of the units of parameters that are times."""
_AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"


class KernelError(UserError):
    """An algorithm can't be loaded, unloaded or traced; the text has the reason and the fix."""


class Object(NamedTuple):
    """An algorithm that can be loaded.

    Attributes:
        algorithm: Its name in scenarios.
        name: Its name in the kernel, for TCP_CONGESTION.
        file: The BPF object.
        parameters: Its parameters that can be set, with the values without a setting, in the units of its declaration.
    """

    algorithm: str
    name: str
    file: Path
    parameters: Mapping[str, float | str]


def find() -> Path | None:
    """Returns the program; None if it has not been built."""
    beside = Path(sys.executable).parent
    own = Path(_core.__file__).parent / "_bin"  # of a wheel
    found = (shutil.which(PROGRAM, path=str(folder)) for folder in (beside, own))
    path = next(filter(None, found), None) or shutil.which(PROGRAM)
    return None if path is None else Path(path)


def program() -> Path:
    """Returns the program.

    Raises:
        KernelError: When it has not been built.
    """
    found = find()
    if found is None:
        raise KernelError(
            f"the program {PROGRAM} has not been built\n"
            "  fix: in a clone of fullpipe, run make kernel, which takes a minute"
        )
    return found


def call(*words: str) -> Any:  # noqa: ANN401  (JSON)
    """Runs the program, and returns its output.

    Raises:
        KernelError: When the program refuses.
    """
    done = subprocess.run([program(), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise of(done.stderr, done.returncode)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise outdated("it prints no JSON") from None


def of(errors: str, code: int) -> KernelError:
    """Returns the error that the program's last line, JSON, describes."""
    try:
        parts = json.loads(errors.strip().splitlines()[-1])
        return KernelError(f"{parts['problem']}\n  fix: {parts['fix']}")
    except (IndexError, ValueError, KeyError, TypeError):
        return outdated(errors.strip() or f"it ended with exit code {code}")


def outdated(why: str) -> KernelError:
    """Returns the error for a program of another version."""
    return KernelError(f"the program {PROGRAM} has a different version: {why}\n  fix: make kernel")


@cache
def objects() -> dict[str, Object]:
    """Returns the algorithms that can be loaded, by their names in scenarios.

    Raises:
        KernelError: When the program has not been built.
    """
    folder = program().parent / OBJECTS
    named = {stem(each["name"]): each["name"] for each in _core.algorithms()}
    files = [
        file
        for file in sorted(folder.glob(f"*{ENDING}"))
        if file.name.removesuffix(ENDING) in named
    ]
    described = call("settings", *map(str, files)) if files else []
    return {
        (algorithm := named[file.name.removesuffix(ENDING)]): Object(
            algorithm, each["name"], file, as_declared(algorithm, each["parameters"])
        )
        for file, each in zip(files, described, strict=True)
    }


def declared(algorithm: str) -> dict[str, _core.Param]:
    """Returns the declarations of an algorithm's parameters, by name."""
    of = next(each for each in _core.algorithms() if each["name"] == algorithm)
    return {each["name"]: each for each in of["params"]}


def as_declared(algorithm: str, values: Mapping[str, float]) -> dict[str, float | str]:
    """Returns the values of an object, which has times in seconds and places of words, as they are declared."""
    found: dict[str, float | str] = {}
    for name, value in values.items():
        of = declared(algorithm)[name]
        if of["choices"]:
            found[name] = of["choices"][round(value)]
        else:
            found[name] = value / SECONDS.get(of["unit"], 1.0)
    return found


def named(text: str) -> Object:
    """Returns the algorithm that a user names, as in scenarios or as in the kernel.

    Raises:
        KernelError: When there is no such object.
    """
    known = objects()
    for each in known.values():
        if text in (each.algorithm, each.name):
            return each
    if text in Path(_AVAILABLE).read_text(encoding="ascii").split():
        raise KernelError(
            f"{text}: Linux has it, and fullpipe has no BPF object of this name\n"
            f"  fix: use it without a load: iperf3 -C {text}; or load one of {', '.join(known)}"
        )
    from difflib import get_close_matches

    near = get_close_matches(text, known, n=1)
    there = f"there are {', '.join(known)}" if known else "run make kernel"
    fix = f"did you mean {near[0]}? {there}" if near else there
    raise KernelError(f"{text}: fullpipe has no BPF object of this name\n  fix: {fix}")


def names() -> list[tuple[str, str]]:
    """Returns the algorithms that are built, without purposes; none without the program."""
    try:
        return [(name, each.name) for name, each in objects().items()]
    except KernelError:
        return []
