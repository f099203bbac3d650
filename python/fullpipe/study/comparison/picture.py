"""A picture of a comparison: goodput over delay of each algorithm, alone and together, and rates over time."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe.report import values
from fullpipe.report.panels import steady
from fullpipe.report.panels.time import measured_from
from fullpipe.report.svg import outline
from fullpipe.results import disk, read_parquet
from fullpipe.results.sweep import PARTS
from fullpipe.runs.view.axes import GREY
from fullpipe.runs.view.colors import Style, styles
from fullpipe.runs.view.figure import Picture
from fullpipe.runs.view.table import rate_unit
from fullpipe.stats import ellipse, mean
from fullpipe.stats.words import DRIFTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from fullpipe.report.values import Group
    from fullpipe.results.model import Results, Series
    from fullpipe.stats import Interval

_MARKERS = ("o", "s", "D", "^", "v", "x", "+")
_PARTS = 60


def draw(kept: Results, file: Path) -> None:
    """Writes the picture to a file.

    Raises:
        OSError: When a file can't be read or written.
    """
    with disk.replacing(file) as out:
        picture(kept).savefig(out, format="png")


def picture(kept: Results) -> Picture:
    """Draws the picture.

    Raises:
        OSError: When a recorded run can't be read.
    """
    groups = values.groups(kept)
    contenders = {group.named: group.algorithm for group in groups}
    verdicts = steady.verdicts(kept)
    looks = dict(zip(contenders, styles(list(contenders.values())), strict=True))
    markers = dict(zip(contenders, cycle(_MARKERS), strict=False))
    unit, scale = rate_unit(value for group in groups for value in group.of("goodput_bps"))
    figure = Picture(figsize=(9, 6), dpi=130, layout="constrained")
    panels = figure.subplot_mosaic([["alone", "together"], ["time", "time"]], height_ratios=(3, 2))
    # RTTs replace queueing delays if these are unknown, as on a loopback.
    delay, called = ("queue_delay_s.p95", "queueing delay")
    if not any(group.of(delay) for group in groups):
        delay, called = ("rtt_s.p95", "RTT")
    ends = {
        (place, metric): _ends(groups, place, metric)
        for place in PARTS
        for metric in (delay, "goodput_bps")
    }
    least, most = zip(*(ends[place, delay] for place in PARTS), strict=True)
    for place in PARTS:
        for group in groups:
            if group.settings["case"] == place:
                _cloud(panels[place], group, delay, looks[group.named], markers[group.named], scale)
        drifts = any(
            verdicts[group.point].verdict == "drifts"
            for group in groups
            if group.settings["case"] == place and group.point in verdicts
        )
        panels[place].set(
            title=f"{place}: {DRIFTS}" if drifts else place,
            xlabel=f"p95 {called}, ms",
            ylabel=f"goodput, {unit}",
        )
        panels[place].set_ylim(*(1.05 * end / scale for end in ends[place, "goodput_bps"]))
        # The same scale in both panels, and less delay to the right, as in a report.
        panels[place].set_xlim(1.05e3 * max(most), 1.05e3 * min(least))
    _legend(figure, list(panels.values()))
    recorded = [
        series
        for series in kept.series
        if kept.points[series.point.number].settings["case"] == "together"
    ]
    if recorded:
        for series in (each for each in recorded if each.seed == recorded[0].seed):
            _rates(panels["time"], series, looks, scale)
        title = f"together over time, seed {recorded[0].seed}"
        if (begin := measured_from(recorded[0].point, kept)) > 0:
            panels["time"].axvline(begin, color=GREY, linestyle="--", linewidth=0.9, zorder=1)
            title += f"; measured from {begin:.3g} s (dashed)"
        panels["time"].set(
            title=title,
            xlabel="time, s",
            ylabel=f"delivered, {unit}",
        )
    else:
        panels["time"].set_axis_off()
    for panel in panels.values():
        panel.grid(color="#dddddd", linewidth=0.5)
        panel.spines[["top", "right"]].set_visible(False)
        panel.title.set_fontsize(10)
    figure.suptitle(kept.title, fontsize=11, weight="bold")
    return figure


def _ends(groups: Sequence[Group], place: str, metric: str) -> tuple[float, float]:
    """Returns the ends of an axis from zero that has all values of a metric at a place, and all of their intervals."""
    found = [group.of(metric) for group in groups if group.settings["case"] == place]
    ends = [end for each in found if len(each) > 1 for end in (mean(each).low, mean(each).high)]
    values = [value for each in found for value in each]
    known = [0.0, *(each for each in (*values, *ends) if each == each)]
    return min(known), max(known) or 1e-3


def _legend(figure: Picture, panels: Sequence[Axes]) -> None:
    """Puts one legend of all contenders below the charts, where it hides no point."""
    named: dict[str, Any] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    look: Any = {"loc": "outside lower center", "ncols": 4, "frameon": False, "fontsize": 9}
    figure.legend(list(named.values()), list(named), **look)


def _cloud(panel: Axes, group: Group, delay: str, look: Style, marker: str, scale: float) -> None:
    delays = group.values.get(delay, {})
    rates = group.values["goodput_bps"]
    seeds = sorted(delays.keys() & rates.keys())
    if not seeds:
        return
    x, y = [delays[seed] * 1e3 for seed in seeds], [rates[seed] / scale for seed in seeds]
    color = look.color
    across, up = mean(x), mean(y)
    panel.errorbar(
        [across.value],
        [up.value],
        xerr=_half(across),
        yerr=_half(up),
        fmt=marker,
        color=color,
        markersize=5,
        capsize=2,
        elinewidth=1,
        label=group.named,
    )
    if len(seeds) >= 3 and (found := ellipse(x, y)):
        edge_x, edge_y = zip(*outline(found), strict=True)
        panel.fill(edge_x, edge_y, facecolor=color, alpha=0.15)


def _half(found: Interval) -> float | None:
    """Returns half of an interval, for a bar; None without one."""
    return None if found.low != found.low else (found.high - found.low) / 2


def _rates(panel: Axes, series: Series, looks: dict[str, Style], scale: float) -> None:
    """Draws each flow's rate, averaged over sixtieths of the run."""
    trace = read_parquet(series.files["flows"]).select("time", "flow", "delivered")
    end = trace["time"].max()
    width = (end if isinstance(end, float) else 0.0) / _PARTS or 1.0
    for (flow,), rows in trace.group_by("flow", maintain_order=True):
        parts = rows.group_by(
            (pl.col("time") / width).floor().alias("part"), maintain_order=True
        ).agg(pl.col("delivered").last())
        name = f"{flow}, {series.point.runner}" if series.point.runner else str(flow)
        look = looks.get(name) or styles([name])[0]
        parts = parts.filter((pl.col("part") + 1) * width <= end)  # the last part may be very short
        if parts.is_empty():  # a transfer shorter than a part, as over a loopback
            continue
        # A short transfer may have no row in a part.
        since = parts["part"].diff().fill_null(parts["part"][0] + 1) * width
        rate = parts["delivered"].diff().fill_null(parts["delivered"][0]) * 8 / since / scale
        panel.plot(
            (parts["part"] + 0.5) * width,
            rate,
            color=look.color,
            linestyle=look.line,
            linewidth=1.3,
        )
    panel.set_xlim(left=0)
    panel.set_ylim(bottom=0)
