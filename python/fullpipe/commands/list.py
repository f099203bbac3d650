"""`fullpipe list`."""

import os
from enum import StrEnum
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from fullpipe import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fullpipe.catalogue import Entry


class Kind(StrEnum):
    """What can be listed."""

    ALGORITHMS = "algorithms"
    QUEUES = "queues"
    IMPAIRMENTS = "impairments"
    PROFILES = "profiles"


def command(kind: Annotated[Kind, typer.Argument(help="What to list.")]) -> None:
    """List what a scenario can name, the exact name first."""
    from fullpipe.catalogue import names

    width = get_terminal_size().columns if os.isatty(1) else None  # for other programs, a line each
    listed: dict[Kind, Callable[[], Sequence[Entry]]] = {
        Kind.ALGORITHMS: _core.algorithms,
        Kind.QUEUES: _core.queues,
        Kind.IMPAIRMENTS: _core.impairments,
        Kind.PROFILES: _core.profiles,
    }
    typer.echo(names(listed[kind](), width))
