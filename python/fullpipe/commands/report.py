"""`fullpipe report`."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

from fullpipe.base.progress import Log
from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import SHOW, known_metrics, span
from fullpipe.errors import fail, user_errors
from fullpipe.report import Form, SlideForm, write_panel, write_report
from fullpipe.report.panels.declared import FIGURES, PANELS, TABLES
from fullpipe.report.write import DRAWN

_Kind = TypeVar("_Kind", Form, SlideForm)


class _Format(StrEnum):
    """All forms of a report and of one panel."""

    HTML = Form.HTML
    MD = Form.MD
    PDF = Form.PDF
    PNG = Form.PNG
    SVG = Form.SVG
    PGF = Form.PGF
    TEX = Form.TEX
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
            help="Format (default: that of --out's suffix, else html): one HTML page with interactive charts, "
            "Markdown, PDF, tables in LaTeX (tex), or pictures alone; with --panel svg (default), png, pdf, pgf or "
            "csv, for a table tex (default) or csv.",
        ),
    ] = None,
    panel: Annotated[
        str | None,
        Option(
            metavar="KEY",
            help="Write one figure or table instead. Of many runs, for a paper: "
            f"{', '.join([*FIGURES, *TABLES])}. Over time, in the format 16:9 for slides: "
            f"{', '.join(each.key for each in PANELS)}, or a column of the trace, like srtt; it has the runs that "
            "the page shows at first, and of a comparison all together.",
        ),
    ] = None,
    over: Annotated[
        str | None,
        Option(
            metavar="KEY,KEY",
            help="Swept numbers of the curves: that of the x axis, and that of the lines; others make charts side by "
            "side (default: the one with the most values, and the next one with at most five).",
        ),
    ] = None,
    width: Annotated[
        str | None,
        Option(
            metavar="WIDTH",
            help="With --panel: width of a figure for paper, like 84mm, which is a column (default: 160mm; over time "
            "a slide).",
        ),
    ] = None,
    style: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Style file of matplotlib, like ieee.mplstyle, for the figures of all formats but html, csv and tex.",
        ),
    ] = None,
    appendix: Annotated[
        bool,
        Option(
            "--appendix",
            help="With --format pdf: have the tables that are longer than a page, too.",
        ),
    ] = False,
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
    r"""Make a report of results: summary, tables and charts.

    The report also has the scenario, and the command that replays each run. The HTML page works
    offline. Prints the name of the new file.

    Examples:
        fullpipe report results/first
        fullpipe report results/lte results/lte-fq
        fullpipe report results/mine --show goodput,response.p95
        fullpipe report results/first --format pdf --out first.pdf
        fullpipe report results/first --panel cwnd --format png
        fullpipe report results/first --panel rtt --time 10s..20s
        fullpipe report results/mine --panel curves --show goodput --width 84mm \
            --out fig1.pdf
        fullpipe report results/mine --panel results --out table1.tex
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
        if wing:
            for name, given in (("--panel", panel), ("--over", over), ("--show", show)):
                if given is not None:
                    fail(f"{place}: {wing.WHAT}, which has none of it\n  fix: leave out {name}")
        chosen = _chosen(form, out, panel)
        _refuse(chosen, panel, width, style, appendix=appendix, live=live)
        if time is not None and panel is None:
            fail("--time: a part of a panel\n  fix: add --panel KEY, like --panel cwnd")
        part = None if time is None else span(time, "--time")
        said = f"making the report of {directories[0] if len(directories) == 1 else f'{len(directories)} results'}"
        with computing(places[0]), Log(lambda: said):
            shown, axes = known_metrics(show), _listed(over)
            if panel is not None:
                made = write_panel(
                    places,
                    panel,
                    _of(SlideForm, chosen),
                    out,
                    time_s=part,
                    show=shown,
                    over=axes,
                    width=width,
                    style=style,
                    tell=_tell,
                )
            else:
                made = write_report(
                    places,
                    _of(Form, chosen),
                    out,
                    wing.build if wing else None,
                    shown,
                    live=live,
                    style=style,
                    appendix=appendix,
                    over=axes,
                )
    print(f"{made}")


def _chosen(form: _Format | None, out: Path | None, panel: str | None) -> _Format:
    """Returns the format: the one that was asked for, that of the file's suffix, or the usual one."""
    if form is not None:
        return form
    if out is not None and out.suffix[1:] in list(_Format):
        return _Format(out.suffix[1:])
    if panel is None:
        return _Format.HTML
    return _Format.TEX if panel in TABLES else _Format.SVG


def _refuse(
    form: _Format,
    panel: str | None,
    width: str | None,
    style: Path | None,
    *,
    appendix: bool,
    live: bool,
) -> None:
    """Ends with the reason why an option does not go with the others."""
    if width is not None and panel is None:
        fail("--width: of one figure\n  fix: add --panel KEY, like --panel curves")
    if style is not None and form not in DRAWN:
        forms = ", ".join(DRAWN)
        fail(
            f"--style: nothing of format {form} is drawn by matplotlib\n  fix: write one of {forms}"
        )
    if live and (panel is not None or form is not _Format.HTML):
        fail("--live: for a whole report as a page\n  fix: write --format html without --panel")
    if appendix and (panel is not None or form is not _Format.PDF):
        fail("--appendix: for a whole report as PDF\n  fix: write --format pdf without --panel")


def _tell(words: str) -> None:
    """Prints words about a file of numbers, which is not the place for them."""
    if words:
        print(words, file=sys.stderr)


def _listed(text: str | None) -> list[str]:
    """Parses names separated by commas."""
    return [each.strip() for each in (text or "").split(",") if each.strip()]


def _of(kind: type[_Kind], form: _Format) -> _Kind:
    if form not in list(kind):
        whole = kind is Form
        fix = f"{'add --panel KEY' if whole else 'leave out --panel'}, or write one of {', '.join(kind)}"
        fail(f"--format {form}: not for {'a whole report' if whole else 'one panel'}\n  fix: {fix}")
    return kind(form)
