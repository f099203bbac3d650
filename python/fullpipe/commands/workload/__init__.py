"""`fullpipe workload`: flows of captures and logs, one file per command."""

import typer

from fullpipe.commands.listing import Group, add, unwrapped

COMMANDS = {"Commands": ("extract", "describe", "fit")}
"""The modules of this package by the heading of `--help`, in its order."""

_HELP = """Extract traffic from captures and logs, for scenarios.

`extract` writes the flows of packet captures or logs to a file, which a scenario's [[workload]] can
replay. `describe` prints their sizes, arrivals and load, and `fit` a distribution for the sizes.

Examples:
    fullpipe workload extract monday.pcap.gz --out monday.parquet
    fullpipe workload describe monday.parquet
"""

command = typer.Typer(
    cls=Group,
    help=unwrapped(_HELP),
    no_args_is_help=True,
    rich_markup_mode=None,
)
add(command, __name__, COMMANDS)
