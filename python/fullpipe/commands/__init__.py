"""The command `fullpipe`: a file a command, with what it can be told and the call of the library that does the work.

What is slow to import (numpy, polars, matplotlib, rich) is imported where it is used, so that
`--help` is quick.
"""

from typing import Annotated

import typer

from fullpipe._core import __version__
from fullpipe.commands.listing import add
from fullpipe.errors import heed_signals, printing

COMMANDS = (
    *("run", "sweep", "compare", "link", "check", "reproduce", "fleet", "validate"),
    *("conformance", "workload", "report", "qlog", "doctor", "list", "explain", "schema"),
)
"""The modules here, in the order of --help."""

app = typer.Typer(
    help="A laboratory for congestion control: one scenario in, metrics, trace and picture out.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: rich would take longer to load than all the rest
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

add(app, __name__, COMMANDS)


def main() -> None:
    """Runs the command.

    Exit codes: 0 done, 1 what was checked did not hold, 2 wrong use or input, 128 + n ended by
    signal n (130 Ctrl-C).
    """
    heed_signals()
    with printing():
        app()


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"fullpipe {__version__}")
        raise typer.Exit
