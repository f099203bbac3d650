"""A figure of flows: sizes, arrivals, load, pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from fullpipe.report.colors import COLORS
from fullpipe.results import disk, fresh_file
from fullpipe.runs.view.table import rate_unit
from fullpipe.wings.fleet.workload.describe import decades
from fullpipe.wings.fleet.workload.show import size, time, whole

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fullpipe.wings.fleet.workload.describe import Described, Values

_POINTS = 2000


def save(described: Described, file: Path) -> None:
    """Draws the figure into a new file, written atomically.

    Raises:
        FileExistsError: When `file` exists.
        OSError: When the file can't be written.
    """
    with fresh_file(file, called=f"--plot {file}") as aside, disk.NewFile(aside) as out:
        _drawn(described).savefig(out, format=file.suffix.removeprefix(".") or "png")


def _drawn(described: Described) -> Figure:
    figure = Figure(figsize=(10, 9), dpi=110, layout="constrained")
    panels = figure.subplots(3, 2)
    figure.suptitle(
        f"{described.name}: {described.flows.height:,} flows", x=0.01, ha="left", weight="bold"
    )
    _sizes(panels[0, 0], described)
    _decades(panels[0, 1], described)
    _over_time(panels[1, 0], described, described.starts, "flow arrivals", "per second")
    unit, scale = rate_unit([float(described.load.max())])
    _over_time(panels[1, 1], described, described.load / scale, "load", unit)
    _gaps(panels[2, 0], described)
    _pauses(panels[2, 1], described)
    for panel in panels.flat:
        panel.grid(color="#dddddd", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def _sizes(panel: Axes, described: Described) -> None:
    sizes = described.sizes
    shares = np.arange(1, len(sizes) + 1) / len(sizes)
    summed = np.cumsum(sizes) / sizes.sum()
    for name, heights, color in (
        ("of flows", shares, COLORS[0]),
        ("of bytes", summed, COLORS[1]),
    ):
        at = _downsampled(heights)
        panel.step(
            sizes[at], heights[at] * 100, where="post", color=color, linewidth=1.5, label=name
        )
    _title(panel, "share in flows up to this size", "flow size", "%")
    _log(panel)
    panel.set_ylim(0, 101)
    panel.legend(frameon=False, loc="upper left")


def _decades(panel: Axes, described: Described) -> None:
    rows = decades(described.sizes)
    places = np.arange(len(rows))
    flows, volume = described.flows.height, float(described.sizes.sum())
    panel.bar(
        places - 0.2,
        [100 * row[2] / flows for row in rows],
        0.4,
        color=COLORS[0],
        label="of flows",
    )
    panel.bar(
        places + 0.2,
        [100 * row[3] / volume for row in rows],
        0.4,
        color=COLORS[1],
        label="of bytes",
    )
    panel.set_xticks(
        places,
        [whole(size(row[0])) for row in rows],
        fontsize=8,
        rotation=30 if len(rows) > 6 else 0,
    )
    _title(panel, "share by size", "flow size, from this to ten times this", "%")
    panel.legend(frameon=False)


def _over_time(panel: Axes, described: Described, values: Values, title: str, unit: str) -> None:
    panel.stairs(values, described.edges, color=COLORS[0], linewidth=1)
    mean = float(values.mean())
    panel.axhline(mean, color="#666666", linestyle="--", linewidth=1)
    _title(panel, f"{title} (dashed: mean)", "time, s", unit)
    panel.set_xlim(0, described.edges[-1])
    panel.set_ylim(0, max(float(values.max()) * 1.08, 1e-9))


def _gaps(panel: Axes, described: Described) -> None:
    gaps = np.sort(described.gaps[described.gaps > 0])
    _title(panel, "share of interarrival times that are longer", "time", "")
    if not len(gaps):
        _nothing(panel, "fewer than two arrival times")
        return
    left = 1 - np.arange(len(gaps)) / len(gaps)
    at = _downsampled(left)
    panel.plot(gaps[at], left[at], color=COLORS[0], linewidth=1.5, label="data")
    panel.plot(
        gaps[at],
        np.exp(-gaps[at] / gaps.mean()),
        color="#666666",
        linestyle="--",
        linewidth=1,
        label="Poisson",
    )
    _log(panel, of_time=True)
    panel.set_yscale("log")
    panel.set_ylim(max(0.3 / len(gaps), 1e-7), 1.5)
    panel.legend(frameon=False, loc="lower left")


def _pauses(panel: Axes, described: Described) -> None:
    pauses = np.sort(described.pauses)
    _title(panel, "share of pauses within flows that are longer", "time", "%")
    if not len(pauses):
        _nothing(panel, "no flow pauses")
        return
    left = 100 * (1 - np.arange(len(pauses)) / len(pauses))
    at = _downsampled(left)
    panel.plot(pauses[at], left[at], color=COLORS[0], linewidth=1.5)
    _log(panel, of_time=True)
    panel.set_ylim(0, 101)


def _title(panel: Axes, title: str, x: str, y: str) -> None:
    panel.set_title(title, loc="left", fontsize="medium")
    panel.set(xlabel=x, ylabel=y)


def _log(panel: Axes, of_time: bool = False) -> None:
    words = time if of_time else size
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(numticks=7))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: whole(words(value))))
    panel.tick_params(axis="x", labelsize=8)


def _nothing(panel: Axes, why: str) -> None:
    panel.text(0.5, 0.5, why, transform=panel.transAxes, ha="center", color="#666666")
    panel.set(xticks=[], yticks=[], xlabel="", ylabel="")


def _downsampled(heights: Values) -> NDArray[np.int64]:
    """Returns indices of points to draw, evenly spaced in height and in index, so that no step is lost."""
    if len(heights) <= _POINTS:
        return np.arange(len(heights), dtype=np.int64)
    rising = heights if heights[-1] > heights[0] else -heights
    wanted = np.linspace(rising[0], rising[-1], _POINTS)
    even = np.linspace(0, len(heights) - 1, _POINTS).astype(np.int64)
    return np.unique(
        np.concatenate([np.searchsorted(rising, wanted).clip(0, len(heights) - 1), even])
    )
