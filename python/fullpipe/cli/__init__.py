"""The command `fullpipe`: what each command can be told, a file a door; the work is done elsewhere.

What is slow to import (numpy, polars, matplotlib, rich) is imported where it is used, so that
`--help` is quick.
"""

from typing import Annotated

import typer

from fullpipe import __version__
from fullpipe.cli.compare import compare_command
from fullpipe.cli.fleet import fleet
from fullpipe.cli.kept import qlog_command, report_command
from fullpipe.cli.link import link_command
from fullpipe.cli.run import run_command
from fullpipe.cli.sweep import sweep_command
from fullpipe.cli.telling import doctor_command, explain_command, list_command, schema_command
from fullpipe.cli.verdicts import (
    check_command,
    conformance_command,
    reproduce_command,
    validate_command,
)
from fullpipe.cli.workload import workload
from fullpipe.errors import heed_signals, printing

app = typer.Typer(
    help="A laboratory for congestion control: one scenario in, metrics, trace and picture out.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: rich would take longer to load than all the rest
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# In the order in which --help has them.
app.command("run")(run_command)
app.command("sweep")(sweep_command)
app.command("compare")(compare_command)
app.command("link")(link_command)
app.command("check")(check_command)
app.command("reproduce")(reproduce_command)
app.add_typer(fleet, name="fleet")
app.command("validate")(validate_command)
app.command("conformance")(conformance_command)
app.add_typer(workload, name="workload")
app.command("report")(report_command)
app.command("qlog")(qlog_command)
app.command("doctor")(doctor_command)
app.command("list")(list_command)
app.command("explain")(explain_command)
app.command("schema")(schema_command)


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
