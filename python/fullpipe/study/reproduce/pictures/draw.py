"""Draws figures of groups of runs: queueing delay over time and its distribution, rates over time, sweeps."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from fullpipe.results import suited_interval
from fullpipe.study.repeated import Repeated
from fullpipe.study.reproduce.measures import MEASURES
from fullpipe.study.reproduce.pictures.connection import rate_rtt_state, rtt_histogram, sorted_runs
from fullpipe.study.reproduce.pictures.series import over_series
from fullpipe.study.reproduce.pictures.slowdown import slowdown
from fullpipe.study.reproduce.runner import Again

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fullpipe.run import Run
    from fullpipe.runners import Runner
    from fullpipe.study.reproduce.claims import Samples
    from fullpipe.study.reproduce.groups import Point
    from fullpipe.study.reproduce.pictures import Picture

    Values = NDArray[np.float64]

# Okabe and Ito's colors, as in fullpipe.runs.view.axes.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_GREY = "#666666"
_UP = "probe_bw_up"
_POINTS = 1200
_BINS = 120
_LABEL = 16
_CDF = np.linspace(0, 1, 401)


def draw(picture: Picture, samples: Samples, again: Again = Again()) -> Figure:  # noqa: B008  (immutable)
    """Draws a figure; repeats runs if it needs their traces.

    Args:
        picture: The figure.
        samples: The numbers of the runs, for a sweep.
        again: Their repetition.
    """
    figure = _DRAWINGS[picture.draw](picture, samples, again)
    figure.suptitle(picture.title, x=0.01, ha="left", weight="bold")
    return figure


def _queue_over_time(picture: Picture, _samples: Samples, again: Again) -> Figure:
    """Draws the bottleneck's queueing delay of seed 1 per point, with the first flow's ProbeBW_UP shaded."""
    runs = [_traced(point, again.runner) for point in picture.points]
    figure, panels = _panels(runs, 2.2, sharey=True)
    for panel, point, run in zip(panels, picture.points, runs, strict=True):
        time, delay = _queue(run)
        _line(panel, time, delay, _COLORS[0])
        for begin, end in _phases(run, _UP):
            panel.axvspan(begin, end, color="#E69F00", alpha=0.35, linewidth=0)
        panel.axhline(1, color=_GREY, linestyle="--", linewidth=0.9)
        _dress(panel, f"{_called(point, run)}, seed 1", "RTTmin")
        panel.set_xlim(0, run.metrics["duration_s"])
    panels[0].set_ylim(bottom=0)
    panels[-1].set_xlabel("time, s; shaded: the first flow's ProbeBW_UP")
    return figure


def _queue_cdf(picture: Picture, _samples: Samples, again: Again) -> Figure:
    """Draws distributions of the queueing delay over time: each run in a pale color, their mean in a dark one."""
    figure = Figure(figsize=(9, 4.6), dpi=110, layout="constrained")
    panel = figure.subplots()
    widths = iter(
        np.linspace(1.4 + min(len(picture.points), 3), 1.4, len(picture.points))
    )  # different widths keep coinciding lines visible
    jobs = [
        Repeated(point.setup, range(1, point.seeds + 1), _interval(point), _quantiles)
        for point in picture.points
    ]
    keys = [("picture", picture.file, point.name) for point in picture.points]
    made = again.all(jobs, keys)
    for point, color, runs in zip(picture.points, _COLORS * 9, made, strict=False):
        for quantiles in runs:
            panel.plot(quantiles, _CDF, color=color, alpha=0.15, linewidth=0.7)
        label = f"{point.name}, {len(runs)} run{'s' if len(runs) > 1 else ''}"
        panel.plot(np.mean(runs, axis=0), _CDF, color=color, linewidth=next(widths), label=label)
    panel.axvline(1, color=_GREY, linestyle="--", linewidth=0.9)
    _dress(
        panel,
        "share of time with less queueing delay (pale: each run; dark: their mean)",
        "share of time",
    )
    panel.set(xlabel="queueing delay, RTTmin", ylim=(0, 1))
    panel.set_xlim(left=0)
    panel.legend(loc="lower right", frameon=False)
    return figure


def _rates_over_time(picture: Picture, _samples: Samples, again: Again) -> Figure:
    """Draws the delivery rate of each flow with seed 1, a panel per point."""
    runs = [_traced(point, again.runner) for point in picture.points]
    figure, panels = _panels(runs, 2.4, sharey=False)
    for panel, point, run in zip(panels, picture.points, runs, strict=True):
        edges = np.linspace(0, run.metrics["duration_s"], _BINS + 1)
        rows = run.trace().partition_by("flow", as_dict=True)
        for flow, color in zip(run.flow_metrics, _COLORS * 9, strict=False):
            one = rows.get((flow["name"],))
            if one is None:
                continue
            delivered = np.interp(edges, one["time"].to_numpy(), one["delivered"].to_numpy())
            rate = np.diff(delivered) * 8 / np.diff(edges) / 1e6
            there = edges[1:] > float(one["time"][0])
            panel.plot(
                (edges[:-1] + edges[1:])[there] / 2, rate[there], color=color, label=flow["name"]
            )
        panel.axhline(
            run.scenario.rate_bps / 1e6 / len(run.flow_metrics),
            color=_GREY,
            linestyle="--",
            linewidth=0.9,
        )
        _dress(panel, f"{_called(point, run)}, seed 1; dashed: equal shares", "Mbit/s")
        panel.set(xlim=(0, run.metrics["duration_s"]))
        panel.set_ylim(bottom=0)
        if len(run.flow_metrics) <= len(_COLORS):
            panel.legend(
                loc="lower right",
                bbox_to_anchor=(1, 1),
                borderaxespad=0,
                frameon=False,
                ncols=len(run.flow_metrics),
            )
    panels[-1].set_xlabel("time, s")
    return figure


def _sweep(picture: Picture, samples: Samples, _again: Again) -> Figure:
    """Draws a line per group over its sweep: the mean over the runs, with bars from minimum to maximum."""
    figure = Figure(figsize=(9, 4.2), dpi=110, layout="constrained")
    panel = figure.subplots()
    labels = list(dict.fromkeys(point.label for point in picture.points))
    for number, (points, color) in enumerate(zip(picture.of, _COLORS * 9, strict=False)):
        runs = [
            [each.values[picture.measure, picture.flow] for each in samples[point]]
            for point in points
        ]
        places = np.array([labels.index(point.label) for point in points]) + 0.06 * (
            number - (len(picture.of) - 1) / 2
        )
        mean = np.array([np.mean(values) for values in runs])
        bars = [mean - [min(values) for values in runs], [max(values) for values in runs] - mean]
        panel.errorbar(
            places, mean, bars, color=color, marker="o", capsize=3, label=points[0].group
        )
    panel.set_xticks(range(len(labels)), [fill(label, _LABEL) for label in labels])
    said = (
        (MEASURES[picture.measure].__doc__ or "").partition("\n")[0].partition(". ")[0].rstrip(".")
    )
    _dress(panel, f"{said}\nmean, minimum and maximum of the runs", "")
    low, high = panel.get_ylim()
    panel.set_ylim(min(0, low), high * 1.08)
    panel.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1),
        borderaxespad=0,
        frameon=False,
        ncols=len(picture.of),
    )
    return figure


_DRAWINGS: dict[str, Callable[[Picture, Samples, Again], Figure]] = {
    "queue_over_time": _queue_over_time,
    "queue_cdf": _queue_cdf,
    "rates_over_time": _rates_over_time,
    "sweep": _sweep,
    "over_series": over_series,
    "sorted": sorted_runs,
    "rtt_histogram": rtt_histogram,
    "rate_rtt_state": rate_rtt_state,
    "slowdown": slowdown,
}


def _panels(runs: Sequence[Run], height: float, *, sharey: bool) -> tuple[Figure, list[Axes]]:
    """Returns a panel per run, below each other, with a shared time axis if all runs have the same length."""
    figure = Figure(figsize=(10, 0.8 + height * len(runs)), dpi=110, layout="constrained")
    sharex = len({run.metrics["duration_s"] for run in runs}) == 1
    return figure, list(
        figure.subplots(len(runs), 1, sharex=sharex, sharey=sharey, squeeze=False)[:, 0]
    )


def _dress(panel: Axes, title: str, unit: str) -> None:
    panel.set_title(title, loc="left", fontsize="medium")
    panel.set_ylabel(unit)
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _interval(point: Point) -> str:
    """Returns the sampling interval of a point's trace."""
    return (
        point.setup.trace
        if point.setup.trace != "off"
        else suited_interval(point.setup.scenario(1))
    )


