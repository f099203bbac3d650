"""Writes a report into the directory of its results, or elsewhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.results import disk, parents

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fullpipe.report.model import Report


_MOST_NAMES = 4


class Form(StrEnum):
    """Form of a report."""

    HTML = "html"
    MD = "md"
    PDF = "pdf"
    PNG = "png"
    SVG = "svg"
    PGF = "pgf"
    TEX = "tex"


class SlideForm(StrEnum):
    """Form of one panel or figure."""

    SVG = "svg"
    PNG = "png"
    PDF = "pdf"
    PGF = "pgf"
    CSV = "csv"
    TEX = "tex"


_FILES = (Form.HTML, Form.PDF, Form.TEX)
"""Forms that are one file."""
DRAWN = ("png", "svg", "pdf", "pgf", "md")
"""Forms that matplotlib draws, so that a style file has an effect."""


def write_report(
    directory: Path | Sequence[Path],
    form: Form = Form.HTML,
    out: Path | None = None,
    build: Callable[[Path], Report] | None = None,
    show: Sequence[str] = (),
    *,
    live: bool = False,
    style: Path | None = None,
    appendix: bool = False,
    over: Sequence[str] = (),
) -> Path:
    """Makes a report of saved results.

    A page, a PDF or the tables in LaTeX are one file. Markdown, PNG, SVG and PGF make a directory of figures, for
    Markdown with `report.md`. A report can be made again at any time, so an existing one in `directory` is replaced;
    an existing `out` is not.

    Args:
        directory: Results saved by `run`, `sweep` or `reproduce`, or other data that `build` can read; or several
            directories, whose results are put side by side.
        form: Form of the report.
        out: Output file or directory; None for `report.html`, `report.pdf`, `report-md/`,
            `report-png/` or `report-svg/` in `directory`. That of several directories is in the current one, with
            their names: `report-A-B.html`.
        build: Builds the report of the directory; None for :func:`fullpipe.report.build.build`.
        show: The metrics to show, by name or short name, instead of the usual ones.
        live: Put the simulator into a page of more than 2 MB, too.
        style: A style file of matplotlib for the figures of all forms but the page.
        appendix: Have the tables in a PDF that are longer than a page.
        over: Swept numbers of the curves: that of the x axis, and that of the lines.

    Returns:
        The file or directory.

    Raises:
        NoResultsError: When there are no results, or several can't be put side by side.
        MetricError: When `show` has an unknown metric.
        PanelError: When `over` has a key that is no swept number.
        StyleError: When the style file can't be used.
        FileExistsError: When `out` exists.
        OSError: When a file can't be written.
    """
    directories = [directory] if isinstance(directory, Path) else list(directory)
    target = target_of(directories, name_of(form), out)
    report = build(directories[0]) if build else _of_results(directories, show, over)
    return make(report, form, target, live=live, style=style, appendix=appendix)


def write_panel(
    directory: Path | Sequence[Path],
    key: str,
    form: SlideForm = SlideForm.SVG,
    out: Path | None = None,
    *,
    time_s: tuple[float, float] | None = None,
    show: Sequence[str] = (),
    over: Sequence[str] = (),
    width: str | None = None,
    style: Path | None = None,
    tell: Callable[[str], object] = str,
) -> Path:
    """Writes one panel of the runs that a page shows at first, several ones over each other; or one figure or table.

    A panel of a comparison has the run of all together.

    Args:
        directory: Kept results with a run over time, or several directories, whose runs are put side by side.
        key: The panel's key, like `cwnd`, or a column of the trace that no panel shows, like `srtt`; or that of a
            figure or table of many runs, like `curves` or `results`.
        form: A picture, the numbers as CSV, or a table in LaTeX. A panel is a slide of 10.7 × 6 inches (16:9), and a
            figure 160 mm wide, without `width`.
        out: Output file; None for `report-KEY.svg` (or another ending) in `directory`. That of several
            directories is in the current one, with their names: `report-KEY-A-B.svg`.
        time_s: Begin and end of the part of the runs to show, in seconds; None for all.
        show: The metrics of a figure or table, by name or short name, instead of the usual ones.
        over: Swept numbers of curves: that of the x axis, and that of the lines.
        width: Width of a figure for paper, like `"84mm"`.
        style: A style file of matplotlib.
        tell: Gets the words on what a file of numbers leaves out; pictures have them below.

    Returns:
        The file. An existing one in `directory` is replaced.

    Raises:
        NoResultsError: When there are no results, or no run was recorded over time.
        PanelError: When there is no such panel, the runs have no data of it, or none in this time, or it does not
            have this form.
        MetricError: When `show` has an unknown metric.
        StyleError: When the style file can't be used.
        FileExistsError: When `out` exists.
        OSError: When a file can't be read or written.
    """
    from fullpipe.report.slide import Asked, write

    directories = [directory] if isinstance(directory, Path) else list(directory)
    asked = Asked(tuple(show), tuple(over), width, style, time_s)
    return write(directories, key, form, out, asked, tell)


def _of_results(directories: Sequence[Path], show: Sequence[str], over: Sequence[str]) -> Report:
    from fullpipe.report.build import build

    return build(directories, show, over)


def target_of(directories: Sequence[Path], name: str, out: Path | None) -> Path:
    """Returns the file or directory to write: `out`, or one with a usual name.

    Raises:
        FileExistsError: When `out` exists.
    """
    if out is None:
        return usual_target(directories, name)
    if out.exists():
        raise FileExistsError(f"--out {out} already exists; name a new file or directory")
    return out


def usual_target(directories: Sequence[Path], name: str) -> Path:
    """Returns the file or directory with this name in a directory, or for several ones in the current one."""
    if len(directories) == 1:
        return directories[0] / name
    names = [each.resolve().name for each in directories]
    if len(names) > _MOST_NAMES:
        names[_MOST_NAMES:] = [f"and-{len(names) - _MOST_NAMES}-more"]
    ending = Path(name).suffix
    return Path(f"{name.removesuffix(ending)}-{'-'.join(names)}{ending}")


def name_of(form: Form) -> str:
    """Returns the default name of a report."""
    return f"report.{form}" if form in _FILES else f"report-{form}"


def make(
    report: Report,
    form: Form,
    target: Path,
    *,
    live: bool = False,
    style: Path | None = None,
    appendix: bool = False,
) -> Path:
    """Writes a report atomically; replaces an existing one.

    Raises:
        OSError: When a file can't be written.
        StyleError: When the style file can't be used.
    """

    def write(aside: Path) -> None:
        match form:
            case Form.HTML:
                from fullpipe.report.html import page

                disk.write(aside, page(report, live=live))
            case Form.PDF:
                from fullpipe.report.static_pages import write_pdf

                write_pdf(report, aside, appendix=appendix, style=style)
            case Form.TEX:
                from fullpipe.report.tex import document

                disk.write(aside, document(report, target.stem))
            case Form.MD:
                from fullpipe.report.markdown import write_markdown

                write_markdown(report, aside, style)
            case _:
                from fullpipe.report.static import write_pictures

                write_pictures(report, aside, form, style)

    return replace(target, write, folder=form not in _FILES)


def replace(target: Path, write: Callable[[Path], None], *, folder: bool = False) -> Path:
    """Writes a file or directory atomically; replaces an existing one.

    Raises:
        OSError: When a file can't be written.
    """
    with parents(target), disk.hidden(target, folder=folder) as aside:
        write(aside)
        if target.is_dir():
            disk.remove_folder(target)
        disk.place(aside, target)
    return target
