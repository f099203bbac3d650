"""Figures of connections: sorted goodputs, RTT histograms, and rate, RTT, limits and state over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fullpipe import _core
from fullpipe.results import suited_interval
from fullpipe.runs.view.states import colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fullpipe.run import Run
    from fullpipe.runners import Runner
    from fullpipe.study.reproduce.claims import Samples
    from fullpipe.study.reproduce.groups import Point
    from fullpipe.study.reproduce.pictures import Picture
    from fullpipe.study.reproduce.runner import Again

_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_GREY = "#666666"
_HIGHEST_GBPS = 5.5  # a run with a higher rate gets a longer axis
_LONGEST_US = 1600
_RTT_TICKS = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)


class _Part(NamedTuple):
    """A part of a run: its begin, length and bins of throughput, and the unit of the time axis."""

    begin_s: float
    length_s: float
    bin_s: float
    scale: float
    unit: str


_NEAR_S = 0.05


def _last(run: Run) -> float:
    last = run.trace()["time"].max()
    assert isinstance(last, float)
    return last


def _whole(run: Run) -> _Part:
    """Returns the first two seconds, or the whole of a shorter run."""
    return _Part(0.0, min(2.0, _last(run)), 0.004, 1, "time, s")


def _near(run: Run) -> _Part:
    """Returns 50 ms from one second on, or from the middle of a shorter run."""
    last = _last(run)
    begin = 1.0 if last > 1.0 + _NEAR_S else round(last / 2, 1)
    return _Part(begin, _NEAR_S, 0.0005, 1e3, f"time from {begin:g} s on, ms")


def sorted_runs(picture: Picture, samples: Samples, _again: Again) -> Figure:
    """Draws a line per point with the measured values of all runs, sorted."""
    figure = Figure(figsize=(9, 4.2), dpi=110, layout="constrained")
    panel = figure.subplots()
    for point, color in zip(picture.points, _COLORS * 9, strict=False):
        values = sorted(each.values[picture.measure, picture.flow] for each in samples[point])
        label = f"{point.name}: mean {np.mean(values):,.0f}"
        panel.plot(
            range(1, len(values) + 1), values, color=color, marker="o", markersize=4, label=label
        )
    panel.set(xlabel="run, sorted", ylabel=picture.measure)
    panel.set_ylim(bottom=0)
    panel.legend(loc="lower right", frameon=False)
    _plain(panel)
    return figure


def rtt_histogram(picture: Picture, samples: Samples, again: Again) -> Figure:
    """Draws a histogram of the median run's RTTs on a logarithmic axis, with lines at quantiles."""
    figure = Figure(figsize=(9, 0.6 + 3.4 * len(picture.points)), dpi=110, layout="constrained")
    for panel, point in zip(
        figure.subplots(len(picture.points), 1, squeeze=False)[:, 0], picture.points, strict=True
    ):
        seed, run = _median_run(picture, point, samples, again.runner)
        rtts = run.trace()["rtt"].drop_nulls().cast(pl.Float64).to_numpy() * 1e6
        panel.hist(rtts, bins=np.geomspace(rtts.min(), rtts.max(), 80), color=_COLORS[0])
        for quantile, name, side in ((0.5, "median", "right"), (0.99, "99 %", "left")):
            at = float(np.quantile(rtts, quantile))
            panel.axvline(at, color=_GREY, linestyle="--", linewidth=0.9)
            where = (at, 0.94)
            panel.annotate(
                f" {name} {at:.0f} µs ",
                where,
                xycoords=("data", "axes fraction"),
                color=_GREY,
                ha=side,
            )
        panel.set_xscale("log")
        most = max(2500, 1.2 * float(np.quantile(rtts, 0.999)))
        ticks = [tick for tick in _RTT_TICKS if tick < most]
        panel.set_xticks(ticks, [str(tick) for tick in ticks])
        panel.minorticks_off()
        panel.set(xlabel="RTT, µs", ylabel="rows of the trace", xlim=(15, most))
        panel.margins(y=0.15)  # room for the quantiles above the bars
        span = f"{rtts.min():.0f} to {rtts.max():.0f} µs"
        panel.set_title(f"{point.name}, seed {seed}: {span}", loc="left", fontsize="medium")
        _plain(panel)
    return figure


def rate_rtt_state(picture: Picture, samples: Samples, again: Again) -> Figure:
    """Draws rates, RTT, limits and state of each point's median run: two seconds, and 50 ms of them."""
    figure = Figure(figsize=(13, 0.9 + 5.2 * len(picture.points)), dpi=110, layout="constrained")
    heights = {"height_ratios": [4, 3, 1.1, 0.7] * len(picture.points)}
    rows = figure.subplots(4 * len(picture.points), 2, squeeze=False, gridspec_kw=heights)
    seen: set[str] = set()
    for number, point in enumerate(picture.points):
        seed, run = _median_run(picture, point, samples, again.runner)
        left, right = rows[4 * number : 4 * number + 4].T
        seen |= _over_time(list(left), run, _whole(run))
        seen |= _over_time(list(right), run, _near(run))
        rate = run.flow_metrics[0]["goodput_bps"] / 1e9
        left[0].set_title(
            f"{point.name}, seed {seed}: {rate:.2f} Gbit/s", loc="left", fontsize="medium"
        )
        right[0].set_title(
            f"{point.name}: {_NEAR_S * 1e3:.0f} ms of this run", loc="left", fontsize="medium"
        )
    states, limits = _patches(_state_colors(), seen), _patches(_limit_colors(), seen)
    figure.legend(handles=states, loc="outside lower left", title="state", ncols=4, frameon=False)
    figure.legend(
        handles=limits, loc="outside lower right", title="limited by", ncols=4, frameon=False
    )
    return figure


