"""Draws panels of recorded runs with matplotlib, for PDF, Markdown, pictures and slides."""

from __future__ import annotations

from dataclasses import replace
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context, rcParams
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import Normal, Stroke

from fullpipe.report.colors import COLORS, DASHES, DROPS, MARKERS, MARKS, Look, shaded
from fullpipe.report.panels import drawn
from fullpipe.report.panels.declared import PANELS
from fullpipe.report.panels.tracks import column, rows_of
from fullpipe.report.style import CHARTS
from fullpipe.runs.view.axes import GREY
from fullpipe.runs.view.colors import Style, styles, width
from fullpipe.runs.view.figure import Picture
from fullpipe.runs.view.states import colors as state_colors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from fullpipe.report.model import Panel, Recorded, Source, Stay, Values
    from fullpipe.report.panels.drawn import Row, Shown
    from fullpipe.runs.view.figure import Place

SLIDE = (10.667, 6.0)
"""Inches; 16:9."""
_WIDTH = 6.3
_SCREEN, _TALLER, _ENTRY = 10.0, 1.6, 0.19
"""Width of a picture for a screen, height of its panels against those for paper, height of a legend's entry; inches."""
_ROW = 0.17
_LEADING = 1.3
"""Distance of a note's lines, in font sizes."""
_LABEL = 28
_LINES = 3
_TITLE = 100
_PALE = 0.2
_LOST, _FEW_RUNS = "lost", 2
"""Column of the losses that flows declared, and the number of runs up to which they are drawn."""
_APART = 0.12
"""Distance between the marks of a link's line, as a part of the chart's diagonal."""
_NARROW = 4.5
"""Width of a figure below which a legend is below its chart, inches."""
_SEQUENCES, _MOST_AXES = "packets", 4
"""Key of the panel of sequence numbers, and most axes of its picture."""
_TICK = 0.055
"""Height of a row of ticks, as a part of the chart's."""
_EVENTS = {"drops": DROPS, "marks": MARKS}
_MARKS = (".", "x", "^", "+")
"""Points of each run in a panel of one quantity over another."""
_STYLES: dict[str, dict[str, Any]] = {
    "": {"linewidth": 1.0},
    "pale": {"linewidth": 0.6, "alpha": 0.45},
    "dashed": {"linewidth": 0.6, "linestyle": "--"},
    "dotted": {"linewidth": 0.8, "linestyle": ":"},
    "reference": {"linewidth": 0.8, "alpha": 0.5, "drawstyle": "steps-post"},
    "points": {"linewidth": 0, "marker": ".", "markersize": 3},
    "small": {"linewidth": 0, "marker": ".", "markersize": 1.5, "alpha": 0.6},
    "again": {"linewidth": 0, "marker": "^", "markersize": 4, "color": COLORS[3]},
    "gone": {"linewidth": 0, "marker": "x", "markersize": 5, "color": COLORS[-1]},
}
"""Looks of lines; the width is a part of `lines.linewidth`, which is larger on slides."""


def over_time(run: Recorded, which: str = "", left: str = "") -> Figure:
    """Draws the panels that a page shows at first, below each other, without those over another quantity.

    Args:
        run: The run.
        which: Its number among several, in words, for the title.
        left: The runs that have no picture, in words.
    """
    runs = drawn.shown([run])
    there = {name for each in runs[0].sources for name in each.tracks}
    panels = [
        drawn.fitted(each, there)
        for each in PANELS
        if each.first and each.view != "phase" and drawn.has(each, runs)
    ]
    figure = Figure(layout="constrained")
    _stack_panels(figure, runs, panels, _WIDTH)
    say(figure, *(run.notes.get(each.key, "") for each in panels), left)
    title = f"{run.label} ({which})" if which else run.label
    figure.suptitle(fill(title, _TITLE), x=0.01, ha="left", fontsize=8.5, weight="bold")
    return figure


def stacked(runs: Sequence[Shown], panels: Sequence[Panel], title: str) -> Picture:
    """Draws panels below each other for a screen, with the runs over each other."""
    figure = Picture(dpi=110, layout="constrained")
    notes = [_left_by(each, len(runs)) for each in panels]
    panels = [_plain(each, len(runs)) for each in panels]
    with rc_context({**CHARTS, "text.parse_math": False}):
        _stack_panels(figure, runs, panels, _SCREEN, _TALLER)
        say(figure, *(run.run.notes.get(each.key, "") for each in panels for run in runs), *notes)
    figure.suptitle(fill(title, _TITLE), x=0.01, ha="left", weight="bold")
    return figure


