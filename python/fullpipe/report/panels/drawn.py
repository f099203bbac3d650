"""The numbers that a panel shows: the same for pictures and for CSV."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fullpipe.errors import UserError
from fullpipe.report.model import Curve, Panel
from fullpipe.report.panels.declared import PANELS
from fullpipe.report.panels.tracks import column, rows_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from fullpipe.report.model import Recorded, Source, Stay, Values

_BINS = 300
_USUAL = {curve.column for panel in PANELS for curve in panel.curves}
_PAIR = "rate-rate"
"""Key of the panel that shows two flows of a run."""


class PanelError(UserError):
    """No such panel, or the runs have no data of it; the text has the place and the fix."""


@dataclass(frozen=True)
class Shown:
    """A run with its sources; of several runs, the sources' names have the run's label."""

    run: Recorded
    sources: list[Source]
    time: tuple[float, float] | None = None
    """The time to draw, in seconds; None for the whole run."""


class Drawn(NamedTuple):
    """A line: label, source, number of its run, curve, and points of the shape (points,) each."""

    label: str
    source: Source
    order: int
    curve: Curve
    x: Values
    y: Values


class Row(NamedTuple):
    """A row of bars: label, source, and the source's times in each word."""

    label: str
    source: Source
    stays: list[Stay]


def shown(runs: Sequence[Recorded]) -> list[Shown]:
    """Reads runs.

    Raises:
        OSError: When a run's tables can't be read.
    """
    if len(runs) == 1:
        return [Shown(runs[0], runs[0].read())]
    labels = [run.label for run in runs]
    seeds = {label.rpartition(", ")[2] for label in labels}
    if len(seeds) == 1:  # all have the same
        labels = [label.removesuffix(f", {seed}") for label in labels for seed in seeds]
    return [
        Shown(run, [replace(each, name=f"{each.name}, {label}") for each in run.read()])
        for run, label in zip(runs, labels, strict=True)
    ]


def within(runs: Sequence[Shown], begin_s: float, end_s: float) -> list[Shown]:
    """Returns what runs have in a part of their time."""
    return [
        replace(
            run,
            sources=[_within(each, begin_s, end_s) for each in run.sources],
            time=(begin_s, end_s),
        )
        for run in runs
    ]


def _within(source: Source, begin_s: float, end_s: float) -> Source:
    tracks = {}
    for name, track in source.tracks.items():
        # With a point before and after, lines reach the edges of the chart.
        first = max(int(np.searchsorted(track.time, begin_s)) - 1, 0)
        last = int(np.searchsorted(track.time, end_s, side="right")) + 1
        part = slice(first, last)
        if (track.time[part] <= end_s).any() and (track.time[part] >= begin_s).any():
            tracks[name] = replace(track, time=track.time[part], values=track.values[part])
    stays = {
        name: [
            replace(each, since=max(each.since, begin_s), till=min(each.till, end_s))
            for each in found
            if each.since < end_s and each.till > begin_s
        ]
        for name, found in source.stays.items()
    }
    spans = [each for each in source.spans if each.start < end_s and each.end > begin_s]
    return replace(
        source,
        tracks=tracks,
        stays={name: each for name, each in stays.items() if each},
        spans=spans,
    )


def fitted(panel: Panel, there: Collection[str]) -> Panel:
    """Returns a panel as it suits the columns that there are: without its first one, the second one takes its place."""
    if not panel.alone or panel.curves[0].column in there:
        return panel
    main, *others = panel.curves[1:]
    return replace(panel, title=panel.alone, curves=(replace(main, style=""), *others))


def title_of(curve: Curve, number: int) -> str:
    """Returns what a line's label has after its source: nothing for a first curve that is no points."""
    return "" if number == 0 and curve.style != "points" else f": {column(curve.column).title}"


def is_there(key: str, runs: Sequence[Shown]) -> bool:
    """Returns whether runs have data of the panel with a key."""
    return any(each.key == key and has(each, runs) for each in PANELS)


def find(key: str, runs: Sequence[Shown], *, called: str = "--panel") -> Panel:
    """Returns the panel of a key, or one of a trace's column that no panel shows.

    Args:
        key: The key.
        runs: The runs.
        called: The option, or argument of a function, that gives the key.

    Raises:
        PanelError: When there is neither, or the runs have no data of it.
    """
    sources = [source for each in runs for source in each.sources]
    known = {each.key: each for each in PANELS}
    columns = sorted({name for each in sources for name in each.tracks} - _USUAL - known.keys())
    if key in columns:
        about = column(key)
        return Panel(key, about.title, about.unit, (Curve("flow", key), Curve("link", key)))
    if key in known and has(known[key], runs):
        return fitted(known[key], {name for each in sources for name in each.tracks})
    there = ", ".join(each.key for each in PANELS if has(each, runs))
    fix = f"write one of {there}" + (f", or a column: {', '.join(columns)}" if columns else "")
    if key in known:
        problem = "the runs have no data of this panel"
    else:
        near = get_close_matches(key, [*known, *columns], n=1)
        problem = "no such panel" + (f"; did you mean {near[0]}?" if near else "")
    raise PanelError(f"{called} {key}: {problem}\n  fix: {fix}")


