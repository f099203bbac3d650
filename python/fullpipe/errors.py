"""How commands fail: what a user can mend becomes a message on standard error and exit code 2."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from fullpipe import ScenarioError


def fail(problem: object) -> NoReturn:
    """Says what is wrong and ends the command."""
    print(f"error: {problem}", file=sys.stderr)
    raise typer.Exit(2)


@contextmanager
def kindly() -> Iterator[None]:
    """Fails where the block raises something that a user can mend: a refused scenario, a file or directory."""
    try:
        yield
    except (ScenarioError, FileExistsError) as error:
        fail(error)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error)
