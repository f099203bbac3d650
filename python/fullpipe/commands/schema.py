"""`fullpipe schema`."""

import typer

from fullpipe import _core


def command() -> None:
    """Print the JSON schema of scenario files.

    Editors use it to check and complete TOML files.

    Examples:
        fullpipe schema > scenario.schema.json
    """
    typer.echo(_core.schema(), nl=False)
