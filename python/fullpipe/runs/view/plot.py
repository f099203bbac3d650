"""A picture of a run over time: window, rate, states, RTT, queue."""

from __future__ import annotations

import tomllib
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from fullpipe.runs.view import states
from fullpipe.runs.view.axes import ABOVE, GREY, draw_line, dress, numbers
from fullpipe.runs.view.colors import COLORS, styles, width
from fullpipe.runs.view.figure import Picture
from fullpipe.runs.view.path import links_of_acks
from fullpipe.runs.view.plot_links import BINS, draw_equal_share, draw_link_rate, draw_queue
from fullpipe.stats.steady import of_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fullpipe.runs.data import RunData

    Values = NDArray[np.float64]

# Characters per line of the title.
_TITLE = 95
# The same of the notes below the picture.
_NOTE = 165


class _Size(NamedTuple):
    unit: str
    bytes: float


class _Panels(NamedTuple):
    window: Axes
    rate: Axes
    rtt: Axes
    queue: Axes | None
    """None for a run without links, as on a machine's own loopback."""
    active: Axes | None
    """None for a run without workloads."""

    def shown(self) -> list[Axes]:
        """Returns the panels that exist, from the top."""
        return [panel for panel in self if panel is not None]


def picture(run: RunData) -> Picture:
    """Draws a run: a line for each flow up to seven flows, else a median and a band for each algorithm.

    Raises:
        ValueError: When the run has no trace.
    """
    if not run.flow_metrics:
        return _workloads_alone(run)
    trace = _while_active(run)
    until = _until(run, trace)
    edges = _edges(run, until)
    rates = _rates(run, trace, edges)
    size = _Size("MB", 1e6) if _most(trace, "cwnd") >= 3e6 else _Size("kB", 1e3)
    few = len(run.flow_metrics) <= len(COLORS)
    stays = states.stays(run, until) if few else pl.DataFrame()
    figure, panels, band = _layout(0 if stays.is_empty() else stays["flow"].n_unique(), run)
    _dress(figure, panels, run, few, size.unit)
    if few:
        _draw_flows(panels, trace, run, edges, rates, size.bytes)
    else:
        _draw_algorithms(panels, trace, run, edges, rates, size.bytes)
    if panels.queue is not None:
        if few:
            draw_link_rate(panels.rate, run)
        else:
            draw_equal_share(panels.rate, run, edges, rates)
        draw_queue(panels.queue, run, until)
    if panels.active is not None:
        _draw_active(panels.active, run, until)
    if few and (bdp := _bdp(run)):
        times, values = [each[0] for each in bdp], [each[1] / size.bytes for each in bdp]
        look: Any = {"color": GREY, "linestyle": ":", "linewidth": 1, "zorder": 1}
        panels.window.stairs(values, [*times, run.metrics["duration_s"]], baseline=None, **look)
    _mark_times(panels.shown(), run, until)
    _explain(figure, run, until, few)
    if band is not None:
        states.draw(band, stays)
    _fit(panels.shown(), until)
    handles, labels = panels.rtt.get_legend_handles_labels()
    # To the right of the first panel's title, which is short, and so below the picture's title,
    # which may be long.
    panels.window.legend(handles, labels, **ABOVE, ncols=4)
    return figure


def _bdp(run: RunData) -> list[tuple[float, float]]:
    """Returns the times at which the BDP of the path changes, with its bytes from then on.

    Empty if keys of the path change, data cross several links, or the delay follows a trace.
    """
    scenario = run.scenario
    data = {link["name"] for link in run.link_metrics} - links_of_acks(scenario.to_toml())
    if len(data) != 1 or scenario.changes or not scenario.rtt_s or _is_traced(run):
        return []
    return [(time, rate * scenario.rtt_s / 8) for time, rate in scenario.rate_over_time(BINS)]


def _is_traced(run: RunData) -> bool:
    """Returns whether the propagation delay follows a trace: `path.rtt` is then not the path's."""
    path = tomllib.loads(run.scenario.to_toml())["path"]
    return any(path.get(key, "off") != "off" for key in ("delay_trace", "reverse_delay_trace"))


def _bdp_told(run: RunData) -> str:
    if _is_traced(run):
        return "; no BDP, since the delay follows a trace"
    return ", BDP of the path (dotted)" if _bdp(run) else ""


def _explain(figure: Picture, run: RunData, until: float, few: bool) -> None:
    """Says below the picture what bands and upright lines are."""
    parts = []
    if few:
        parts.append(
            "Lines are means of neighboring samples, in a shade from their least to their greatest value."
        )
    if run.scenario.changes:
        parts.append("Dotted upright lines: changes of the path.")
    if 0 < (begin := run.metrics["measure_from_s"]) < until:
        parts.append(f"Dashed upright line: numbers are measured from {begin:.4g} s on.")
    steadiness = of_run(run.metrics)
    if steadiness.verdict == "drifts":
        parts.append(f"N{steadiness.text[1:]}.")  # not steady
    if not parts:
        return
    text = "\n".join(fill(part, _NOTE) for part in parts)
    figure.supxlabel(text, x=0.01, ha="left", fontsize="small", color=GREY)


