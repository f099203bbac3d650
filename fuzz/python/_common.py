"""Common parts of the targets in Python."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import atheris

if TYPE_CHECKING:
    from collections.abc import Callable


def folder() -> Path:
    """Returns a folder for inputs, which are files: in memory, where the system has such a directory."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix="fullpipe-fuzz-", dir=memory if memory.is_dir() else None))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def fuzz(check: Callable[[bytes], None]) -> None:
    """Calls libFuzzer with the command's options."""
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
