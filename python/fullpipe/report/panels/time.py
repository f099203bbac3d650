"""Runs over time, downsampled to keep the page small."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fullpipe.report.downsample import downsampled
from fullpipe.report.model import Line, Lines, Recorded, Section, Timeline
from fullpipe.results import read_parquet
from fullpipe.stats import fairness, jain_over_time, rates_per_window
from fullpipe.stats.fairness import WINDOW_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullpipe.report.model import Values
    from fullpipe.results.model import Results, Series
    from fullpipe.stats import Fairness

_MOST_RUNS = 60
_MOST_FLOWS = 7
_MOST_LINKS = 3
_BYTES = 3_000_000
_BYTES_A_POINT = 11  # two 32-bit floats in base64
_MOST_POINTS = 2000
_LEAST_POINTS = 150
_BINS = 300
_MOST_SPELLS = 3
_NEVER = "At no time within 25 % of equal shares for five seconds."


def section(results: Results) -> Section | None:
    """Returns charts of the saved traces, at most sixty. Lines of several runners share a chart."""
    if not results.series:
        return None
    together: dict[object, list[Series]] = defaultdict(list)
    for each in results.series:
        together[each.point.place if each.point.runner else each.point.number, each.seed].append(
            each
        )
    runs = list(together.values())
    shown_runs = runs[:_MOST_RUNS]
    points = int(
        np.clip(
            _BYTES / _BYTES_A_POINT / (len(shown_runs) * _lines(results)),
            _LEAST_POINTS,
            _MOST_POINTS,
        )
    )
    recorded = [_recorded(each, points) for each in shown_runs]
    left = (
        f" Only the first {len(shown_runs)} of {len(runs)} recorded runs are shown."
        if len(runs) > len(shown_runs)
        else ""
    )
    note = f"Downsampled to at most {points:,} points per line by MinMaxLTTB, which keeps minima and maxima.{left}"
    return Section("Over time", [Timeline(recorded)], note)


def _lines(results: Results) -> int:
    """Returns the approximate number of lines of a run."""
    most = results.rows["flow_index"].max()
    return 3 * min(_MOST_FLOWS, 1 + (most if isinstance(most, int) else 0)) + 2


def _recorded(together: list[Series], points: int) -> Recorded:
    """Draws a run, or the same run on each of several runners."""
    first = together[0]
    traces = {each.point.runner: read_parquet(each.flows) for each in together}
    # in the scenario's order, since the column is an Enum
    flows = traces[first.point.runner]["flow"].unique().sort().to_list()
    shown_flows = flows[: max(1, _MOST_FLOWS // len(together))]
    # Lines to compare are next to each other in the legend.
    rows = [
        (f"{flow}, {runner}" if runner else flow, trace.filter(pl.col("flow") == flow))
        for flow in shown_flows
        for runner, trace in traces.items()
    ]
    end_s = max(
        (float(np.max(_column(trace, "time"))) for trace in traces.values() if len(trace)),
        default=0.0,
    )
    panels = [
        _panel(
            "Delivery rate", "Mbit/s", [_rate(name, those, end_s) for name, those in rows], points
        ),
        _panel(
            "Round-trip time",
            "ms",
            [_line(name, those, "rtt", 1e3) for name, those in rows],
            points,
        ),
        _panel("Window", "kB", [_line(name, those, "cwnd", 1e-3) for name, those in rows], points),
    ]
    if queues := list(_queues(together)):
        panels.append(_panel("Queue", "packets", queues, points))
    note = (
        f" (the first {len(shown_flows)} of {len(flows)} flows)"
        if len(flows) > len(shown_flows)
        else ""
    )
    if len(flows) >= 2:
        panels.append(_fairness(traces, flows, end_s))
    command = first.point.command.rsplit(" --seed ", 1)[0] + f" --seed {first.seed}"
    # A scenario with only a workload has no lines, since no flow lasts for the whole run.
    drawn = [panel for panel in panels if panel.lines]
    return Recorded(f"{first.point.label}, seed {first.seed}{note}", command, drawn)


def _queues(together: list[Series]) -> Iterator[Line]:
    """Yields the queue lengths of the first links."""
    found = [(each.point.runner, read_parquet(each.links)) for each in together if each.links]
    names = dict.fromkeys(name for _, links in found for name in links["link"].unique().sort())
    for name in list(names)[: max(1, _MOST_LINKS // len(together))]:
        for runner, links in found:
            those = links.filter(pl.col("link") == name)
            if len(those):
                yield _line(f"{name}, {runner}" if runner else name, those, "queue_packets", 1)


def _panel(title: str, unit: str, lines: list[Line], points: int) -> Lines:
    return Lines(title, "time, s", unit, [_thin(line, points) for line in lines])


def _thin(line: Line, points: int) -> Line:
    x, y = downsampled(line.x, line.y, points)
    return Line(line.label, x, y)


def _line(flow: str, rows: pl.DataFrame, column: str, scale: float) -> Line:
    return Line(flow, _column(rows, "time"), _column(rows, column) * scale)


def _rate(flow: str, rows: pl.DataFrame, end_s: float) -> Line:
    """Returns the delivery rate in bins of 1/300 of the run, or of two sampling intervals if longer."""
    time, delivered = _progress(rows)
    if len(time) < 2 or end_s <= time[0]:
        return Line(flow, time, np.zeros(len(time)))
    width = max(end_s / _BINS, 2 * float(np.median(np.diff(time))))
    ends, rates = rates_per_window([(time, delivered)], float(time[0]), end_s, width)
    return Line(flow, ends - width / 2, rates[0] * 1e-6)


def _fairness(traces: dict[str, pl.DataFrame], flows: list[str], end_s: float) -> Lines:
    """Draws Jain's index of each second in which all flows were active, with a line per runner."""
    found = [
        (runner, *_jain([trace.filter(pl.col("flow") == flow) for flow in flows], end_s))
        for runner, trace in traces.items()
    ]
    return Lines(
        "Jain's index per second",
        "time, s",
        "",
        [Line(runner or "all flows", x, y) for runner, x, y, _ in found],
        note=" ".join(f"{runner}: {note}" if runner else note for runner, _, _, note in found),
    )


