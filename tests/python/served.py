"""Calls of the command, in processes that have not to import everything again: most of a short call is that.

Each call is a process of its own, forked off a server that has only imported. So it has its own threads, signals and
exit code; but who tests start-up, or what the interpreter does at its end, calls the command as a user does.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

import fullpipe

if TYPE_CHECKING:
    from collections.abc import Mapping

# All that commands import when they need it. The server passes over what is not there, a test
# doesn't.
IMPORTED = [
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "polars",
    "rich.console",
    "scipy.optimize",
    "scipy.stats",
    "fullpipe.checks",
    "fullpipe.commands",
    "fullpipe.comparison.command",
    "fullpipe.fleet.compare.command",
    "fullpipe.report.build",
    "fullpipe.report.write",
    "fullpipe.reproduce.command",
    "fullpipe.sweeps.command",
    "fullpipe.validate.command",
    "fullpipe.workload.reading",
]
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(IMPORTED)


def call(
    args: list[str],
    directory: Path,
    environment: Mapping[str, str],
    *,
    merged: bool = False,
    timeout: float = 60,
) -> subprocess.CompletedProcess[str]:
    """Runs `fullpipe` to its end.

    Args:
        args: What follows `fullpipe`.
        directory: Where it runs.
        environment: All that it has.
        merged: Whether standard error goes to where standard output goes.
        timeout: In seconds.

    Raises:
        subprocess.TimeoutExpired: When it takes longer; it is killed.
    """
    with TemporaryFile() as out, TemporaryFile() as err:
        files = [out, out if merged else err]
        handles = [multiprocessing.reduction.DupFd(file.fileno()) for file in files]
        process = _CONTEXT.Process(
            target=_run, args=(args, str(directory), dict(environment), handles)
        )
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(["fullpipe", *args], timeout)
        return subprocess.CompletedProcess(
            ["fullpipe", *args], process.exitcode, _text(out), _text(err)
        )


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _run(
    args: list[str], directory: str, environment: dict[str, str], handles: list[object]
) -> None:
    for number, handle in enumerate(handles, start=1):
        os.dup2(handle.detach(), number)  # type: ignore[attr-defined]
    # As `python -m fullpipe` has it.
    sys.argv = [str(Path(fullpipe.__file__).with_name("__main__.py")), *args]
    sys.path.insert(0, directory)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    from fullpipe.commands import main

    main()
