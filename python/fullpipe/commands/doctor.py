"""`fullpipe doctor`."""

from typing import Annotated

import typer


def command(
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