def _jain(flows: list[pl.DataFrame], end_s: float) -> tuple[Values, Values, str]:
    progress = [_progress(rows) for rows in flows]
    start_s = max(float(time[0]) if len(time) else 0.0 for time, _ in progress)
    ends, rates = rates_per_window(progress, start_s, end_s)
    return ends - WINDOW_S / 2, jain_over_time(rates), _in_words(fairness(progress, end_s))


def _in_words(found: Fairness) -> str:
    """Returns when the shares were equal, and how unequal they were at last."""
    to_the_end = found.end_s
    spells = [
        f"from {begin:.3g} s to {'the end' if end >= to_the_end else f'{end:.3g} s'}"
        for begin, end in found.spells
    ]
    if len(spells) > _MOST_SPELLS:
        spells = [*spells[:_MOST_SPELLS], f"{len(spells) - _MOST_SPELLS} more times"]
    when = f"Within 25 % of equal shares {_listed(spells)}." if spells else _NEVER
    if found.spells and found.spells[-1][1] >= to_the_end:
        return when
    least, most = found.last
    if not least > 0:
        return f"{when} In the last five seconds a flow had nothing." if least == 0 else when
    return f"{when} In the last five seconds 1 : {most / least:.2g}."


def _listed(parts: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _progress(rows: pl.DataFrame) -> tuple[Values, Values]:
    return _column(rows, "time"), _column(rows, "delivered")


def _column(rows: pl.DataFrame, name: str) -> Values:
    """Returns a column as floats, with NaN for null and for "unlimited" (2^62 and more)."""
    values = rows[name].cast(pl.Float64).to_numpy()
    return np.where(values < 2.0**62, values, np.nan)
