"""Draws a report's figures with matplotlib: PNG, vector files, or one PDF with the text, too."""

from __future__ import annotations

import re
from itertools import groupby
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    FuncFormatter,
    LogLocator,
    NullFormatter,
    NullLocator,
)

from fullpipe.report import hexagons
from fullpipe.report.colors import COLORS, DASHES, heat, own_looks, shaded
from fullpipe.report.model import Clouds, Density, Heat, Lines, Table, Timeline
from fullpipe.report.static_time import in_lines, over_time, say
from fullpipe.report.svg import areas
from fullpipe.results import disk
from fullpipe.runs.view.colors import styles, width
from fullpipe.runs.view.table import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from fullpipe.report.model import Cell, Report

STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.1,
    "lines.markersize": 3,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar sign in a name is no formula
}
"""The style of figures for paper."""
_MARKERS = ("o", "s", "D", "^", "v", "x", "+")
WIDTH = 6.3
"""The width of a figure for paper, inches."""
_APART = 0.07
"""Least distance between numbers of an axis, as a part of it."""
_ROWS_A_PAGE = 42
_MOST_TIMELINES = 6


def write_pictures(report: Report, directory: Path, ending: str) -> list[tuple[str, str]]:
    """Writes every figure into a new directory.

    Returns:
        Section and file name of each figure, in order.

    Raises:
        OSError: When a file can't be written.
    """
    disk.make_folder(directory)
    written = []
    with mpl.rc_context({**STYLE, "svg.hashsalt": "fullpipe"}):
        for number, (section, name, figure) in enumerate(pictures(report), 1):
            file = (
                f"{number:02}-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')[:60]}.{ending}"
            )
            metadata = {"Date": None} if ending == "svg" else {}
            with disk.NewFile(directory / file) as out:
                figure.savefig(out, format=ending, dpi=200, metadata=metadata)
            written.append((section, file))
    return written


def write_pdf(report: Report, file: Path) -> None:
    """Writes summary, tables and figures as one PDF.

    Raises:
        OSError: When the file can't be written.
    """
    with (
        mpl.rc_context(STYLE),
        disk.NewFile(file) as out,
        PdfPages(out, metadata={"Title": report.title, "CreationDate": None}) as pages,
    ):
        for page in _text_pages(report):
            pages.savefig(page)
        for section in report.sections:
            for block in section.blocks:
                if isinstance(block, Table):
                    for page in _table_pages(block):
                        pages.savefig(page)
        for _, _, figure in pictures(report):
            pages.savefig(figure)


def pictures(report: Report) -> Iterator[tuple[str, str, Figure]]:
    """Yields section, name and figure of every chart, row of maps, and run over time."""
    for section in report.sections:
        for row, together in groupby(
            section.blocks, key=lambda block: block.row if isinstance(block, Heat) else None
        ):
            blocks = list(together)
            if row is not None:
                yield (
                    section.title,
                    f"map {row}",
                    _maps([block for block in blocks if isinstance(block, Heat)]),
                )
                continue
            for block in blocks:
                match block:
                    case Lines():
                        figure, axes = _figure(1, 2.6)
                        draw_lines(axes[0], block)
                        say(figure, block.note)
                        yield section.title, block.title, figure
                    case Clouds():
                        figure, axes = _figure(1, 3.2)
                        _clouds(axes[0], block)
                        say(figure, block.left)
                        yield section.title, block.title, figure
                    case Density():
                        figure, axes = _figure(1, 3.4)
                        hexagons.paint(axes[0], block)
                        yield section.title, block.title, figure
                    case Timeline():
                        shown, count = block.runs[:_MOST_TIMELINES], len(block.runs)
                        for number, run in enumerate(shown, 1):
                            which = f"run {number} of {count}, the first {len(shown)} are drawn"
                            figure = over_time(run, which if count > len(shown) else "")
                            yield section.title, f"over time {run.label}", figure
                    case _:
                        pass


def _figure(rows: int, height: float) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, list(np.atleast_1d(figure.subplots(rows, 1, sharex=rows > 1)))


def draw_lines(panel: Axes, block: Lines) -> None:
    """Draws a chart of lines."""
    for number, (line, own) in enumerate(zip(block.lines, own_looks(block.lines), strict=True)):
        look: dict[str, Any] = {
            "color": shaded(own) if line.algorithm else COLORS[own.color],
            "linewidth": 1.1 * width(number, len(block.lines)),
            "label": in_lines(line.label),
        }
        if dash := DASHES[own.dash]:
            look["linestyle"] = (0, tuple(each / 2 for each in dash))
        if block.stepped:
            look["drawstyle"] = "steps-post"
        panel.plot(line.x, line.y, **look)
        if line.low is not None and line.high is not None:
            band: Any = {"step": "post" if block.stepped else None, "color": look["color"]}
            panel.fill_between(line.x, line.low, line.high, alpha=0.13, linewidth=0, **band)
    _dress(panel, block.title, block.x, block.y)
    if block.log_x:
        panel.set_xscale("log")
        _number(panel.xaxis)
    if block.marks:
        _mark(panel, block.marks)
    if block.log_y:
        panel.set_yscale("log")
        _number(panel.yaxis)
    elif block.stepped:
        panel.set_ylim(0, 1.02)
    if len(block.lines) > 1:
        panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, handlelength=3)