def _traced(point: Point, runner: Runner) -> Run:
    return point.setup.run(1, _interval(point), runner)


def _called(point: Point, run: Run) -> str:
    ccs = dict.fromkeys(flow["cc"] for flow in run.flow_metrics)
    return (
        f"{point.name}: {len(run.flow_metrics)} × {', '.join(ccs)}"
        if len(run.flow_metrics) > 1
        else f"{point.name}: {next(iter(ccs))}"
    )


def _queue(run: Run) -> tuple[Values, Values]:
    """Returns times in s, and the bottleneck's queueing delay in RTTmin."""
    links = run.trace("links")
    rows = links.filter(pl.col("link") == links["link"][0])
    return rows["time"].to_numpy(), rows["sojourn"].cast(pl.Float64).to_numpy() / run.scenario.rtt_s


def _quantiles(run: Run) -> Values:
    time, delay = _queue(run)
    return np.quantile(delay[time >= run.metrics["measure_from_s"]], _CDF)


def _phases(run: Run, state: str) -> list[tuple[float, float]]:
    """Returns the begin and end of each of the first flow's stays in a state, in s."""
    rows = run.trace("transitions").filter(pl.col("flow") == run.flow_metrics[0]["name"])
    times = [*rows["time"].to_list(), run.metrics["duration_s"]]
    return [
        (begin, end)
        for begin, end, to in zip(times, times[1:], rows["to"].cast(pl.String), strict=False)
        if to == state
    ]


def _line(panel: Axes, time: Values, values: Values, color: str) -> None:
    """Draws a line, or with too many points the band from their minimum to their maximum."""
    size = len(values) // _POINTS
    if size < 2:
        panel.plot(time, values, color=color, linewidth=1)
        return
    whole = len(values) // size * size
    buckets = values[:whole].reshape(-1, size)
    middle = time[:whole].reshape(-1, size).mean(axis=1)
    panel.fill_between(middle, buckets.min(axis=1), buckets.max(axis=1), color=color, linewidth=0.8)