def _stack_panels(
    figure: Figure,
    runs: Sequence[Shown],
    panels: Sequence[Panel],
    width: float,
    taller: float = 1.0,
) -> None:
    parts = [part for panel in panels for part in _by_run(panel, runs)]
    heights = [taller * _height(panel, those) for panel, those in parts]
    figure.set_size_inches(width, sum(heights) + 0.4)
    if not parts:
        return
    over_time = [number for number, (each, _) in enumerate(parts) if each.view != "phase"]
    grid = figure.add_gridspec(len(parts), 1, height_ratios=heights)
    axes = [figure.add_subplot(grid[number]) for number in range(len(parts))]
    own = _styles(runs)
    for number, (axis, (panel, those)) in enumerate(zip(axes, parts, strict=True)):
        if number in over_time[1:]:
            axis.sharex(axes[over_time[0]])
        _draw(axis, panel, those, own)
        if number in over_time[:-1]:
            axis.tick_params(labelbottom=False)
    if over_time:
        axes[over_time[-1]].set_xlabel("time, s")
    if taller > 1:  # on a screen, a picture may be as high as its legends need
        heights = [
            max(height, _ENTRY * len(legend.get_texts()) if (legend := axis.get_legend()) else 0)
            for height, axis in zip(heights, axes, strict=True)
        ]
        grid.set_height_ratios(heights)
        figure.set_size_inches(width, sum(heights) + 0.4)


def _plain(panel: Panel, count: int) -> Panel:
    """Returns a panel without the lines, colors and rows of ticks that would hide each other with several runs."""
    if count < 2 or panel.view != "lines":
        return panel
    main = tuple(each for each in panel.curves if each.style in ("", "points", "reference"))
    ticks = (
        panel.ticks if count <= _FEW_RUNS else tuple(each for each in panel.ticks if each != _LOST)
    )
    title = panel.several if panel.several and main else panel.title
    return replace(panel, title=title, curves=main or panel.curves, behind="", ticks=ticks)


def _left_by(panel: Panel, count: int) -> str:
    """Returns the ticks that :func:`_plain` leaves out, in words."""
    if _LOST not in panel.ticks or count <= _FEW_RUNS:
        return ""
    return f"Losses that flows declared: not drawn, since there are more than {_FEW_RUNS} runs."


def one_panel(
    runs: Sequence[Shown], panel: Panel, size: tuple[float, float] = SLIDE, left: str = ""
) -> Figure:
    """Draws one panel, with the runs over each other.

    Args:
        runs: The runs.
        panel: The panel.
        size: Width and height, inches; several axes may be higher.
        left: The runs that are not drawn, in words.
    """
    figure = Figure(figsize=size, layout="constrained")
    parts = [(each, those) for each, some in _by_run(panel, runs) for those in _by_flow(each, some)]
    axes = figure.subplots(len(parts), 1, sharex=True, squeeze=False)[:, 0]
    own = _styles(runs)
    for number, (axis, (each, those)) in enumerate(zip(axes, parts, strict=True)):
        _draw(axis, _plain(each, len(runs)), those, own)
        if number and each.title == parts[0][0].title:
            axis.set_title("", loc="left")
    if panel.view != "phase":
        axes[-1].set_xlabel("time, s")
    say(
        figure,
        *(run.run.notes.get(panel.key, "") for run in runs),
        _left_by(panel, len(runs)),
        left,
    )
    for axis in axes:
        _fit_legend(figure, axis)
    return figure


def say(figure: Place, *notes: str) -> None:
    """Writes the omissions of charts below them."""
    if text := " ".join(filter(None, dict.fromkeys(notes))):
        lines, size = _said(text, figure.bbox.width / figure.dpi)
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=size, color=GREY)


def height_of(note: str, wide: float) -> float:
    """Returns the height that :func:`say` needs for a note in a figure of this width; inches."""
    lines, size = _said(note, wide)
    return (_LEADING * len(lines) * size + 6) / 72


def _said(text: str, wide: float) -> tuple[list[str], float]:
    """Returns the lines of a note, and their font size."""
    size = max(rcParams["font.size"] - 1, 6)
    return wrap(text, int(14 * wide * 7 / size)), size


