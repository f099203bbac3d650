"""Parts of every panel of a picture: its look, its lines, and columns as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

GREY = "#666666"
_POINTS = 800
# Place of a legend: above its panel, to the right of the title.
ABOVE: dict[str, Any] = {
    "loc": "lower right",
    "bbox_to_anchor": (1, 1),
    "borderaxespad": 0.2,
    "frameon": False,
}


def dress(panel: Axes, title: str, unit: str) -> None:
    """Gives a panel its title, unit and grid."""
    panel.set_title(title, loc="left", fontsize="medium")
    panel.set_ylabel(unit)
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def draw_line(
    panel: Axes,
    time: Values,
    values: Values,
    color: str,
    label: str = "",
    *,
    pale: bool = False,
    style: str | tuple[float, tuple[float, ...]] = "-",
    wider: float = 1.0,
) -> None:
    """Draws a line, `wider` than usual; of many points their means, in a band from the least to the greatest."""
    known = np.isfinite(values)
    time, values = time[known], values[known]
    size = len(values) // _POINTS
    if size >= 4:
        whole = len(values) // size * size  # without the incomplete last bucket
        buckets = values[:whole].reshape(-1, size)
        time, values = time[:whole].reshape(-1, size).mean(axis=1), buckets.mean(axis=1)
        if not pale:
            panel.fill_between(
                time,
                buckets.min(axis=1),
                buckets.max(axis=1),
                color=color,
                alpha=0.22,
                linewidth=0,
                zorder=1.5,
            )
    alpha, width = (0.4, 0.9) if pale else (1.0, 1.2 * wider)
    panel.plot(
        time,
        values,
        color=color,
        linestyle=style,
        label=label or "_",
        alpha=alpha,
        linewidth=width,
    )


def numbers(rows: pl.DataFrame, name: str) -> Values:
    """Returns a column as floats, with NaN for null and for "no limit" (2^62 and more)."""
    values = rows[name].cast(pl.Float64).to_numpy()
    return np.where(values < 2.0**62, values, np.nan)
