"""Writes a report as PDF: text, short tables and figures on pages of A4; long tables in an appendix, on request."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from fullpipe.report.model import Table
from fullpipe.report.static import Whole, pieces
from fullpipe.report.style import styled
from fullpipe.results import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from fullpipe.report.model import Cell, Report
    from fullpipe.report.static import Piece
    from fullpipe.runs.view.figure import Place

_WIDE, _TALL = 8.27, 11.69
"""A4, inches."""
_LEFT, _BELOW = 0.1, 0.045
"""Margins, as parts of the page."""
_ROOM = (1 - 2 * _BELOW) * _TALL
_ROWS = 42
"""Rows of a table on a page; a longer table is in the appendix."""
_LINES = 62
_LETTERS = 96


class _Part(NamedTuple):
    """A part of a page."""

    height: float
    draw: Callable[[Place], None]
    title: str = ""
    """The section that begins with it."""


def write_pdf(
    report: Report, file: Path, *, appendix: bool = False, style: Path | None = None
) -> None:
    """Writes summary, tables and figures as one PDF.

    Args:
        report: The report.
        file: The file.
        appendix: Add the tables that are longer than a page.
        style: A style file of matplotlib.

    Raises:
        OSError: When the file can't be written.
        StyleError: When the style file can't be used.
    """
    with (
        styled(style),
        disk.NewFile(file) as out,
        PdfPages(out, metadata={"Title": report.title, "CreationDate": None}) as pages,
    ):
        for page in _text_pages(report, appendix=appendix):
            pages.savefig(page)
        for figure in _figures(report):
            pages.savefig(figure)
        for table in _long(report) if appendix else ():
            for figure in _table_pages(table):
                pages.savefig(figure)


def _long(report: Report) -> list[Table]:
    """Returns the tables of the appendix."""
    return [
        block
        for section in report.sections
        for block in section.blocks
        if isinstance(block, Table) and len(block.rows) > _ROWS
    ]


def _figures(report: Report) -> Iterator[Figure]:
    """Yields pages with as many short tables and figures as fit, in the order of sections."""
    page: list[_Part] = []
    for part in _parts(report):
        if isinstance(part, Figure):
            if page:
                yield _page(page)
            page = []
            yield part
            continue
        if page and sum(each.height for each in (*page, part)) > _ROOM:
            yield _page(page)
            page = []
        page.append(part)
    if page:
        yield _page(page)


def _parts(report: Report) -> Iterator[_Part | Figure]:
    drawn: dict[str, list[Piece | Whole]] = {}
    for piece in pieces(report):
        drawn.setdefault(piece.section, []).append(piece)
    for section in report.sections:
        title = section.title
        for block in section.blocks:
            if isinstance(block, Table) and len(block.rows) <= _ROWS:
                yield _Part(_height(block), _table_of(block), title)
                title = ""
        for piece in drawn.pop(section.title, ()):
            if isinstance(piece, Whole):
                yield piece.alone()
            else:
                yield _Part(piece.height, piece.draw, title)
                title = ""


def _page(parts: Sequence[_Part]) -> Figure:
    """Draws parts below each other."""
    heights = [each.height + (0.3 if each.title else 0) for each in parts]
    figure = Figure(figsize=(_WIDE, _TALL), layout="constrained")
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(rect=(_LEFT, _BELOW, 1 - 2 * _LEFT, 1 - 2 * _BELOW))  # type: ignore[call-arg]
    rest = max(_ROOM - sum(heights), 0.01)
    places: Any = figure.subfigures(len(parts) + 1, 1, height_ratios=[*heights, rest])
    for part, place in zip(parts, places, strict=False):
        to = place
        if part.title:
            head, to = place.subfigures(2, 1, height_ratios=[0.3, part.height])
            head.text(0.0, 0.4, part.title, fontsize=12, weight="bold", va="center")
        part.draw(to)
    return figure


def _text_pages(report: Report, *, appendix: bool) -> Iterator[Figure]:
    lines = [*wrap(report.about, _LETTERS), ""]
    for name, text in report.facts:
        lines += wrap(f"{name}: {text}", _LETTERS, subsequent_indent="   ")
    lines += [""]
    lines += [
        line
        for finding in report.findings
        for line in wrap(f"– {finding.text}", _LETTERS, subsequent_indent="   ")
    ]
    lines += ["", *wrap(report.findings_note, _LETTERS)]
    for section in report.sections:
        if section.note:
            lines += ["", *wrap(f"{section.title}: {section.note}", _LETTERS)]
    if long := _long(report):
        names = "; ".join(f"{each.title} ({len(each.rows):,} rows)" for each in long)
        where = "At the end" if appendix else "Not in this file without --appendix"
        lines += ["", *wrap(f"{where}, tables that are longer than a page: {names}.", _LETTERS)]
    for start in range(0, len(lines), _LINES):
        figure = Figure(figsize=(_WIDE, _TALL))
        if start == 0:
            figure.text(_LEFT, 0.95, report.title, fontsize=14, weight="bold", va="top", wrap=True)
        text = "\n".join(lines[start : start + _LINES])
        figure.text(_LEFT, 0.91, text, fontsize=8, va="top", linespacing=1.45)
        yield figure


# Tables


def _height(table: Table) -> float:
    heads = max((len(wrap(name, 14)) for name in table.columns), default=1)
    return 0.4 + 0.14 * heads + 0.165 * len(table.rows)


def _table_of(table: Table) -> Callable[[Place], None]:
    return lambda to: _table(to, table, 0, len(table.rows))


def _table_pages(table: Table) -> Iterator[Figure]:
    """Yields pages of _ROWS rows."""
    for start in range(0, len(table.rows), _ROWS):
        count = min(_ROWS, len(table.rows) - start)
        draw = _Part(
            _height(table) - 0.165 * (len(table.rows) - count),
            lambda to, start=start, count=count: _table(to, table, start, count),  # type: ignore[misc]
        )
        yield _page([draw])


def _table(to: Place, table: Table, start: int, count: int) -> None:
    """Draws rows of a table, with a font small enough for the widest rows of all."""
    cells = [[_said(cell) for cell in row] for row in table.rows]
    heads = ["\n".join(wrap(name, 14)) for name in table.columns]
    widths = [
        max([*(len(row[at]) for row in cells), *map(len, head.split("\n"))])
        for at, head in enumerate(heads)
    ]
    size = min(7.0, 860 / max(sum(widths) + 2 * len(widths), 1))
    panel = to.subplots()
    panel.set_axis_off()
    panel.set_title(table.title, loc="left", fontsize=9, weight="bold")
    shown = cells[start : start + count]
    if not shown:
        return
    deep = max(head.count("\n") + 1 for head in heads)
    drawn = panel.table(
        shown,
        colLabels=heads,
        colWidths=[width / sum(widths) for width in widths],
        cellLoc="left",
        edges="horizontal",
        bbox=Bbox.unit(),
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(size)
    for (row, _), cell in drawn.get_celld().items():
        cell.set_height(0.14 * deep if row == 0 else 0.165)
        cell.set_linewidth(0.4)
        cell.PAD = 0.02


def _said(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell.text