def _workloads_alone(run: RunData) -> Picture:
    """Draws a run of workloads alone: the number of active flows, and the queue."""
    until = run.metrics["duration_s"]
    figure = Picture(figsize=(10, 5.4), dpi=110, layout="constrained")
    active, queue = figure.subplots(2, 1, sharex=True)
    _title(figure, run)
    dress(queue, "queueing delay", "ms")
    _draw_active(active, run, until)
    draw_queue(queue, run, until)
    _mark_times([active, queue], run, until)
    _explain(figure, run, until, few=False)
    _fit([active, queue], until)
    queue.set_xlabel("time, s")
    return figure


def _draw_active(panel: Axes, run: RunData, until: float) -> None:
    dress(panel, "active flows", "flows")
    rows = run.trace("workloads").filter(pl.col("time") <= until)
    looks = styles([each["cc"] for each in run.workload_metrics])
    for workload, look in zip(run.workload_metrics, looks, strict=True):
        own = rows.filter(pl.col("workload") == workload["name"])
        label = f"{workload['name']} ({workload['cc']})"
        draw_line(panel, numbers(own, "time"), numbers(own, "active"), look.color, label)
    panel.legend(**ABOVE, ncols=4, fontsize="small")


def _fit(panels: list[Axes], until: float) -> None:
    for panel in panels:
        panel.set_ylim(0, panel.get_ylim()[1] * 1.08)
        panel.set_xlim(0, until)


def _layout(bands: int, run: RunData) -> tuple[Picture, _Panels, Axes | None]:
    """Makes the panels; below that of the rates one for the states of `bands` flows; at the end that of workloads."""
    queue, arriving = bool(run.link_metrics), bool(run.workload_metrics)
    heights = [1.0] * (3 + queue + arriving)
    if bands:
        heights.insert(2, 0.11 * bands)
    figure = Picture(figsize=(10, 2.38 * sum(heights)), dpi=110, layout="constrained")
    axes = list(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights))
    band = axes.pop(2) if bands else None
    if band is not None:
        band.set_title("state", loc="left", fontsize="medium")
        band.spines[:].set_visible(False)
        band.tick_params(axis="x", length=0)
    axes[-1].set_xlabel("time, s")
    further = iter(axes[3:])
    return (
        figure,
        _Panels(
            axes[0],
            axes[1],
            axes[2],
            next(further) if queue else None,
            next(further) if arriving else None,
        ),
        band,
    )


def _dress(figure: Picture, panels: _Panels, run: RunData, few: bool, size: str) -> None:
    _title(figure, run)
    whose = "" if few else ": median, and 10 % to 90 % of the flows"
    titles = {
        panels.window: (
            f"cwnd, inflight (thin and pale){_bdp_told(run)}" if few else f"cwnd{whose}",
            size,
        ),
        panels.rate: (f"delivery rate{whose}", "Mbit/s"),
        panels.rtt: (f"round-trip time{whose}", "ms"),
    }
    if panels.queue is not None:
        titles[panels.queue] = ("queueing delay", "ms")
    for panel, (title, unit) in titles.items():
        dress(panel, title, unit)


def _title(figure: Picture, run: RunData) -> None:
    title = fill(f"{run.scenario.title or run.scenario.file}, seed {run.seed}", _TITLE)
    figure.suptitle(title, x=0.01, ha="left", weight="bold")


def _draw_flows(
    panels: _Panels,
    trace: pl.DataFrame,
    run: RunData,
    edges: Values,
    rates: dict[str, Values],
    size: float,
) -> None:
    """Draws each flow in its color."""
    looks = styles([flow["cc"] for flow in run.flow_metrics])
    for number, (flow, look) in enumerate(zip(run.flow_metrics, looks, strict=True)):
        color = look.color
        wider = width(number, len(looks))
        rows = trace.filter(pl.col("flow") == flow["name"])
        if rows.is_empty():
            continue
        time = numbers(rows, "time")
        label = (
            flow["name"]
            if flow["name"].startswith(flow["cc"])
            else f"{flow['name']} ({flow['cc']})"
        )
        draw_line(panels.window, time, numbers(rows, "inflight") / size, color, pale=True)
        draw_line(
            panels.window, time, numbers(rows, "cwnd") / size, color, style=look.line, wider=wider
        )
        draw_line(
            panels.rtt, time, numbers(rows, "rtt") * 1e3, color, label, style=look.line, wider=wider
        )
        panels.rate.plot(
            (edges[:-1] + edges[1:]) / 2,
            rates[flow["name"]] / 1e6,
            color=color,
            linestyle=look.line,
            linewidth=1.2 * wider,
        )


