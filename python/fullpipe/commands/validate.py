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
            metavar="PATTERN", help="Only cells that fit, like 'bbr-*' or '*-loss'; repeatable."
        ),
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            metavar="RUNNER",
            help="What is held against Linux: sim, or another; in real time a part of the cells.",
        ),
    ] = "sim",
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Runs of a cell in which chance has a part: 10 simulated, 3 on others.",
        ),
    ] = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Run Linux's own TCP first, and keep what it does (needs make oracle)."
        ),
    ] = False,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=new_directory,
            help="Run each cell traced, on Linux, too (needs make oracle), and keep a page of each in a new directory.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all numbers, with intervals, as Markdown."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list of the numbers, and nothing else.")
    ] = False,
) -> None:
    """Hold the simulator against what Linux's own TCP did. Exit code 1 when less than 90 % of the cells are met.

    For example: fullpipe validate --cell 'cubic-*'
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
