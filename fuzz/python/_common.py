"""Common parts of the targets in Python."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import atheris

if TYPE_CHECKING:
    from collections.abc import Callable

# Whether this program is a target. Otherwise it is a test, which only calls a target's `check`.
_FUZZES = Path(sys.argv[0]).resolve().parent == Path(__file__).resolve().parent


def instrumented(package: str) -> AbstractContextManager[None]:
    """Makes Atheris see the coverage of a package that is imported within."""
    return atheris.instrument_imports(include=[package]) if _FUZZES else nullcontext()


def folder() -> Path:
    """Returns a folder for inputs, which are files: in memory, where the system has such a directory."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix="fullpipe-fuzz-", dir=memory if memory.is_dir() else None))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


VALUES: list[Any] = [None, True, -1, 0, 1 << 70, 1.5, "", "x", [], [None], {}, {"a": 1}, 1e999]
"""Values for any place in a JSON value."""


def places(value: object) -> list[tuple[Any, Any]]:
    """Returns each entry of a JSON value, as its container and its key."""
    found: list[tuple[Any, Any]] = []
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in inner:
        found += [(value, key), *places(each)]
    return found


def fuzz(check: Callable[[bytes], None], **options: object) -> None:
    """Calls libFuzzer with the command's options, and with those of `atheris.Setup`."""
    atheris.Setup(sys.argv, check, **options)
    atheris.Fuzz()
