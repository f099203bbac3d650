"""The command `fullpipe`: one file per command, with its options and its call of the library.

Packages that are slow to import (numpy, polars, matplotlib, rich) are imported where they are used,
so that `--help` is quick.
"""

from typing import Annotated

import typer

from fullpipe._core import __version__
from fullpipe.commands.listing import Group, add, unwrapped
from fullpipe.errors import ending, heed_signals, printing, tracebacks
from fullpipe.terminal import open_streams

COMMANDS = {
    "Experiments": ("run", "compare", "sweep", "check", "reproduce", "conformance"),
    "Real programs and kernels": ("link", "validate"),
    "Results": ("report", "qlog"),
    "Reference and setup": ("new", "list", "explain", "doctor", "schema"),
    "Fleets and workloads": ("fleet", "workload", "trace"),  # typer lists groups last
}
"""The modules of this package by the heading of `--help`, in its order."""

_HELP = """A laboratory for TCP and QUIC congestion control.

It simulates flows on a network path, or runs them on real TCP and QUIC, and measures goodput, delay
and loss.

Examples:
    fullpipe compare cubic bbr3 --rate 50mbit --rtt 40ms
    fullpipe run scenarios/cubic-vs-bbr1.toml --out results/first
    fullpipe report results/first

`fullpipe COMMAND --help` has the options and an example of each command.
"""

app = typer.Typer(
    cls=Group,
    help=unwrapped(_HELP),
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: loading rich takes longer than everything else
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

add(app, __name__, COMMANDS)


def main() -> None:
    """Runs the command.

    Exit codes: 0 for success, 1 for a check that failed, 2 for wrong use or input, 128 + n after
    signal n (130 for Ctrl-C).
    """
    open_streams()
    heed_signals()
    with ending(), tracebacks(), printing():
        app()


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"fullpipe {__version__}")
        raise typer.Exit
