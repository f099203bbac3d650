"""`fullpipe explain`."""

import re
from typing import Annotated

import typer

from fullpipe.errors import fail


def command(
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
