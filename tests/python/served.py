"""Calls of the command in forked processes, without the imports that take most of the time of a short call.

A server imports all modules, and forks a process for each call. So a call has its own threads, signals and exit code.
Tests of the start-up, or of the interpreter's end, must call the command as a user does.
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

# All modules that commands import when they need them. The server ignores a missing one, a test
# does not.
IMPORTED = [
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "polars",
    "rich.console",
    "scipy.optimize",
    "scipy.stats",
    "fullpipe.study.checks",
    "fullpipe.commands",
    "fullpipe.study.comparison.command",
    "fullpipe.wings.fleet.compare.command",
    "fullpipe.report.build",
    "fullpipe.report.write",
    "fullpipe.study.reproduce.command",
    "fullpipe.study.sweeps.command",
    "fullpipe.wings.real.validate.command",
    "fullpipe.wings.fleet.workload.reading",
]
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(IMPORTED)


def call(
    args: list[str],
    directory: Path,
    environment: Mapping[str, str],
    *,
    merged: bool = False,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Runs `fullpipe` to its end.

    Args:
        args: The arguments of `fullpipe`.
        directory: Its current directory.
        environment: Its complete environment.
        merged: Whether standard error goes to standard output.
        timeout: Time limit in seconds.

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


def command(
    *words: object,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Runs `fullpipe` with words of any kind, in this process's directory and environment if no others are given."""
    given = dict(os.environ if environment is None else environment)
    return call([*map(str, words)], directory or Path.cwd(), given, timeout=timeout)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _run(
    args: list[str], directory: str, environment: dict[str, str], handles: list[object]
) -> None:
    for number, handle in enumerate(handles, start=1):
        os.dup2(handle.detach(), number)  # type: ignore[attr-defined]
    # The same value as in `python -m fullpipe`.
    sys.argv = [str(Path(fullpipe.__file__).with_name("__main__.py")), *args]
    sys.path.insert(0, directory)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    from fullpipe.commands import main

    main()
