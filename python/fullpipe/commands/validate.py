"""`fullpipe validate`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.commands.options import new_directory
from fullpipe.errors import fail, user_errors
from fullpipe.runners import runner as one_runner


def command(
    cell: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Cells to run, by name or pattern, like 'bbr-*' or '*-loss' (default: all); repeatable.",
        ),
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            metavar="RUNNER",
            help="Runner to compare with Linux; `fullpipe doctor` lists them. In real time only some cells run.",
        ),
    ] = "sim",
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of runs of each cell that uses random numbers (default: 10 simulated, 3 on other runners).",
        ),
    ] = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Run Linux's TCP first and record its results anew (needs user-mode Linux: make oracle).",
        ),
    ] = False,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=new_directory,
            help="New directory for one page per cell with the traces of both sides (needs user-mode Linux: "
            "make oracle).",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Markdown file to write all numbers to, with intervals."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers as a JSON list, and nothing else.")
    ] = False,
) -> None:
    """Compare the simulator with Linux's TCP.

    A cell is a path with its flows. The repository has the recorded results of Linux's own TCP for
    each cell. The command runs the cells, compares goodput, RTT, queueing delay, retransmissions
    and shares, and prints both numbers and a verdict. Exit code 1 when fewer than 90 % of the cells
    are met.

    Examples:
        fullpipe validate
        fullpipe validate --cell 'cubic-*' --out cubic.md
        fullpipe validate --on kernel
    """
    from fullpipe.validate.command import validate
    from fullpipe.verdicts.reader import PublishedError

    try:
        with user_errors():
            enough = validate(
                cell or (),
                runner=one_runner(on),
                seeds=seeds,
                record=record,
                traces=traces,
                out=out,
                as_json=as_json,
            )
    except PublishedError as error:
        fail(error)
    if not enough:
        raise typer.Exit(1)
