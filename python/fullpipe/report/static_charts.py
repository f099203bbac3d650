"""Draws charts of lines, scatter plots and maps with matplotlib, alone or side by side."""

from __future__ import annotations

import math
from textwrap import fill
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from matplotlib import rcParams
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    FuncFormatter,
    LogLocator,
    NullLocator,
)

from fullpipe.report.colors import DASHES, MARKERS, heat, of_clouds, own_looks, shaded
from fullpipe.report.model import Clouds, Lines
from fullpipe.report.static_time import height_of, in_lines, say
from fullpipe.report.svg import areas, frame_of
from fullpipe.runs.view.axes import GREY
from fullpipe.runs.view.colors import width
from fullpipe.runs.view.table import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from fullpipe.report.colors import Look
    from fullpipe.report.model import Heat
    from fullpipe.runs.view.figure import Place

_Chart = TypeVar("_Chart", Lines, Clouds)
WIDTH = 6.3
"""The width of a figure for paper, inches."""
_NARROW = 4.5
"""Width of a figure below which a legend is below its chart, inches."""
_LEAST_CHART, _LEAST_PLOT = 1.45, 1.05
"""Least width of one of several charts, and of one of several scatter plots side by side; inches."""
_MANY = 5
"""Lines of charts from which on they are lower, so that more fit on a page."""
_SIDE, _CELL, _LINE, _TITLE = 0.45, 0.36, 0.155, 0.16
"""Width of the names of a map's rows and of a cell, height of a row, and of a line of the title; inches."""
_MOST_TICKS = 50
"""Ticks of a logarithmic axis: with fewer, those of a short axis over several decades would be none."""
_MARGIN = 0.15
"""Width that a chart has besides the length of its axis, inches."""
_LEAST_FONT = 4.5
"""Font size below which the cells of a map have no numbers."""
_LETTER = 0.58
"""Width of a letter, in font sizes."""