def _state_colors() -> dict[str, str]:
    states = {
        label
        for each in _core.algorithms()
        for field in each["fields"]
        if field["name"] == "state"
        for label in field["labels"]
    }
    return colors(sorted(states))


def _limit_colors() -> dict[str, str]:
    return colors([each["name"] for each in _core.limits()])


def _patches(colors: dict[str, str], seen: set[str]) -> list[Patch]:
    return [
        Patch(color=color, label=name.replace("_", " "))
        for name, color in colors.items()
        if name in seen
    ]


def _over_time(panels: list[Axes], run: Run, part: _Part) -> set[str]:
    """Draws four panels; returns the states and limits that they show."""
    rows = run.trace().filter(pl.col("time").is_between(part.begin_s, part.begin_s + part.length_s))
    time = (rows["time"].to_numpy() - part.begin_s) * part.scale
    bins = np.arange(0, part.length_s * part.scale, part.bin_s * part.scale)
    bins = bins[bins <= time.max()]
    delivered = np.interp(bins, time, rows["delivered"].to_numpy())
    rate = np.diff(delivered) * 8 / part.bin_s / 1e9
    pacing = rows["pacing_rate"].to_numpy() / 1e9
    panels[0].plot(
        time, pacing, color="#E69F00", linewidth=0.9, drawstyle="steps-post", label="pacing rate"
    )
    panels[0].plot(
        (bins[:-1] + bins[1:]) / 2, rate, color="#00513b", linewidth=1, label="delivered"
    )
    panels[0].set_ylim(
        0, max(_HIGHEST_GBPS, 1.2 * float(np.quantile(np.append(pacing, rate), 0.99)))
    )
    panels[0].set_ylabel("Gbit/s")
    panels[0].legend(loc="upper right", frameon=False, ncols=2)
    panels[1].plot(time, rows["rtt"].to_numpy() * 1e6, ".", color=_GREY, markersize=1.5)
    panels[1].set_ylabel("RTT, µs")
    panels[1].set_ylim(0, _LONGEST_US)
    limits = _limits_over_time(panels[2], rows, bins, time)
    states = [column for column in rows.columns if column.endswith(".state")]
    names = rows[states[0]].cast(pl.String).to_numpy() if states else np.full(len(rows), "")
    changes = np.append(0, np.flatnonzero(names[1:] != names[:-1]) + 1)
    lengths = np.diff(time[changes], append=time[-1])
    for name, color in _state_colors().items():
        there = names[changes] == name
        panels[3].broken_barh(
            list(zip(time[changes][there], lengths[there], strict=True)), (0, 1), color=color, lw=0
        )
    panels[3].set_ylim(0, 1)
    panels[3].set_yticks([])
    panels[3].set_ylabel("state")
    panels[3].set_xlabel(part.unit)
    for panel in panels:
        panel.set_xlim(0, part.length_s * part.scale)
        _plain(panel)
    for panel in panels[:3]:
        panel.tick_params(labelbottom=False)
    panels[3].grid(visible=False)
    return set(names) | limits


def _limits_over_time(
    panel: Axes, rows: pl.DataFrame, bins: NDArray[np.float64], time: NDArray[np.float64]
) -> set[str]:
    """Draws the share of time for which each limit held the sender, by bin; returns the limits seen."""
    words = rows["limited_by"].cast(pl.String).to_numpy()
    lasted = np.diff(time, prepend=time[0])
    so_far = {name: np.cumsum(np.where(words == name, lasted, 0.0)) for name in _limit_colors()}
    held = {name: np.diff(np.interp(bins, time, each)) for name, each in so_far.items()}
    total = np.maximum(sum(held.values()), np.finfo(float).tiny)
    shares = [np.append(each / total, 0.0) for each in held.values()]
    panel.stackplot(bins, shares, colors=list(_limit_colors().values()), step="post", linewidth=0)
    panel.set_ylim(0, 1)
    panel.set_yticks([0, 1])
    panel.set_ylabel("limited\nby")
    return {name for name, each in held.items() if each.sum() > 0}


def _median_run(
    picture: Picture, point: Point, samples: Samples, runner: Runner
) -> tuple[int, Run]:
    """Repeats the run with the median goodput of the first flow, with a trace; returns its seed and the run.

    With an even number of runs it is the upper median. A point without a trace uses the interval of the
    figure's first point that has one.
    """
    goodputs = [each.metrics["flows"][0]["goodput_bps"] for each in samples[point]]
    seed = goodputs.index(sorted(goodputs)[len(goodputs) // 2]) + 1
    traces = (each.setup.trace for each in (point, *picture.points))
    every = next((trace for trace in traces if trace != "off"), None) or suited_interval(
        point.setup.scenario(seed)
    )
    return seed, point.setup.run(seed, every, runner)


def _plain(panel: Axes) -> None:
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
