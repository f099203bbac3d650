"""`fullpipe report`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.errors import fail, user_errors
from fullpipe.report import Form, write_report


def command(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR", help="What a run, a sweep or reproduce has kept, or a fleet directory."
        ),
    ],
    form: Annotated[
        Form, typer.Option("--format", help="A page, Markdown, a PDF, or pictures alone.")
    ] = Form.HTML,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to, instead of report.html and so on in DIR."),
    ] = None,
) -> None:
    """Make one page of kept results: summary in words, tables, charts, and the command that replays each run.

    For example: fullpipe report results/first
    """
    from fullpipe.fleet.report import build, is_fleet
    from fullpipe.results.model import NoResultsError

    if len(directories) > 1:
        fix = "make one of each; arms of a fleet are put side by side by one `fleet ingest`, with an --arm each"
        fail(f"{len(directories)} directories, and a report is of one\n  fix: {fix}")
    (directory,) = directories
    with user_errors():
        try:
            made = write_report(directory, form, out, build if is_fleet(directory) else None)
        except NoResultsError as error:
            fail(error)
    typer.echo(f"{made}")