def row_size(charts: Sequence[Lines] | Sequence[Clouds], wide: float) -> tuple[int, float]:
    """Returns the number of charts in a line, and the height of all; inches."""
    count = len(charts)
    said = " ".join(dict.fromkeys(filter(None, _notes(charts))))
    notes = height_of(said, wide) if said else 0.0
    if count == 1:
        alone = 2.5 if wide >= _NARROW else 0.72 * wide + _legend_height(_labels(charts), wide)
        return 1, alone + notes
    least = _LEAST_CHART if isinstance(charts[0], Lines) else _LEAST_PLOT
    columns = min(count, max(int(wide / least), 1))
    columns = -(-count // -(-count // columns))  # lines of about equal length
    lines = -(-count // columns)
    titles = max(_chart_title(each, wide / columns).count("\n") for each in charts)
    least = 1.15 if lines <= _MANY else 0.95
    each = min(max(0.78 * wide / columns, least), 1.7) + 0.2 + _TITLE * titles
    head = 0.55 + 1.5 * _TITLE * _row_title(charts, wide).count("\n")
    return columns, lines * each + head + _legend_height(_labels(charts), wide) + notes


def _chart_title(chart: Lines | Clouds, wide: float) -> str:
    """Returns the title of a chart in lines that fit into its width."""
    letter = _LETTER * float(rcParams["font.size"]) / 72
    room = max(int((wide - 0.15) / letter), 12)
    parts = chart.title.split(", ")
    if max(map(len, parts)) >= room:
        return fill(chart.title, room)
    # A value stays in the line of its key.
    return fill(", ".join(part.replace(" ", "\xa0") for part in parts), room).replace("\xa0", " ")


def _row_title(charts: Sequence[Lines] | Sequence[Clouds], wide: float) -> str:
    """Returns the title of a row of charts in lines that fit into the figure; its letters are bold and large."""
    letter = 1.3 * _LETTER * float(rcParams["font.size"]) / 72
    return fill(charts[0].row, max(int(wide / letter), 12))


def _notes(charts: Sequence[Lines] | Sequence[Clouds]) -> list[str]:
    """Returns the words below charts side by side."""
    found: list[str] = []
    for chart in charts:
        if isinstance(chart, Clouds):
            # The notes of several have the name of x.
            named = f"{chart.x}. " if len(charts) > 1 else ""
            found += [named + chart.note, chart.left]
        else:
            found.append(f"{chart.title}: {chart.note}" if chart.row and chart.note else chart.note)
    return found


def _labels(charts: Sequence[Lines] | Sequence[Clouds]) -> list[str]:
    found = [
        each.label
        for chart in charts
        for each in (chart.lines if isinstance(chart, Lines) else chart.clouds)
    ]
    return list(dict.fromkeys(found))


def _columns_of(labels: Sequence[str], wide: float) -> int:
    size = float(rcParams["font.size"]) / 72
    longest = max((len(each) for each in labels), default=1)
    columns = max(1, min(len(labels), int(wide / ((longest * _LETTER + 4.5) * size))))
    return -(-len(labels) // -(-len(labels) // columns))  # columns of about equal length


def _legend_height(labels: Sequence[str], wide: float) -> float:
    if len(labels) < 2:
        return 0.0
    return -(-len(labels) // _columns_of(labels, wide)) * 1.35 * float(rcParams["font.size"]) / 72


def draw_row(figure: Place, charts: Sequence[Lines], wide: float, *, title: bool = True) -> None:
    """Draws charts of lines side by side, with equal axes and one legend.

    Args:
        figure: The figure, or a part of one.
        charts: The charts.
        wide: The width of the figure, inches.
        title: Whether to write the title of the row, or of a single chart.
    """
    looks = _looks_of(charts)

    def draw(axis: Axes, chart: Lines, wide: float) -> dict[str, Artist]:
        _lines(axis, chart, looks, wide)
        handles, labels = axis.get_legend_handles_labels()
        return dict(zip(labels, handles, strict=True))

    _, named = _side_by_side(figure, charts, wide, draw, title=title)
    named = _in_columns(charts, named, wide)
    legend(figure, named, wide, _notes(charts), beside=len(charts) == 1 and wide >= _NARROW)


def _side_by_side(
    figure: Place,
    charts: Sequence[_Chart],
    wide: float,
    draw: Callable[[Axes, _Chart, float], dict[str, Artist]],
    *,
    title: bool,
    x: bool = True,
) -> tuple[Any, dict[str, Artist]]:
    """Draws each chart at a place of its own, and names the axes once.

    Args:
        figure: The figure, or a part of one.
        charts: The charts.
        wide: The width of the figure, inches.
        draw: Draws a chart on axes of a width, and returns the entries of the legend by label.
        title: Whether to write the title of the row, or of a single chart.
        x: Whether to write the name of x below the lowest ones.

    Returns:
        The axes as an array of lines and columns, and the entries of the legend.
    """
    columns = row_size(charts, wide)[0]
    lines = -(-len(charts) // columns)
    axes: Any = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    named: dict[str, Artist] = {}
    several = len(charts) > 1
    for axis in axes.flat[len(charts) :]:
        axis.set_axis_off()
    for number, (axis, chart) in enumerate(zip(axes.flat, charts, strict=False)):
        for label, artist in draw(axis, chart, wide / columns).items():
            named.setdefault(label, artist)
        words = _chart_title(chart, wide / columns)
        axis.set_title(words if title or several else "", loc="left")
        below = number + columns < len(charts)
        axis.tick_params(labelbottom=not below)
        axis.set_xlabel(chart.x if x and not below else "")
        axis.set_ylabel("" if several else chart.y)
    if several:
        figure.supylabel(charts[0].y, fontsize=rcParams["axes.labelsize"])
        if title:
            words = _row_title(charts, wide)
            figure.suptitle(words, x=0.01, ha="left", weight="bold", fontsize="large")
    return axes, named


def _in_columns(
    charts: Sequence[Lines], named: Mapping[str, Artist], wide: float
) -> dict[str, Artist]:
    """Orders a legend so that a column has one contender, if it has as many rows as a second number has values."""
    lines = {line.label: line for chart in charts for line in chart.lines}
    rows = -(-len(named) // _columns_of([*named], wide))
    if rows < 2 or rows != len({line.style for line in lines.values()}):
        return dict(named)
    return {label: named[label] for label in sorted(named, key=lambda each: lines[each].mark or 0)}


def legend(
    figure: Place,
    named: Mapping[str, Artist],
    wide: float,
    notes: Sequence[str] = (),
    *,
    beside: bool,
) -> None:
    """Puts a legend to the right of a figure's charts, or below them in columns that fit; and notes below them."""
    look: dict[str, Any] = {"frameon": False, "handlelength": 2.6}
    if beside or len(named) < 2:
        say(figure, *notes)
    if len(named) < 2:
        return
    if beside:
        names = [in_lines(each) for each in named]
        figure.legend([*named.values()], names, loc="outside right center", **look)
        return
    columns = _columns_of([*named], wide)
    look |= {"loc": "outside lower left", "ncols": columns, "columnspacing": 1.0}
    if note := " ".join(filter(None, dict.fromkeys(notes))):
        size = float(rcParams["font.size"]) - 1
        look |= {"title": fill(note, int(wide * 72 / (0.54 * size))), "title_fontsize": size}
        look["alignment"] = "left"
    made = figure.legend([*named.values()], [*named], **look)
    made.get_title().set_color(GREY)


def _looks_of(charts: Sequence[Lines]) -> dict[str, tuple[Look, float]]:
    """Returns the look and the relative width of each line by label: the same in all charts of a row."""
    lines = {line.label: line for chart in charts for line in chart.lines}
    looks = own_looks([*lines.values()])
    return {
        # The forms of points tell lines apart where they coincide; without points, their widths do.
        label: (look, 1.0 if lines[label].mark is not None else width(number, len(lines)))
        for number, (label, look) in enumerate(zip(lines, looks, strict=True))
    }


def _lines(axis: Axes, block: Lines, looks: Mapping[str, tuple[Look, float]], wide: float) -> None:
    for line in block.lines:
        own, wider = looks[line.label]
        look: dict[str, Any] = {
            "color": shaded(own),
            "linewidth": rcParams["lines.linewidth"] * wider,
            "label": line.label,
        }
        if dash := DASHES[own.dash]:
            look["linestyle"] = (0, tuple(each / 2 for each in dash))
        if line.mark is not None:
            look["marker"] = MARKERS[line.mark % len(MARKERS)]
        if block.stepped:
            look["drawstyle"] = "steps-post"
        axis.plot(line.x, line.y, **look)
        if line.low is not None and line.high is not None:
            band: Any = {"step": "post" if block.stepped else None, "color": look["color"]}
            axis.fill_between(line.x, line.low, line.high, alpha=0.13, linewidth=0, **band)
    if block.log_x:
        axis.set_xscale("log")
        _number(axis.xaxis, wide)
    if block.marks:
        _mark(axis, block.marks, wide)
    if block.log_y:
        axis.set_yscale("log")
        _number(axis.yaxis)
    elif block.stepped:
        axis.set_ylim(0, 1.02)


def _number(axis: Axis, room: float = math.inf) -> None:
    """Writes plain numbers at a logarithmic axis: Matplotlib's are mathematics, which the style does not parse.

    Args:
        axis: The axis.
        room: Its length, inches, if numbers can touch each other.
    """
    least = (
        300 if room >= _NARROW else 25
    )  # the ratio of the ends from which on only powers of ten have a number

    def text(value: float, _: int) -> str:
        low, high = sorted(axis.get_view_interval())
        if low <= 0 or high / low <= least:
            return f"{value:,g}"
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        widest = max(len(f"{10.0**power:,g}") for power in (first, last))
        number = (widest * _LETTER + 0.6) * float(rcParams["font.size"]) / 72
        step = max(math.ceil(number * math.log10(high / low) / max(room - _MARGIN, number)), 1)
        digit, power = f"{value:e}".split("e")
        return f"{value:,g}" if float(digit) == 1 and (int(power) - first) % step == 0 else ""

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=_MOST_TICKS))
    axis.set_major_formatter(FuncFormatter(text))
    axis.set_minor_locator(NullLocator())


def _mark(axis: Axes, marks: Sequence[float], wide: float) -> None:
    """Puts the ticks of x at the marks, and numbers at the ends and the shortest ones that are far enough apart."""
    places = np.log(marks) if axis.get_xscale() == "log" else np.asarray(marks, dtype=float)
    size = float(rcParams["font.size"]) / 72
    letters = max(len(f"{mark:g}") for mark in marks)
    room = max(wide - 0.55, 0.5) if wide < _NARROW else wide - 2
    apart = (letters * _LETTER + 0.6) * size / room * (places[-1] - places[0])
    labels, taken = [""] * len(marks), list[float]()
    ends = (0, len(marks) - 1)
    for at in sorted(range(len(marks)), key=lambda at: (at not in ends, len(f"{marks[at]:g}"), at)):
        if all(abs(places[at] - other) >= apart for other in taken):
            labels[at] = f"{marks[at]:g}"
            taken.append(float(places[at]))
    axis.xaxis.set_major_locator(FixedLocator(list(marks)))
    axis.xaxis.set_major_formatter(FixedFormatter(labels))
    axis.xaxis.set_minor_locator(NullLocator())


def draw_clouds(
    figure: Place, charts: Sequence[Clouds], wide: float, *, title: bool = True
) -> None:
    """Draws scatter plots side by side, with equal axes and one legend."""
    own = of_clouds(charts)

    def draw(axis: Axes, chart: Clouds, wide: float) -> dict[str, Artist]:
        named: dict[str, Artist] = {}
        for cloud in chart.clouds:
            number, look = own[cloud.label]
            color, mark = shaded(look), MARKERS[number % len(MARKERS)]
            x, y = ([np.mean(cloud.x)], [np.mean(cloud.y)]) if chart.row else (cloud.x, cloud.y)
            size = rcParams["lines.markersize"] + 0.5
            (named[cloud.label],) = axis.plot(x, y, mark, color=color, markersize=size)
            for area in areas(cloud, log_x=chart.log_x):
                across, up = zip(*area, strict=True)
                axis.fill(across, up, facecolor=color, alpha=0.12)
                axis.plot([*across, across[0]], [*up, up[0]], color=color, linewidth=0.8)
        if chart.log_x:
            axis.set_xscale("log")
            _number(axis.xaxis, wide)
        return named

    axes, named = _side_by_side(figure, charts, wide, draw, title=title, x=len(charts) == 1)
    frame = frame_of(charts)
    ends = (frame.x_high, frame.x_low)  # less delay is to the right
    axes[0][0].set_xlim(*(10.0**end if frame.log_x else end for end in ends))
    axes[0][0].set_ylim(frame.y_low, frame.y_high)
    legend(figure, named, wide, _notes(charts), beside=len(charts) == 1 and wide >= _NARROW)


def map_size(blocks: Sequence[Heat], wide: float) -> tuple[int, float]:
    """Returns the number of maps in a line, and the height of all; inches."""
    need = _SIDE + _CELL * max(len(each.columns) for each in blocks)
    columns = min(len(blocks), max(int(wide / need), 1), 4)
    rows = -(-len(blocks) // columns)
    tall = max(len(each.rows) for each in blocks)
    titles = max(_map_title(each, wide / columns).count("\n") for each in blocks)
    return columns, rows * (0.29 + _TITLE * (1 + titles) + _LINE * tall) + 0.25


def _map_title(block: Heat, wide: float) -> str:
    """Returns the title of a map with its unit, in lines that are no longer than the map is wide."""
    title = block.title + (f", {block.unit}" if block.unit else "")
    letter = _LETTER * float(rcParams["font.size"]) / 72
    return fill(title, max(int((wide - _SIDE) / letter), 12))


def draw_maps(figure: Place, blocks: Sequence[Heat], wide: float) -> None:
    """Draws maps side by side, with equal colors."""
    columns = map_size(blocks, wide)[0]
    rows = -(-len(blocks) // columns)
    axes = figure.subplots(rows, columns, squeeze=False)
    count = max(len(each.columns) for each in blocks)
    cell = (wide / columns - _SIDE) / count
    size = min(float(rcParams["font.size"]) - 1, cell * 72 / (4.4 * _LETTER))
    for number, axis in enumerate(axes.flat):
        if number >= len(blocks):
            axis.set_axis_off()
            continue
        block = blocks[number]
        shares = np.vectorize(block.share, otypes=[float])(block.values)
        # Cells are areas, not a picture: sharp at each size, and PGF has no pictures.
        edges = [np.arange(count + 1) - 0.5 for count in reversed(shares.shape)]
        axis.grid(visible=False)
        axis.spines[:].set_visible(True)
        axis.pcolormesh(*edges, shares, cmap="cividis", vmin=0, vmax=1, linewidth=0)
        axis.invert_yaxis()
        for row, column in np.ndindex(shares.shape) if size >= _LEAST_FONT else ():
            value = float(block.values[row, column])
            known = math.isfinite(value)
            ink = heat(shares[row, column])[1] if known else "#000"
            text = short(value) if known else "–"
            axis.text(column, row, text, ha="center", va="center", color=ink, fontsize=size)
        axis.set_xticks(range(len(block.columns)), [in_lines(each) for each in block.columns])
        axis.set_yticks(range(len(block.rows)), [in_lines(each) for each in block.rows])
        axis.set_title(_map_title(block, wide / columns), loc="left", fontsize="medium")
        axis.set_xlabel(block.column_key if number + columns >= len(blocks) else "")
        axis.set_ylabel(block.row_key if number % columns == 0 else "")
        axis.tick_params(length=0)
    colors = "The scale of colors is logarithmic." if blocks[0].log else ""
    if size < _LEAST_FONT:
        _bar(figure, axes, blocks[0])
    say(figure, blocks[0].note, colors)


def _bar(figure: Place, axes: Any, block: Heat) -> None:  # noqa: ANN401
    """Draws the scale of colors, where cells have no room for numbers."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm, Normalize

    norm = (LogNorm if block.log else Normalize)(block.least, block.most)
    bar = figure.colorbar(ScalarMappable(norm, "cividis"), ax=axes, label=block.unit)
    if block.log:
        _number(bar.ax.yaxis)


def each_or_row(blocks: Iterable[Lines | Clouds]) -> list[list[Any]]:
    """Returns charts in lists: those of a row together, each other one alone."""
    found: list[list[Any]] = []
    for block in blocks:
        if (
            block.row
            and found
            and found[-1][0].row == block.row
            and type(found[-1][0]) is type(block)
        ):
            found[-1].append(block)
        else:
            found.append([block])
    return found
