"""Draws slowdowns by flow size, with those of SRPT and processor sharing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from fullpipe.base.metrics import DecadeMetrics
    from fullpipe.study.reproduce.claims import Samples
    from fullpipe.study.reproduce.groups import Point
    from fullpipe.study.reproduce.pictures import Picture
    from fullpipe.study.reproduce.runner import Again, Sample

_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_SERVERS = (("srpt", "SRPT", "-", "#000000"), ("ps", "processor sharing", "--", "#777777"))
_STATISTICS = (("p50", "median"), ("mean", "mean"), ("p99", "99th percentile"))
_FEWEST = 10


def slowdown(picture: Picture, samples: Samples, _again: Again) -> Figure:
    """Draws slowdown by decade, geometric mean of the runs: a row per label, panel per statistic, line per group."""
    labels = list(dict.fromkeys(point.label for point in picture.points))
    figure = Figure(figsize=(13, 0.9 + 3.1 * len(labels)), dpi=110, layout="constrained")
    rows = figure.subplots(len(labels), len(_STATISTICS), squeeze=False, sharex=True, sharey="col")
    for row, label in zip(rows, labels, strict=True):
        points = [point for point in picture.points if point.label == label]
        for panel, (statistic, called) in zip(row, _STATISTICS, strict=True):
            _panel(panel, points, samples, statistic)
            panel.set_title(f"{label}: {called}", loc="left", fontsize="medium")
        row[0].set_ylabel("slowdown")
    for panel in rows[-1]:
        panel.set_xlabel("flow size by decade, bytes")
    rows[0][0].legend(loc="upper left", frameon=False, fontsize="small")
    return figure


def _panel(panel: Axes, points: Sequence[Point], samples: Samples, statistic: str) -> None:
    for point, color in zip(points, _COLORS * 9, strict=False):
        _line(
            panel,
            samples[point],
            "flows",
            statistic,
            label=point.group,
            color=color,
            marker="o",
            markersize=4,
        )
    for server, called, style, color in _SERVERS:
        # All algorithms get the same arrivals; only the sets of completed flows differ.
        _line(
            panel,
            samples[points[0]],
            server,
            statistic,
            label=called,
            color=color,
            linestyle=style,
            linewidth=1.2,
        )
    panel.set_xscale("log")
    panel.set_yscale("log")
    ticks = [1, 2, 3, 5, 10, 20, 50, 100]
    panel.set_yticks(ticks, [str(tick) for tick in ticks])
    panel.minorticks_off()
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _line(panel: Axes, runs: Sequence[Sample], whose: str, statistic: str, **look: object) -> None:
    sizes, values = [], []
    found: dict[int, list[float]] = {}
    for run in runs:
        for decade in run.metrics.get("workloads", [])[0]["slowdown"]["decades"]:
            if (value := _value(decade, whose, statistic)) is not None:
                found.setdefault(decade["from_bytes"], []).append(value)
    for size in sorted(found):
        sizes.append(size * np.sqrt(10))
        values.append(float(np.exp(np.mean(np.log(found[size])))))
    panel.plot(sizes, values, **look)  # type: ignore[arg-type]


def _value(decade: DecadeMetrics, whose: str, statistic: str) -> float | None:
    known = {"flows": decade["flows"], "srpt": decade["srpt"], "ps": decade["ps"]}[whose]
    if known is None or known["count"] < _FEWEST:
        return None
    return {"p50": known["p50"], "mean": known["mean"], "p99": known["p99"]}[statistic]
