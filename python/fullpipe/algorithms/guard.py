"""The process in which a user's algorithm runs: a child of the command's process, which waits for a reported end.

An algorithm can end its process in ways that nothing in that process sees: `os._exit`, `exec`, `exit` of a library. Its
exit code would be the command's, and a condition that was never evaluated would be met.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from fullpipe import _core
from fullpipe.base.terminal import set_aside
from fullpipe.errors import ENDS, Exit, watch_signals

UNTOLD = 2
"""The exit code if the process ended before the command did."""


def admit() -> None:
    """Lets a user's code into this process from now on; to be called before the first of it runs.

    A command goes on in a child. Its parent has the terminal's and the caller's signals sent on, and the exit code.
    """
    if not Exit.of_command or threading.current_thread() is not threading.main_thread():
        return
    if Exit.told is None and hasattr(os, "fork") and not _has_pool():
        _divide()
    set_aside()
    watch_signals()


def _has_pool() -> bool:
    """Whether polars has threads that work for it: a child would wait for them forever. Its others may end."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        return False
    return any(
        re.match(r"polars-\d", (each / "comm").read_text(errors="replace"))
        for each in tasks.iterdir()
    )


def _divide() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # else there is no exit code to wait for
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    told, tell = os.pipe()
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    child = os.fork()
    if child:
        os.close(tell)
        _wait(child, told)
    os.close(told)
    Exit.told = tell
    if sys.platform == "linux":
        _core.end_with(parent)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(child: int, told: int) -> NoReturn:
    """Ends this process as the child ends, with an error if the child does not tell its end."""
    try:
        for number in ENDS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda number, _: os.kill(child, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            _die(-code)
        os.set_blocking(told, False)
        end = b""
        with suppress(BlockingIOError):  # a process that the algorithm began still has the pipe
            end = os.read(told, 1)
        if not end:
            line = (
                f"error: an algorithm ended the process, with exit code {code}, before the command had ended\n"
                "  fix: raise an exception\n"
            )
            with suppress(OSError):
                os.write(2, line.encode())
            os._exit(UNTOLD)
        # Python's own end after that counts only if it fails.
        os._exit(end[0] or code)
    finally:
        os._exit(UNTOLD)


def _die(number: int) -> None:
    """Ends this process by the signal that ended the child, without a second core dump."""
    import resource

    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):  # SIGKILL has no handler
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)
