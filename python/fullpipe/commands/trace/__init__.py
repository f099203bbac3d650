"""`fullpipe trace`: measurements of other programs, one file per command."""

import typer

from fullpipe.commands.listing import Group, add, unwrapped

COMMANDS = {"Commands": ("import_",)}
"""The modules of this package by the heading of `--help`, in its order."""

_HELP = """Import measurements of other programs as runs.

Examples:
    fullpipe trace import iperf3.json --out results/measured
    fullpipe report results/measured
"""

command = typer.Typer(
    cls=Group,
    help=unwrapped(_HELP),
    no_args_is_help=True,
    rich_markup_mode=None,
)
add(command, __name__, COMMANDS)