def _draw_algorithms(
    panels: _Panels,
    trace: pl.DataFrame,
    run: RunData,
    edges: Values,
    rates: dict[str, Values],
    size: float,
) -> None:
    """Draws each algorithm in its color."""
    middles = (edges[:-1] + edges[1:]) / 2
    algorithms = sorted({flow["cc"] for flow in run.flow_metrics})
    for cc, look in zip(algorithms, styles(algorithms), strict=True):
        color = look.color
        flows = [flow["name"] for flow in run.flow_metrics if flow["cc"] == cc]
        rows = trace.filter(pl.col("flow").is_in(flows))
        _draw_band(
            panels.rtt, middles, _binned(rows, "rtt", edges) * 1e3, color, f"{len(flows)} × {cc}"
        )
        _draw_band(panels.window, middles, _binned(rows, "cwnd", edges) / size, color)
        _draw_band(panels.rate, middles, _quantiles([rates[flow] for flow in flows]) / 1e6, color)


def _draw_band(panel: Axes, time: Values, quantiles: Values, color: str, label: str = "_") -> None:
    low, middle, high = quantiles
    panel.fill_between(time, low, high, color=color, alpha=0.22, linewidth=0)
    panel.plot(time, middle, color=color, label=label, linewidth=1.2)


def _binned(rows: pl.DataFrame, column: str, edges: Values) -> Values:
    """Returns the 10 %, 50 % and 90 % quantiles of a column in each bin; shape (3, bins), NaN in empty bins."""
    quantiles = np.full((3, len(edges) - 1), np.nan)
    spots = (
        rows.select(
            bin=(pl.col("time") / (edges[1] - edges[0])).cast(pl.Int64),
            value=pl.col(column).cast(pl.Float64),
        )
        .filter(pl.col("value").is_not_null(), pl.col("bin") < len(edges) - 1)
        .group_by("bin")
        .agg(
            low=pl.col("value").quantile(0.1),
            middle=pl.col("value").median(),
            high=pl.col("value").quantile(0.9),
        )
    )
    quantiles[:, spots["bin"].to_numpy()] = spots.select("low", "middle", "high").to_numpy().T
    return quantiles


def _quantiles(values: list[Values]) -> Values:
    """Returns these quantiles of arrays of the shape (bins,), bin by bin and without NaN."""
    rows = np.stack(values)
    known = np.isfinite(rows).any(axis=0)
    quantiles = np.full((3, rows.shape[1]), np.nan)
    quantiles[:, known] = np.nanquantile(rows[:, known], [0.1, 0.5, 0.9], axis=0)
    return quantiles


def _mark_times(panels: list[Axes], run: RunData, until: float) -> None:
    """Draws a thin line at each change of the path, and one where measuring begins."""
    for panel in panels:
        for time, _ in run.scenario.changes:
            panel.axvline(time, color=GREY, linestyle=":", linewidth=0.9, zorder=1)
        if 0 < run.metrics["measure_from_s"] < until:
            begin = run.metrics["measure_from_s"]
            panel.axvline(begin, color=GREY, linestyle="--", linewidth=0.9, zorder=1)


def _while_active(run: RunData) -> pl.DataFrame:
    """Returns the flows' trace without the rows after the last byte of a transfer."""
    trace = run.trace()
    ended = [flow["name"] for flow in run.flow_metrics if flow["completion_s"] is not None]
    if not ended:
        return trace
    all_delivered = pl.col("delivered") == pl.col("delivered").max().over("flow")
    still = pl.col("time") <= pl.col("time").filter(all_delivered).min().over("flow")
    return trace.filter(still | ~pl.col("flow").is_in(ended))


def _until(run: RunData, trace: pl.DataFrame) -> float:
    """Returns the end of the picture: that of the run, or shortly after the end of its last flow."""
    duration_s = run.metrics["duration_s"]
    if trace.is_empty() or any(flow["completion_s"] is None for flow in run.flow_metrics):
        return duration_s
    return min(duration_s, float(numbers(trace, "time")[-1]) * 1.05)


def _edges(run: RunData, until: float) -> Values:
    """Returns the edges of the bins that rates are averaged over: each at least two round trips long."""
    round_trips = [flow["rtt_s"]["min"] or 0.0 for flow in run.flow_metrics]
    bins = int(min(BINS, max(until / max(2 * max(round_trips), 1e-6), 1)))
    return np.linspace(0, until, bins + 1)


def _rates(run: RunData, trace: pl.DataFrame, edges: Values) -> dict[str, Values]:
    """Returns each flow's delivery rate in each bin, in bit/s; NaN before the flow begins and after it ends."""
    last = (
        float(numbers(run.trace("links"), "time")[-1])
        if run.link_metrics
        else run.metrics["duration_s"]
    )
    ended = {flow["name"] for flow in run.flow_metrics if flow["completion_s"] is not None}
    rates = {flow["name"]: np.full(len(edges) - 1, np.nan) for flow in run.flow_metrics}
    groups = trace.select("flow", "time", "delivered").partition_by("flow", as_dict=True)
    for (name,), rows in groups.items():
        time = numbers(rows, "time")
        there = (edges[1:] >= time[0]) & (edges[:-1] <= (time[-1] if name in ended else last))
        delivered = np.diff(np.interp(edges, time, numbers(rows, "delivered")))
        rates[name][there] = (delivered * 8 / np.diff(edges))[there]
    return rates


def _most(rows: pl.DataFrame, name: str) -> float:
    values = numbers(rows, name)
    return float(np.nanmax(values)) if np.isfinite(values).any() else 0.0