def _number(axis: Axis) -> None:
    """Writes plain numbers at a logarithmic axis: Matplotlib's are mathematics, which `_STYLE` does not parse."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _mark(panel: Axes, marks: Sequence[float]) -> None:
    """Puts the ticks of x at the marks, and numbers at those that are far enough from the one before."""
    places = np.log(marks) if panel.get_xscale() == "log" else np.asarray(marks, dtype=float)
    apart = _APART * (places[-1] - places[0])
    labels, last = [], -np.inf
    for place, mark in zip(places, marks, strict=True):
        labels.append(f"{mark:g}" if place - last >= apart else "")
        last = place if labels[-1] else last
    panel.xaxis.set_major_locator(FixedLocator(list(marks)))
    panel.xaxis.set_major_formatter(FixedFormatter(labels))
    panel.xaxis.set_minor_locator(NullLocator())


def _clouds(panel: Axes, block: Clouds) -> None:
    own = styles([each.algorithm or each.label for each in block.clouds])
    for number, (cloud, style) in enumerate(zip(block.clouds, own, strict=True)):
        color = style.color
        panel.plot(
            cloud.x,
            cloud.y,
            _MARKERS[number % len(_MARKERS)],
            color=color,
            markersize=3.5,
            label=in_lines(cloud.label),
        )
        for area in areas(cloud):
            x, y = zip(*area, strict=True)
            panel.fill(x, y, facecolor=color, alpha=0.12)
            panel.plot([*x, x[0]], [*y, y[0]], color=color, linewidth=1)
    about = block.note.partition(".")[0]
    _dress(panel, f"{block.title}; {about[0].lower()}{about[1:]}", block.x, block.y)
    panel.invert_xaxis()
    panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)


def _maps(blocks: Sequence[Heat]) -> Figure:
    figure = Figure(layout="constrained")
    draw_maps(figure, blocks)
    return figure


def draw_maps(figure: Figure, blocks: Sequence[Heat], larger: float = 1.0) -> None:
    """Draws maps side by side, `larger` than for paper."""
    columns = min(3, len(blocks))
    rows = -(-len(blocks) // columns)
    height = rows * (0.55 + 0.24 * len(blocks[0].rows))
    figure.set_size_inches(larger * WIDTH, larger * max(height, 1.2))
    panels = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for panel, block in zip(panels, blocks, strict=False):
        span = block.most - block.least or 1.0
        panel.imshow(
            block.values, cmap="cividis", vmin=block.least, vmax=block.least + span, aspect="auto"
        )
        for row, values in enumerate(block.values):
            for column, value in enumerate(values):
                text, ink = (
                    (short(value), heat((value - block.least) / span)[1])
                    if np.isfinite(value)
                    else ("–", "#000")
                )
                panel.text(column, row, text, ha="center", va="center", color=ink, fontsize=7)
        panel.set_xticks(range(len(block.columns)), [in_lines(each) for each in block.columns])
        panel.set_yticks(range(len(block.rows)), [in_lines(each) for each in block.rows])
        panel.set_title(
            fill(block.title + (f", {block.unit}" if block.unit else ""), int(120 / columns)),
            loc="left",
            fontsize=7.5,
        )
        panel.set_xlabel(block.column_key)
        panel.set_ylabel(block.row_key)
        panel.tick_params(length=0)
    say(figure, blocks[0].note)
    for panel in panels[len(blocks) :]:
        panel.set_axis_off()


def _dress(panel: Axes, title: str, x: str, y: str) -> None:
    panel.set_title(title, loc="left")
    panel.set_xlabel(x)
    panel.set_ylabel(y)
    panel.grid(color="#dddddd", linewidth=0.5)
    panel.spines[["top", "right"]].set_visible(False)


# Pages of text and tables

_PAGE = (8.27, 11.69)  # A4


def _text_pages(report: Report) -> Iterator[Figure]:
    lines = [*wrap(report.about, 100), ""]
    for name, text in report.facts:
        lines += wrap(f"{name}: {text}", 100, subsequent_indent="   ")
    lines += [""]
    lines += [
        line
        for finding in report.findings
        for line in wrap(f"– {finding.text}", 100, subsequent_indent="   ")
    ]
    lines += ["", *wrap(report.findings_note, 100)]
    for section in report.sections:
        if section.note:
            lines += ["", *wrap(f"{section.title}: {section.note}", 100)]
    for start in range(0, len(lines), 60):
        figure = Figure(figsize=_PAGE)
        if start == 0:
            figure.text(0.08, 0.95, report.title, fontsize=14, weight="bold", va="top", wrap=True)
        figure.text(
            0.08, 0.9, "\n".join(lines[start : start + 60]), fontsize=8.5, va="top", linespacing=1.5
        )
        yield figure


def _table_pages(table: Table) -> Iterator[Figure]:
    """Yields pages of _ROWS_A_PAGE rows, with a font small enough for the widest rows."""
    cells = [[_said(cell) for cell in row] for row in table.rows]
    heads = ["\n".join(wrap(name, 14)) for name in table.columns]
    lengths = (
        [max(len(text) for text in column) for column in zip(*cells, strict=True)] if cells else []
    )
    widths = [
        max([length, *map(len, head.split("\n"))])
        for length, head in zip(lengths, heads, strict=True)
    ]
    size = min(7.0, 860 / max(sum(widths) + 2 * len(widths), 1))
    for start in range(0, len(cells), _ROWS_A_PAGE):
        figure = Figure(figsize=_PAGE)
        panel = figure.add_axes((0.06, 0.05, 0.88, 0.87))
        panel.set_axis_off()
        panel.set_title(table.title, loc="left", fontsize=10, weight="bold")
        drawn = panel.table(
            cells[start : start + _ROWS_A_PAGE],
            colLabels=heads,
            colWidths=[width / sum(widths) for width in widths],
            loc="upper left",
            cellLoc="left",
            edges="horizontal",
        )
        drawn.auto_set_font_size(False)
        drawn.set_fontsize(size)
        for (row, _), cell in drawn.get_celld().items():
            cell.set_height(0.045 if row == 0 else 0.021)
            cell.set_linewidth(0.4)
            cell.PAD = 0.02
        yield figure


def _said(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell.text
