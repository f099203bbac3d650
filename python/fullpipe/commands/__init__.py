"""The command `fullpipe`: one file per command, with its options and its call of the library.

A command's file is imported when the command is called. Packages that are slow to import (numpy,
polars, matplotlib, rich) are imported where they are used.
"""

import click

from fullpipe.commands.listing import Program
from fullpipe.errors import ending, heed_signals, printing, tracebacks
from fullpipe.terminal import open_streams

COMMANDS = {
    "Experiments": {
        "run": "Run one scenario and print its metrics.",
        "sweep": "Run a scenario with many values and seeds.",
        "compare": "Compare algorithms on one path, or kept results.",
        "explore": "Change a scenario in the browser and watch it run.",
        "link": "Run any program behind an emulated network path.",
    },
    "Results": {
        "report": "Make a report of results: summary, tables and charts.",
        "trace": "Import measurements of other programs as runs.",
        "qlog": "Convert the trace of a run to qlog 0.3, for qvis.",
    },
    "Verdicts": {
        "check": "Test scenarios against their `expect` conditions.",
        "conformance": "Run the 22 test cases of the BBR draft on an algorithm.",
        "validate": "Compare the simulator with Linux's TCP.",
        "reproduce": "Rerun a published study and compare the results.",
    },
    "Hosts and files": {
        "fleet": "Compare algorithms on production or simulated hosts.",
        "workload": "Extract traffic from captures and logs, for scenarios.",
    },
    "Reference and setup": {
        "new": "Print a new scenario with comments.",
        "list": "List names: algorithms, profiles, scenarios, ….",
        "explain": "Explain a name or key: meaning, parameters, sources.",
        "doctor": "Show which runners work here, with fixes for the rest.",
        "schema": "Print the JSON schema of scenario files.",
    },
}
"""The modules of this package with their summaries, by the heading of `--help`, in its order."""

_HELP = """A laboratory for TCP and QUIC congestion control.

It simulates flows on a network path, or runs them on real TCP and QUIC, and measures goodput, delay
and loss.

Examples:
    fullpipe compare cubic bbr3 --rate 50mbit --rtt 40ms
    fullpipe run cubic-vs-bbr1 --out results/first
    fullpipe report results/first

`fullpipe COMMAND --help` has the options and an example of each command.
"""


def _version(ctx: click.Context, _param: click.Parameter, given: bool) -> None:
    if given and not ctx.resilient_parsing:
        from fullpipe._core import __version__

        print(f"fullpipe {__version__}")
        ctx.exit()


app = Program(
    "fullpipe",
    __name__,
    COMMANDS,
    _HELP,
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_version,
            help="Print the version and exit.",
        )
    ],
)


def main() -> None:
    """Runs the command.

    Exit codes: 0 for success, 1 for a check that failed, 2 for wrong use or input, 128 + n after
    signal n (130 for Ctrl-C).
    """
    open_streams()
    heed_signals()
    with ending(), tracebacks(), printing():
        app()
