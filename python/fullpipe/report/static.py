"""Writes a report's figures with matplotlib: a file for each, or one PDF with the text, too."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from matplotlib.figure import Figure

from fullpipe.report import hexagons
from fullpipe.report.model import Clouds, Density, Heat, Lines, Timeline
from fullpipe.report.static_charts import (
    WIDTH,
    draw_clouds,
    draw_maps,
    draw_row,
    each_or_row,
    map_size,
    row_size,
)
from fullpipe.report.static_time import height_of, over_time, say
from fullpipe.report.style import styled
from fullpipe.results import disk
from fullpipe.runs.view.left import left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from fullpipe.report.model import Block, Report, Section
    from fullpipe.runs.view.figure import Place

_MOST_TIMELINES = 6
_Figure = TypeVar("_Figure", bound=Figure)


class Piece(NamedTuple):
    """A figure of a report, to be drawn alone or on a page with others."""

    section: str
    name: str
    width: float
    height: float
    """Inches."""
    paint: Callable[[Place, bool], None]
    """Draws it, with its title or without."""

    def draw(self, place: Place, *, title: bool = True) -> None:
        """Draws it on a figure or a part of one, with its title or without."""
        self.paint(place, title)

    def alone(self, note: str = "") -> Figure:
        """Returns it as a figure, with a note below it."""
        return together([self], note=note)


class Whole(NamedTuple):
    """A figure of a report that has its own size."""

    section: str
    name: str
    make: Callable[[], Figure]

    def alone(self, _note: str = "") -> Figure:
        """Returns it; its own notes are in it."""
        return self.make()


def write_pictures(
    report: Report, directory: Path, ending: str, style: Path | None = None, *, notes: bool = True
) -> list[tuple[str, str]]:
    """Writes every figure into a new directory.

    Args:
        report: The report.
        directory: The directory.
        ending: The format: png, svg, pdf or pgf.
        style: A style file of matplotlib.
        notes: Whether the note of a section is below each of its figures.

    Returns:
        Section and file name of each figure, in order.

    Raises:
        OSError: When a file can't be written.
        StyleError: When the style file can't be used.
    """
    disk.make_folder(directory)
    written = []
    note = {each.title: each.note for each in report.sections} if notes else {}
    with styled(style) as save:
        for number, piece in enumerate(pieces(report), 1):
            name = re.sub(r"[^a-z0-9]+", "-", piece.name.lower()).strip("-")[:60]
            file = f"{number:02}-{name}.{ending}"
            save(piece.alone(note.get(piece.section, "")), directory / file, ending)
            written.append((piece.section, file))
    return written


def together(
    parts: Sequence[Piece],
    make: type[_Figure] = Figure,  # type: ignore[assignment]
    note: str = "",
    *,
    title: bool = True,
) -> _Figure:
    """Returns figures below each other as one, with their titles or without, and a note below all."""
    width = max(each.width for each in parts)
    if note:
        height = height_of(note, width)
        parts = [*parts, Piece("", "note", width, height, lambda place, _: say(place, note))]
    height = sum(each.height for each in parts)
    figure = make(figsize=(width, height), layout="constrained")
    if len(parts) == 1:
        parts[0].draw(figure, title=title)
        return figure
    places: Any = figure.subfigures(len(parts), 1, height_ratios=[each.height for each in parts])
    for part, place in zip(parts, places, strict=True):
        part.draw(place, title=title)
    return figure


def pieces(report: Report) -> Iterator[Piece | Whole]:
    """Yields a figure for every chart, row of charts, row of maps, and run over time."""
    for section in report.sections:
        yield from pieces_of(section)


def pieces_of(section: Section, wide: float = WIDTH) -> Iterator[Piece | Whole]:
    """Yields the figures of a section, of a width in inches."""
    for row, those in groupby(
        section.blocks, key=lambda block: block.row if isinstance(block, Heat) else None
    ):
        blocks = list(those)
        if row is None:
            yield from _figures(section.title, blocks, wide)
            continue
        maps = [block for block in blocks if isinstance(block, Heat)]
        yield _maps(section.title, f"map {row}", maps, wide)


def _maps(section: str, name: str, maps: Sequence[Heat], wide: float) -> Piece:
    height = map_size(maps, wide)[1]
    return Piece(section, name, wide, height, lambda to, _: draw_maps(to, maps, wide))


def _figures(section: str, blocks: Sequence[Block], wide: float) -> Iterator[Piece | Whole]:
    charts = [block for block in blocks if isinstance(block, Lines | Clouds)]
    rows = {id(row[0]): row for row in each_or_row(charts)}
    for block in blocks:
        match block:
            case Lines() | Clouds():
                if (row := rows.get(id(block))) is not None:
                    yield _row(section, row, wide)
            case Density():
                yield Piece(section, block.title, wide, 0.54 * wide, _density(block))
            case Timeline():
                yield from _timelines(section, block)
            case _:
                pass


def _row(section: str, charts: list[Any], wide: float) -> Piece:
    draw = draw_row if isinstance(charts[0], Lines) else draw_clouds
    height = row_size(charts, wide)[1]
    name = charts[0].row or charts[0].title
    return Piece(section, name, wide, height, lambda to, title: draw(to, charts, wide, title=title))


def _density(block: Density) -> Callable[[Place, bool], None]:
    return lambda to, _: hexagons.paint(to.subplots(), block)


def _timelines(section: str, block: Timeline) -> Iterator[Whole]:
    count, shown = len(block.runs), block.runs[:_MOST_TIMELINES]
    rest = left_out([each.label for each in block.runs[_MOST_TIMELINES:]], count)
    for number, run in enumerate(shown, 1):
        which = f"run {number} of {count}" if count > 1 else ""
        left = rest if number == len(shown) else ""

        def draw(run: Any = run, which: str = which, left: str = left) -> Figure:  # noqa: ANN401
            return over_time(run, which, left)

        yield Whole(section, f"over time {run.label}", draw)
