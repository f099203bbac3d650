"""`fullpipe fleet`: one file per command."""

import typer

from fullpipe.commands.listing import Group, add, unwrapped

COMMANDS = {"Commands": ("sample", "ingest", "compare", "simulate", "path")}
"""The modules of this package by the heading of `--help`, in its order."""

_HELP = """Compare algorithms on production or simulated hosts.

Groups of hosts (the arms) run different algorithms. `sample` records their connections, `ingest`
reads such files and logs into tables, and `compare` prints the effects and a verdict. `simulate`
makes the same tables from a simulated population of paths.

Examples:
    fullpipe fleet sample --sport 443 --out /var/tmp/samples
    fullpipe fleet ingest --arm 'cubic=a/*.ss.gz' --arm 'bbr=b/*.ss.gz' --out fleet
    fullpipe fleet compare fleet
"""

command = typer.Typer(
    cls=Group,
    help=unwrapped(_HELP),
    no_args_is_help=True,
    rich_markup_mode=None,
)
add(command, __name__, COMMANDS)