def _by_run(panel: Panel, runs: Sequence[Shown]) -> list[tuple[Panel, Sequence[Shown]]]:
    """Returns a panel with its runs: one for each run of areas, since those of several runs are no stack."""
    if panel.view != "stack" or len(runs) < 2:
        return [(panel, runs)]
    return [
        (replace(panel, title=f"{panel.title}: {run.run.label}"), [run])
        for run in runs
        if any(panel.curves[0].column in each.tracks for each in run.sources)
    ]


def _by_flow(panel: Panel, runs: Sequence[Shown]) -> list[Sequence[Shown]]:
    """Returns what to draw on each axis: a flow of sequence numbers, since two would flatten their slopes."""
    if panel.key != _SEQUENCES:
        return [runs]
    alone = [
        [replace(run, sources=[each])]
        for run in runs
        for each in run.sources
        if panel.curves[0].column in each.tracks
    ]
    return [*alone] if 1 < len(alone) <= _MOST_AXES else [runs]


def _fit_legend(figure: Figure, axis: Axes) -> None:
    """Moves a legend below the chart, in columns, if it is too high or too wide for the place next to the chart."""
    legend = axis.get_legend()
    if legend is None:
        return
    figure.draw_without_rendering()
    box = legend.get_window_extent()
    fits = box.height <= 0.95 * figure.bbox.height and box.width <= 0.4 * figure.bbox.width
    if fits and figure.get_figwidth() >= _NARROW:
        return
    handles, texts = legend.legend_handles, legend.get_texts()
    labels = [each.get_text().replace("\n", " ") for each in texts]
    # The handles are those of the first legend, whose points are large.
    look: dict[str, Any] = {"frameon": False, "markerscale": 1, "fontsize": "x-small"}
    length = legend.handlelength
    legend.remove()
    for columns in range(5, 0, -1):
        look |= {"ncols": columns, "handlelength": length}
        below = figure.legend(
            [each for each in handles if each], labels, loc="outside lower left", **look
        )
        figure.draw_without_rendering()
        if columns == 1 or below.get_window_extent().width <= figure.bbox.width:
            return
        below.remove()


def _height(panel: Panel, runs: Sequence[Shown]) -> float:
    """Returns the height of a panel on paper, inches."""
    if panel.stays or panel.view == "spans":
        return _ROW * sum(rows_of(panel, each.sources) for each in runs) + 0.4
    return 1.35


def _styles(runs: Sequence[Shown]) -> dict[str, Style]:
    """Returns the style of each flow and workload by name."""
    flows = [each for run in runs for each in run.sources if each.kind in ("flow", "workload")]
    found = styles([each.algorithm or each.name for each in flows])
    return {each.name: style for each, style in zip(flows, found, strict=True)}


def _draw(
    axis: Axes, panel: Panel, runs: Sequence[Shown], own: dict[str, Style] | None = None
) -> None:
    own = own or _styles(runs)
    unit = f", {panel.unit}" if panel.unit else ""
    axis.set_title(panel.title + unit, loc="left")
    if panel.stays:
        _bars(axis, drawn.bars(panel, runs))
    elif panel.view == "spans":
        _spans(axis, runs, own)
    elif panel.view == "phase":
        _phase(axis, panel, runs, own)
        return
    elif panel.view == "stack":
        _stack(axis, panel, runs, own)
    else:
        _curves(axis, panel, runs, own)
    begin_s, end_s = drawn.time_of(runs)
    for run in (each.run for each in runs if not _is_of_packets(panel)):
        for time, _ in run.changes:
            axis.axvline(time, color="#777777", linestyle=":", linewidth=0.8)
        if run.measure_from_s > 0:
            axis.axvline(run.measure_from_s, color="#777777", linestyle="--", linewidth=0.8)
    if runs[0].time or not _is_of_packets(panel):
        axis.set_xlim(begin_s, end_s)


def _is_of_packets(panel: Panel) -> bool:
    """Whether a panel shows the window of time in which packets were recorded, and no more."""
    return any(curve.style == "points" for curve in panel.curves)


