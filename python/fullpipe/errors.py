"""Errors that Python raises for users, and how commands end early: with a message and an exit code that says why.

What a user can mend is exit code 2; a signal's is 128 and its number. typer is imported where a command ends: who
imports fullpipe as a library has no use for it.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from fullpipe._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class RunnerError(ValueError):
    """There is no such runner, or it is not there; the text says which there are, or what to do."""


def refusal(
    problem: str, fix: str, *, file: str = "", key: str = "", value: str = "", place: str = ""
) -> ScenarioError:
    """A :class:`ScenarioError` with the same text and attributes as the core's.

    It begins with `place`, or with the file, key and value that there are.
    """
    if not place:
        where = f"{key} = {value}" if key and value else key
        place = ": ".join(part for part in (file, where) if part)
    error = ScenarioError(f"{place}: {problem}\n  fix: {fix}")
    error.file, error.line, error.key, error.value, error.problem, error.fix = (
        file,
        None,
        key,
        value,
        problem,
        fix,
    )
    return error


class Stopped(SystemExit):
    """A signal asks the command to end. Nothing catches it by accident, and everything is cleaned up on its way."""

    code: int


def fail(problem: object) -> NoReturn:
    """Says what is wrong and ends the command."""
    import typer

    print(f"error: {problem}", file=sys.stderr)
    raise typer.Exit(2)


@contextmanager
def user_errors() -> Iterator[None]:
    """Fails where the block raises what a user can mend: a refused scenario, a missing runner, a file or directory."""
    try:
        yield
    except (ScenarioError, RunnerError, FileExistsError) as error:
        fail(error)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error)


@contextmanager
def stoppable(
    where: Callable[[], str], kept: str | Callable[[], str] = "nothing kept"
) -> Iterator[None]:
    """Says `where` the block was when Ctrl-C or a signal ended it, and what is `kept`, and ends the command."""
    try:
        yield
    except (KeyboardInterrupt, Stopped) as stop:
        with suppress(OSError):  # the terminal may have gone, which was the signal
            print(
                f"interrupted {where()}; {kept if isinstance(kept, str) else kept()}",
                file=sys.stderr,
            )
        import typer

        raise typer.Exit(stop.code if isinstance(stop, Stopped) else 128 + signal.SIGINT) from None


def heed_signals() -> None:
    """Makes a request to end an orderly end, and a reader of our output that went away a silent one."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # not every system has each
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _stop)
    if hasattr(signal, "SIGPIPE"):
        # as other commands in a pipeline: `fullpipe … | head -1`
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def _stop(number: int, _frame: object) -> NoReturn:
    raise Stopped(128 + number)


@contextmanager
def printing() -> Iterator[None]:
    """Fails where standard output can't be written, be it when the block ends."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:  # it is where the shell has closed it
                sys.stdout.flush()
    except OSError as error:
        # What could not be written would be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"error: standard output: {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None
