"""`fullpipe schema`."""

import typer

from fullpipe import _core


def command() -> None:
    """Print the JSON schema of a scenario, for editors."""
    typer.echo(_core.schema(), nl=False)