def _curves(axis: Axes, panel: Panel, runs: Sequence[Shown], own: dict[str, Style]) -> None:
    words = _behind(axis, panel, runs, own) if panel.behind else {}
    every = [each for run in runs for each in run.sources if each.kind == "link"]
    links = {each.name: number for number, each in enumerate(every)}
    every_line = list(drawn.lines(panel, runs))
    flows = list(dict.fromkeys(each.source.name for each in every_line if each.source.name in own))
    for line in every_line:
        style = own.get(line.source.name) or _reference(links.get(line.source.name, line.order))
        look = {"color": style.color, "linestyle": style.line, **_STYLES[_look(panel, line)]}
        look["linewidth"] *= rcParams["lines.linewidth"]
        if line.source.name in flows and line.curve.style in ("", "points"):
            size = "markersize" if line.curve.style else "linewidth"
            look[size] *= width(flows.index(line.source.name), len(flows))
        if line.source.kind == "link" and len(every) > 1 and not line.curve.style:
            # Gray lines differ in marks, too, each at places of its own.
            number = links[line.source.name]
            look |= {
                "marker": MARKERS[number % len(MARKERS)],
                "markevery": (_APART * (number + 0.5) / len(every), _APART),
                "markersize": 1.1 * rcParams["lines.markersize"],
            }
        axis.plot(line.x, line.y, **look, label=in_lines(_told(line.label, line.source)))
    if not _is_of_packets(panel) or not panel.curves[0].column.startswith("packet_sent"):
        axis.set_ylim(bottom=0)
    _ticks(axis, panel, runs, own)
    patches = [Patch(color=color, alpha=2 * _PALE, label=word) for word, color in words.items()]
    _legend(axis, [*axis.get_legend_handles_labels()[0], *patches])


def _told(label: str, source: Source) -> str:
    """Returns the label of a source's line with its algorithm, unless its name has it."""
    if not source.algorithm or source.algorithm in source.name:
        return label
    return label.replace(source.name, f"{source.name} ({source.algorithm})", 1)


def _look(panel: Panel, line: drawn.Drawn) -> str:
    """Returns the look of a line: that of its curve, or the main one if its source does not have the main curve."""
    pale = line.curve.style == "pale" and panel.behind != ""
    return "" if pale and panel.curves[0].column not in line.source.tracks else line.curve.style


def _reference(order: int) -> Style:
    """Returns the style of one of the links of all runs, or of all flows together of a run."""
    look = Look(len(COLORS) - 1, order % len(DASHES), order)
    return Style(shaded(look), tuple(length / 2 for length in DASHES[look.dash]))


def _stack(axis: Axes, panel: Panel, runs: Sequence[Shown], own: dict[str, Style]) -> None:
    """Draws areas of one run on top of each other."""
    lines = list(drawn.lines(panel, runs))
    times = np.unique(np.concatenate([each.x for each in lines]))
    below = np.zeros(len(times))
    for line in lines:
        style = own.get(line.source.name, _reference(0))
        above = below + np.interp(times, line.x, line.y)
        alpha = 0.6 if style.line == "-" else 0.35  # as on the page
        look: dict[str, Any] = {"facecolor": style.color, "alpha": alpha}
        axis.fill_between(
            times, below, above, **look, linewidth=0, label=in_lines(_told(line.label, line.source))
        )
        below = above
    axis.set_ylim(bottom=0)
    _legend(axis)


def _ticks(axis: Axes, panel: Panel, runs: Sequence[Shown], own: dict[str, Style]) -> None:
    """Draws an increase of a count as a tick above the lines, a row of ticks for each count of a link or flow."""
    rows: list[tuple[Values, str, str]] = []
    for count in panel.ticks:
        for source in (source for each in runs for source in each.sources):
            track = source.tracks.get(count)
            if track is None or source.kind not in ("link", "flow"):
                continue
            times = track.time[1:][np.diff(track.values) > 0]
            color = own[source.name].color if source.kind == "flow" else _EVENTS[count]
            if len(times):
                rows.append((times, color, f"{source.name}: {column(count).title}"))
    if rows:
        low, high = axis.get_ylim()
        axis.set_ylim(low, low + (high - low) / (1 - min(_TICK * len(rows), 0.6)))
    for row, (times, color, label) in enumerate(rows):
        axis.plot(
            times,
            np.full(len(times), 1 - _TICK * (row + 0.5)),
            "|",
            color=color,
            markersize=rcParams["lines.markersize"],
            transform=axis.get_xaxis_transform(),
            label=in_lines(label),
        )


