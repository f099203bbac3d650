"""Commands that tell what there is: on this machine, and for scenarios."""

import os
import re
from enum import StrEnum
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from fullpipe import _core
from fullpipe.errors import fail

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fullpipe.catalogue import Entry


class Kind(StrEnum):
    """What can be listed."""

    ALGORITHMS = "algorithms"
    QUEUES = "queues"
    IMPAIRMENTS = "impairments"
    PROFILES = "profiles"


def doctor_command(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, and nothing else.")
    ] = False,
) -> None:
    """Say what this machine can run a scenario on, and how to mend what it can't. Changes nothing.

    For example: fullpipe doctor
    """
    from fullpipe import doctor

    if as_json:
        typer.echo(doctor.records())
        return
    from rich.console import Console

    doctor.show(Console(highlight=False))


def list_command(kind: Annotated[Kind, typer.Argument(help="What to list.")]) -> None:
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


def explain_command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="What `list` lists, a key like path.rate, or `scenario`."
        ),
    ],
) -> None:
    """Explain an algorithm, a queue, an impairment, a profile, or the keys of a scenario."""
    from rich.console import Console

    from fullpipe.catalogue import UnknownNameError, explain

    try:
        paragraphs = list(explain(name))
    except UnknownNameError as error:
        fail(error)
    console = Console(highlight=False)
    with console.capture() as printed:
        for paragraph in paragraphs:
            console.print(paragraph)
    # no padding
    typer.echo(
        re.sub(r" +((?:\x1b\[[0-9;]*m)*)$", r"\1", printed.get(), flags=re.MULTILINE), nl=False
    )


def schema_command() -> None:
    """Print the JSON schema of a scenario, for editors."""
    typer.echo(_core.schema(), nl=False)
