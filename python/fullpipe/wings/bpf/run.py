"""A program that runs while an algorithm is loaded."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from fullpipe.wings.bpf.program import KernelError

if TYPE_CHECKING:
    from collections.abc import Sequence


def run(command: Sequence[str]) -> int:
    """Runs a program to its end, and returns its exit code, or 128 + n after signal n.

    Raises:
        KernelError: When it can't be started.
    """
    try:
        process = subprocess.Popen(command)
    except OSError as error:
        raise KernelError(
            f"{command[0]}: {error.strerror}\n  fix: name a program that is installed"
        ) from error
    try:
        code = process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    return 128 - code if code < 0 else code
