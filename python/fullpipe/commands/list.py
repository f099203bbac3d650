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
    """Kinds of names that a scenario can have."""

    ALGORITHMS = "algorithms"
    QUEUES = "queues"
    IMPAIRMENTS = "impairments"
    PROFILES = "profiles"


def command(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="Kind of the names to list.")],
) -> None:
    """List algorithms, queues, impairments or profiles.

    Prints one line per entry: its name, as scenarios and options take it, and its purpose. A
    profile is a named network path, an impairment a pattern of loss, delay or rate.

    Examples:
        fullpipe list algorithms
        fullpipe list profiles
    """
    from fullpipe.catalogue import names

    width = (
        get_terminal_size().columns if os.isatty(1) else None
    )  # one line per entry, for other programs
    listed: dict[Kind, Callable[[], Sequence[Entry]]] = {
        Kind.ALGORITHMS: _core.algorithms,
        Kind.QUEUES: _core.queues,
        Kind.IMPAIRMENTS: _core.impairments,
        Kind.PROFILES: _core.profiles,
    }
    typer.echo(names(listed[kind](), width))
