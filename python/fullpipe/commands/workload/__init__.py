"""`fullpipe workload`: flows of captures and logs, a file a command."""

import typer

from fullpipe.commands.listing import add

COMMANDS = ("extract", "describe", "fit")
"""The modules here, in the order of --help."""

command = typer.Typer(
    help="Flows of captures and logs: extract them, and see what they are like.",
    no_args_is_help=True,
)
add(command, __name__, COMMANDS)
