"""`fullpipe report`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

from fullpipe.base.progress import Log
from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import SHOW, known_metrics, span
from fullpipe.errors import fail, user_errors
from fullpipe.report import Form, SlideForm, write_panel, write_report
from fullpipe.report.panels.declared import PANELS

_Kind = TypeVar("_Kind", Form, SlideForm)


class _Format(StrEnum):
    """All forms of a report and of one panel."""

    HTML = Form.HTML
    MD = Form.MD
    PDF = Form.PDF
    PNG = Form.PNG
    SVG = Form.SVG
    CSV = SlideForm.CSV


def command(
    directories: Annotated[
        list[str],
        Argument(
            metavar="DIR|URL",
            help="Directory or URL that run, sweep, compare, link or reproduce wrote, or a fleet directory. The "
            "results of several are put side by side.",
        ),
    ],
    form: Annotated[
        _Format | None,
        Option(
            "--format",
            help="Format (default: html): one HTML page with interactive charts, Markdown, PDF, or pictures alone; "
            "with --panel svg (default), png, pdf or csv.",
        ),
    ] = None,
    panel: Annotated[
        str | None,
        Option(
            metavar="KEY",
            help="Write one panel over time instead, in the format 16:9 for slides: "
            f"{', '.join(each.key for each in PANELS)}, or a column of the trace, like srtt. It has the runs that "
            "the page shows at first.",
        ),
    ] = None,
    time: Annotated[
        str | None,
        Option(
            metavar="TIME..TIME",
            help="With --panel: show this part of the runs, like 10s..20s (default: all).",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="File to write (default: report.html, for other formats alike, in DIR; for several, "
            "report-NAME-NAME.html in the current directory).",
        ),
    ] = None,
    show: Annotated[
        str | None, Option(metavar="METRIC,METRIC", help=SHOW, complete=("metrics",))
    ] = None,
    live: Annotated[
        bool,
        Option(
            "--live",
            help="Put the simulator into the page even if the page becomes larger than 2 MB. In a smaller one it "
            "is there anyway, and its scenarios can be changed and run again.",
        ),
    ] = False,
) -> None:
    """Make a report of results: summary, tables and charts.

    The report also has the scenario, and the command that replays each run. The HTML page works
    offline. Prints the name of the new file.

    Examples:
        fullpipe report results/first
        fullpipe report results/lte results/lte-fq
        fullpipe report results/mine --show goodput,response.p95
        fullpipe report results/first --format pdf --out first.pdf
        fullpipe report results/first --panel cwnd --format png
        fullpipe report results/first --panel rtt --time 10s..20s
    """
    from fullpipe.results.kept import computing
    from fullpipe.results.objects import is_url, local
    from fullpipe.wings import reports_on

    if len(directories) == 1 and is_url(directories[0]) and out is None:
        fail(
            f"{directories[0]}: a report is a file of this machine\n  fix: name it: --out report.html"
        )
    with user_errors():
        places = [local(each) for each in directories]
        place, wing = next(
            ((each, found) for each in places if (found := reports_on(each))), (places[0], None)
        )
        if wing and len(places) > 1:
            fail(f"{place}: {wing.WHAT}, which has no runs to put side by side\n  fix: {wing.FIX}")
        if panel is not None and (wing or show is not None):
            problem = (
                f"{place}: {wing.WHAT}, which has no runs over time"
                if wing
                else "--show: metrics, and a panel has none"
            )
            fail(f"{problem}\n  fix: leave out {'--panel' if wing else '--show'}")
        if time is not None and panel is None:
            fail("--time: a part of a panel\n  fix: add --panel KEY, like --panel cwnd")
        part = None if time is None else span(time, "--time")
        said = f"making the report of {directories[0] if len(directories) == 1 else f'{len(directories)} results'}"
        with computing(places[0]), Log(lambda: said):
            if panel is not None:
                chosen_form = _of(SlideForm, form or _Format.SVG)
                made = write_panel(places, panel, chosen_form, out, time_s=part)
            else:
                chosen, shown = _of(Form, form or _Format.HTML), known_metrics(show)
                made = write_report(
                    places, chosen, out, wing.build if wing else None, shown, live=live
                )
    print(f"{made}")


def _of(kind: type[_Kind], form: _Format) -> _Kind:
    if form not in list(kind):
        whole = kind is Form
        fix = f"{'add --panel KEY' if whole else 'leave out --panel'}, or write one of {', '.join(kind)}"
        fail(f"--format {form}: not for {'a whole report' if whole else 'one panel'}\n  fix: {fix}")
    return kind(form)
