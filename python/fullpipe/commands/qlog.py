"""`fullpipe qlog`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.errors import fail, user_errors


def command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="What `run --out` has kept.")],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A new one: .qlog is JSON, .sqlog is JSON-SEQ.")
    ],
    flow: Annotated[str | None, typer.Option(metavar="NAME", help="This flow alone.")] = None,
) -> None:
    """Write a kept trace as qlog 0.3, for qvis.

    For example: fullpipe qlog results/first first.qlog
    """
    from fullpipe.results.qlog import QlogError, of_saved, write

    with user_errors():
        try:
            typer.echo(f"{write(of_saved(directory), file, flow=flow)}")
        except QlogError as error:
            fail(error)
