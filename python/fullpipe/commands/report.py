"""`fullpipe report`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.errors import fail, user_errors
from fullpipe.report import Form, write_report


def command(
    directories: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR|URL",
            help="Directory or URL that run, sweep, compare or reproduce wrote, or a fleet directory.",
        ),
    ],
    form: Annotated[
        Form,
        typer.Option(
            "--format",
            help="Format: one HTML page with interactive charts, Markdown, PDF, or pictures alone.",
        ),
    ] = Form.HTML,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File to write (default: report.html, for other formats alike, in DIR).",
        ),
    ] = None,
) -> None:
    """Make a report of results: summary, tables and charts.

    The report also has the scenario, and the command that replays each run. The HTML page works
    offline. Prints the name of the new file.

    Examples:
        fullpipe report results/first
        fullpipe report results/first --format pdf --out first.pdf
    """
    from fullpipe.fleet.report import build, is_fleet
    from fullpipe.results.kept import computing
    from fullpipe.results.objects import is_url, local

    if len(directories) > 1:
        fix = "make one report per directory; to compare arms of a fleet, use one `fleet ingest` with an --arm for each"
        fail(f"{len(directories)} directories, but a report covers one\n  fix: {fix}")
    (place,) = directories
    with user_errors():
        directory = local(place)
    if is_url(place) and out is None:
        fail(f"{place}: a report is a file of this machine\n  fix: name it: --out report.html")
    with user_errors(), computing(directory):
        made = write_report(directory, form, out, build if is_fleet(directory) else None)
    typer.echo(f"{made}")
