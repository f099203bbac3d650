"""`fullpipe fleet`: a file a command."""

import typer

from fullpipe.commands.listing import add

COMMANDS = ("ingest", "sample", "compare", "simulate", "path")
"""The modules here, in the order of --help."""

command = typer.Typer(
    help="What the hosts of a fleet measured: from ss, nginx and /proc to a decision.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
add(command, __name__, COMMANDS)
