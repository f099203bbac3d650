"""The process that keeps an algorithm loaded. The kernel unloads the algorithm when that process ends, however it ends.

A holder lasts until its standard input has something to say: the end of the pipe from this process, or, if the
standard input is a pidfd, the end of another process.
"""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.wings.bpf import machine
from fullpipe.wings.bpf.program import KernelError, of, program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fullpipe.wings.bpf.program import Object

TRACE_US = 10_000
"""The usual least time between two rows of a connection, microseconds."""
_WRAPPERS = {"sudo", "doas", "su", "pkexec", "runuser", "uv"}
"""Programs that call fullpipe for a shell, and end with it."""


class Process(NamedTuple):
    """A process of this machine."""

    pid: int
    name: str


def plan(
    what: Object,
    parameters: Mapping[str, float],
    *,
    default: bool = False,
    detach: bool = False,
    trace_us: int = TRACE_US,
) -> str:
    """Returns the program's request to load an algorithm."""
    return json.dumps(
        {
            "algorithm": what.algorithm,
            "object": str(what.file),
            "parameters": dict(parameters),
            "trace_us": trace_us,
            "default": default,
            "detach": detach,
        }
    )


@contextmanager
def loaded(request: str) -> Iterator[None]:
    """Keeps an algorithm loaded within the block; also a SIGKILL of this process unloads it.

    Raises:
        KernelError: When it can't be loaded.
    """
    process = _start(request, subprocess.PIPE)
    try:
        yield
    finally:
        process.communicate()  # closes the pipe, and waits until the default is restored


def detached(request: str) -> None:
    """Loads an algorithm that stays until it is unloaded.

    Raises:
        KernelError: When it can't be loaded.
    """
    _start(request, subprocess.DEVNULL).communicate()


def until_end_of(process: Process, request: str) -> None:
    """Loads an algorithm until a process ends, in a holder that this process leaves behind.

    Raises:
        KernelError: When it can't be loaded.
    """
    ends = os.pidfd_open(process.pid)
    try:
        holder = _start(request, ends)
    finally:
        os.close(ends)
    for pipe in (holder.stdout, holder.stderr):
        assert pipe is not None
        pipe.close()
    holder.returncode = 0  # it goes on after this process: no warning about that


def caller() -> Process:
    """Returns the process that called this command: a shell, a script or another program, and not sudo.

    Raises:
        KernelError: When no process of this PID namespace did.
    """
    pid = os.getppid()
    while pid > 0:
        try:
            status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            break
        name, _, rest = status.partition("(")[2].rpartition(") ")
        if name not in _WRAPPERS:
            return Process(pid, name)
        pid = int(rest.split()[1])
    raise KernelError(
        "no process called this command, so none can hold the algorithm\n"
        "  fix: name a command after --, or use --detach"
    )


def _start(request: str, stdin: int) -> subprocess.Popen[str]:
    """Starts a holder, and returns when the algorithm is loaded."""
    if lacks := machine.unmet():
        raise KernelError(lacks)
    process = subprocess.Popen(
        [program(), "hold", request],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        start_new_session=True,  # Ctrl-C ends the command first
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
    except BaseException:
        process.kill()
        process.communicate()
        raise
    if not said:
        _, errors = process.communicate()
        raise of(errors, process.returncode)
    return process