def _behind(
    axis: Axes, panel: Panel, runs: Sequence[Shown], own: dict[str, Style]
) -> dict[str, str]:
    """Draws the words of each flow behind the lines, as a strip of pale colors; returns the color of each word."""
    sources = [source for each in runs for source in each.sources if panel.behind in source.stays]
    rows = [source.stays[panel.behind] for source in sources]
    colors = _word_colors(rows)
    for number, (source, stays) in enumerate(zip(sources, rows, strict=True)):
        low = 1 - (number + 1) / len(rows)
        if len(rows) > 1:
            axis.text(
                0.995,
                low + 0.97 / len(rows),
                f"states of {source.name}",
                transform=axis.transAxes,
                ha="right",
                va="top",
                fontsize="x-small",
                color=own[source.name].color,
                path_effects=[Stroke(linewidth=2, foreground="white", alpha=0.8), Normal()],
            )
        for word, color in colors.items():
            axis.broken_barh(
                _times(stays, word),
                (low, 1 / len(rows)),
                transform=axis.get_xaxis_transform(),
                color=color,
                alpha=_PALE,
                linewidth=0,
                zorder=0,
            )
    return colors


def _bars(axis: Axes, rows: Sequence[Row]) -> None:
    colors = _word_colors([each.stays for each in rows])
    for number, row in enumerate(rows):
        for word, color in colors.items():
            axis.broken_barh(
                _times(row.stays, word), (len(rows) - number - 0.9, 0.8), color=color, linewidth=0
            )
    _lanes(axis, [each.label for each in rows])
    _legend(axis, [Patch(color=color, label=word) for word, color in colors.items()], 1)


def _word_colors(rows: Sequence[Sequence[Stay]]) -> dict[str, str]:
    return state_colors(list(dict.fromkeys(stay.word for stays in rows for stay in stays)))


def _times(stays: Sequence[Stay], word: str) -> list[tuple[float, float]]:
    return [(each.since, each.till - each.since) for each in stays if each.word == word]


def _spans(axis: Axes, runs: Sequence[Shown], own: dict[str, Style]) -> None:
    rows = [source for each in runs for source in each.sources if source.spans]
    for number, each in enumerate(rows):
        bars = [(span.start, span.end - span.start) for span in each.spans]
        color = own[each.name].color
        # an edge of the paper's color parts bars without a pause between them
        axis.broken_barh(
            bars, (len(rows) - number - 0.9, 0.8), facecolor=color, edgecolor="white", linewidth=0.4
        )
    _lanes(axis, [each.name for each in rows])


def _lanes(axis: Axes, names: Sequence[str]) -> None:
    axis.grid(visible=False)
    axis.set_ylim(0, len(names))
    axis.set_yticks(np.arange(len(names)) + 0.5, [in_lines(each) for each in reversed(names)])
    axis.tick_params(axis="y", length=0)


def _phase(axis: Axes, panel: Panel, runs: Sequence[Shown], own: dict[str, Style]) -> None:
    named = []
    order = {source.name: number for number, run in enumerate(runs) for source in run.sources}
    for first, second, x, y in drawn.phases(panel, runs):
        label = f"{second.name} over {first.name}" if drawn.is_pair(panel) else first.name
        look: dict[str, Any] = {"color": own[first.name].color, "alpha": 0.7}
        mark = _MARKS[order[first.name] % len(_MARKS)]
        axis.plot(x, y, mark, **look, label=in_lines(_told(label, first)))
        axis.plot(x, y, color=look["color"], alpha=0.12, linewidth=0.8)
        named.append((first.name, second.name))
    axis.set_ylim(bottom=0)
    if drawn.is_pair(panel) and named:
        axis.set_xlim(left=0)
        most = max(axis.get_xlim()[1], axis.get_ylim()[1])
        axis.plot([0, most], [0, most], "--", color="#777777", linewidth=0.8, label="equal rates")
        one, other = named[0] if len(named) == 1 else ("the first flow", "the second flow")
        axis.set_xlabel(f"{one}, {panel.unit}")
        axis.set_ylabel(f"{other}, {panel.unit}")
    else:
        across = column(panel.curves[0].column)
        axis.set_xlabel(f"{across.title}, {across.unit}")
    _legend(axis)


def _legend(axis: Axes, handles: Sequence[Artist] = (), length: float = 2) -> None:
    own = handles or axis.get_legend_handles_labels()[0]
    if len(own) > 1:
        axis.legend(
            handles=own,
            loc="center left",
            bbox_to_anchor=(1.01, 0.5),
            frameon=False,
            handlelength=length,
            markerscale=2,
            fontsize="small",
        )


def in_lines(name: str) -> str:
    """Returns a name of a legend in lines that leave room for the chart; of a long one, begin and end."""
    if len(name) > _LINES * _LABEL:
        half = _LINES * _LABEL // 2
        name = f"{name[:half]}…{name[-half:]}"
    return fill(name, _LABEL)