def has(panel: Panel, runs: Sequence[Shown]) -> bool:
    """Returns whether a panel has anything to show."""
    if panel.view == "phase":
        return any(len(x) for _, _, x, _ in phases(panel, runs))
    return any(rows_of(panel, each.sources) for each in runs)


def lines(panel: Panel, runs: Sequence[Shown]) -> Iterator[Drawn]:
    """Yields the lines of a panel over time, curve by curve."""
    begin_s, end_s = time_of(runs)
    for number, curve in enumerate(panel.curves):
        for order, each in enumerate(runs):
            for source in each.sources:
                if source.kind == curve.of and curve.column in source.tracks:
                    x, y = points(source, curve.column, end_s, begin_s)
                    label = source.name + title_of(curve, number)
                    yield Drawn(label, source, order, curve, x, y)


def time_of(runs: Sequence[Shown]) -> tuple[float, float]:
    """Returns the time that a picture of runs shows."""
    if runs[0].time:
        return runs[0].time
    return 0.0, max(each.run.end_s for each in runs) or 1.0


def bars(panel: Panel, runs: Sequence[Shown]) -> list[Row]:
    """Returns the rows of a panel of words; states include those of an algorithm in the receiver."""
    return [
        Row(source.name if name == panel.stays else f"{source.name}, {name}", source, stays)
        for each in runs
        for source in each.sources
        for name, stays in source.stays.items()
        if name == panel.stays or (panel.stays == "state" and name.endswith(".state"))
    ]


def phases(panel: Panel, runs: Sequence[Shown]) -> Iterator[tuple[Source, Source, Values, Values]]:
    """Yields the sources of x and y of a panel without time, and the points: one for each time of y."""
    across, up = panel.curves
    for each in runs:
        begin_s, end_s = time_of([each])
        flows = [
            source
            for source in each.sources
            if source.kind == "flow" and {across.column, up.column} <= source.tracks.keys()
        ]
        pairs = [(each, each) for each in flows]
        if is_pair(panel):
            pairs = [(flows[0], flows[1])] if len(flows) > 1 else []
        for first, second in pairs:
            x, y = (
                points(first, across.column, end_s, begin_s),
                points(second, up.column, end_s, begin_s),
            )
            if len(x[0]) and len(y[0]):
                both = (y[0] >= x[0][0]) & (y[0] <= x[0][-1])
                yield first, second, np.interp(y[0][both], *x), y[1][both]


def is_pair(panel: Panel) -> bool:
    """Returns whether a panel shows one flow's quantity over that of another."""
    return panel.key == _PAIR


def points(source: Source, name: str, end_s: float, begin_s: float = 0.0) -> tuple[Values, Values]:
    """Returns the points of a line; of a growing count, its mean increase per second in each of 300 bins."""
    track = source.tracks[name]
    known = np.isfinite(track.values)
    x, y = track.time[known], track.values[known]
    if name != "delivered" or len(x) < 2 or end_s <= x[0]:
        return x, y
    width = max((end_s - begin_s) / _BINS, 2 * float(np.median(np.diff(x))))
    edges = np.arange(x[0], min(end_s, x[-1]) + width / 1e6, width)  # whole bins only
    if len(edges) < 2:
        return x[:0], y[:0]
    return (edges[1:] + edges[:-1]) / 2, np.diff(np.interp(edges, x, y)) / width


def table(panel: Panel, runs: Sequence[Shown]) -> Iterator[tuple[object, ...]]:
    """Yields the header and the rows of a panel as CSV: those that the page saves."""
    title = f"{panel.title}, {panel.unit}" if panel.unit else panel.title
    if panel.stays:
        yield "flow", "word", "since, s", "till, s"
        for row in bars(panel, runs):
            yield from ((row.label, each.word, each.since, each.till) for each in row.stays)
    elif panel.view == "spans":
        yield "flow", "content", "start, s", "end, s"
        for run in runs:
            for source in run.sources:
                yield from ((source.name, each.text, each.start, each.end) for each in source.spans)
    elif panel.view == "phase":
        about = column(panel.curves[0].column)
        across = title if is_pair(panel) else f"{about.title}, {about.unit}"
        yield "line", across, title
        for first, second, x, y in phases(panel, runs):
            label = f"{second.name} over {first.name}" if is_pair(panel) else first.name
            yield from zip([label] * len(x), x.tolist(), y.tolist(), strict=True)
    else:
        yield "line", "time, s", title
        begin_s, end_s = time_of(runs)
        for line in lines(panel, runs):
            kept = (line.x >= begin_s) & (line.x <= end_s) if runs[0].time else slice(None)
            x, y = line.x[kept].tolist(), line.y[kept].tolist()
            yield from zip([line.label] * len(x), x, y, strict=True)
