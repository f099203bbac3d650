"""Runs over time, thinned out so that the page stays small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fullpipe.report.model import Line, Lines, Recorded, Section, Timeline
from fullpipe.report.thin import thinned
from fullpipe.report.values import shown
from fullpipe.stats import convergence, jain_over_time, quantity, rates_per_window
from fullpipe.stats.fairness import WINDOW_S

if TYPE_CHECKING:
    from fullpipe.report.kept import Kept, Series
    from fullpipe.report.model import Values

_MOST_RUNS = 60
_MOST_FLOWS = 7
_MOST_LINKS = 3
_BYTES = 3_000_000
_BYTES_A_POINT = 11  # two 32-bit floats in base64
_MOST_POINTS = 2000
_LEAST_POINTS = 150
_BINS = 300


def section(kept: Kept) -> Section | None:
    """The traces that were kept; of many the first sixty."""
    if not kept.series:
        return None
    series = kept.series[:_MOST_RUNS]
    points = int(np.clip(_BYTES / _BYTES_A_POINT / (len(series) * _lines(kept)), _LEAST_POINTS, _MOST_POINTS))
    runs = [_recorded(each, points) for each in series]
    left = f" The first {len(series)} of {len(kept.series)} recorded runs." if len(kept.series) > len(series) else ""
    note = f"Thinned out to {points:,} points a line, by MinMaxLTTB, which keeps least and greatest values.{left}"
    return Section("Over time", [Timeline(runs)], note)


def _lines(kept: Kept) -> int:
    """How many lines a run has, about."""
    most = kept.rows["flow_index"].max()
    return 3 * min(_MOST_FLOWS, 1 + (most if isinstance(most, int) else 0)) + 2


def _recorded(series: Series, points: int) -> Recorded:
    trace = pl.read_parquet(series.flows)
    flows = trace["flow"].unique().sort().to_list()  # as in the scenario: an Enum
    shown_flows = flows[:_MOST_FLOWS]
    rows = {flow: trace.filter(pl.col("flow") == flow) for flow in shown_flows}
    end_s = float(np.max(_column(trace, "time"))) if len(trace) else 0.0
    links = pl.read_parquet(series.links) if series.links else None
    panels = [
        _panel("Delivery rate", "Mbit/s", [_rate(flow, those, end_s) for flow, those in rows.items()], points),
        _panel("Round-trip time", "ms", [_line(flow, those, "rtt", 1e3) for flow, those in rows.items()], points),
        _panel("Window", "kB", [_line(flow, those, "cwnd", 1e-3) for flow, those in rows.items()], points),
    ]
    if links is not None and len(links):
        queues = [(name, links.filter(pl.col("link") == name)) for name in links["link"].unique().sort()[:_MOST_LINKS]]
        lines = [_line(name, those, "queue_packets", 1) for name, those in queues]
        panels.append(_panel("Queue", "packets", lines, points))
    note = f" (the first {_MOST_FLOWS} of {len(flows)} flows)" if len(flows) > _MOST_FLOWS else ""
    if len(flows) >= 2:
        panels.append(_fairness([trace.filter(pl.col("flow") == flow) for flow in flows], end_s))
    command = series.point.command.rsplit(" --seed ", 1)[0] + f" --seed {series.seed}"
    return Recorded(f"{series.point.label}, seed {series.seed}{note}", command, panels)


def _panel(title: str, unit: str, lines: list[Line], points: int) -> Lines:
    return Lines(title, "time, s", unit, [_thin(line, points) for line in lines])


def _thin(line: Line, points: int) -> Line:
    x, y = thinned(line.x, line.y, points)
    return Line(line.label, x, y)


def _line(flow: str, rows: pl.DataFrame, column: str, scale: float) -> Line:
    return Line(flow, _column(rows, "time"), _column(rows, column) * scale)


def _rate(flow: str, rows: pl.DataFrame, end_s: float) -> Line:
    """What was delivered, averaged over bins: 300 in the run, or two of its samples' distances."""
    time, delivered = _progress(rows)
    if len(time) < 2 or end_s <= time[0]:
        return Line(flow, time, np.zeros(len(time)))
    width = max(end_s / _BINS, 2 * float(np.median(np.diff(time))))
    ends, rates = rates_per_window([(time, delivered)], float(time[0]), end_s, width)
    return Line(flow, ends - width / 2, rates[0] * 1e-6)


def _fairness(flows: list[pl.DataFrame], end_s: float) -> Lines:
    """Jain's index of each second in which all flows were there."""
    progress = [_progress(rows) for rows in flows]
    start_s = max(float(time[0]) if len(time) else 0.0 for time, _ in progress)
    ends, rates = rates_per_window(progress, start_s, end_s)
    came = convergence(progress, end_s)
    jain = quantity("jain")
    assert jain is not None
    if came.time_s == came.time_s:
        note = f"Converged {came.time_s:g} s after the last start; mean index from then on {shown(jain, came.jain)}."
    else:
        note = "Never converged: five seconds within 25 % of equal shares did not come."
    return Lines(
        "Jain's index per second",
        "time, s",
        "",
        [Line("all flows", ends - WINDOW_S / 2, jain_over_time(rates))],
        note=note,
    )


def _progress(rows: pl.DataFrame) -> tuple[Values, Values]:
    return _column(rows, "time"), _column(rows, "delivered")


def _column(rows: pl.DataFrame, name: str) -> Values:
    """A column as floats, NaN for none and for "without limit" (2^62 and more)."""
    values = rows[name].cast(pl.Float64).to_numpy()
    return np.where(values < 2.0**62, values, np.nan)
