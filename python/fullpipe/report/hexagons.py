"""Draws a density in hexagons: as SVG for a page, and with matplotlib for a paper."""

from __future__ import annotations

import itertools
import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.report.colors import heat

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fullpipe.report.model import Density, Values

_WIDTH, _HEIGHT, _LEFT, _BELOW, _ABOVE = 520, 340, 62, 46, 12
_LEVELS = 12
_CORNERS = (
    (0, -1 / 3),
    (1 / 2, -1 / 6),
    (1 / 2, 1 / 6),
    (0, 1 / 3),
    (-1 / 2, 1 / 6),
    (-1 / 2, -1 / 6),
)
"""Corners of a hexagon, in units of the distance between neighbors."""


def density(block: Density) -> str:
    """Returns the SVG, and a legend of its colors."""
    low_x, high_x, low_y, high_y = block.reach
    width, height = _WIDTH - _LEFT - 10, _HEIGHT - _BELOW - _ABOVE

    def at(x: float, y: float) -> tuple[float, float]:
        return _LEFT + (x - low_x) / (high_x - low_x) * width, _ABOVE + (high_y - y) / (
            high_y - low_y
        ) * height

    wide, tall = block.size[0] / (high_x - low_x) * width, block.size[1] / (high_y - low_y) * height
    parts = [f'<rect x="{_LEFT}" y="{_ABOVE}" width="{width}" height="{height}" class="frame"/>']
    steps = [
        (right - left, lower - upper)
        for (left, upper), (right, lower) in itertools.pairwise(_CORNERS)
    ]
    shape = "".join(f"l{x * wide:.1f} {y * tall:.1f}" for x, y in steps) + "z"
    levels = _levels(block.counts)
    for level in range(_LEVELS):
        those = zip(*(each[levels == level].tolist() for each in block.middles), strict=True)
        places = [at(x, y) for x, y in those if low_x <= x <= high_x and low_y <= y <= high_y]
        path = "".join(f"M{x:.1f} {y - tall / 3:.1f}{shape}" for x, y in places)
        if path:
            color = heat(level / (_LEVELS - 1))[0]
            parts.append(f'<path d="{path}" fill="{color}" stroke="{color}" stroke-width="0.4"/>')
    for value, text in _ticks(low_x, high_x):
        x, _ = at(value, low_y)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_ABOVE + height}" y2="{_ABOVE + height + 4}" class="tick"/>'
        )
        parts.append(
            f'<text x="{x:.1f}" y="{_ABOVE + height + 17}" text-anchor="middle">{text}</text>'
        )
    for value, text in _ticks(low_y, high_y):
        _, y = at(low_x, value)
        parts.append(
            f'<line x1="{_LEFT - 4}" x2="{_LEFT}" y1="{y:.1f}" y2="{y:.1f}" class="tick"/>'
        )
        parts.append(f'<text x="{_LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for value in block.upright:
        x, _ = at(value, low_y)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_ABOVE}" y2="{_ABOVE + height}" class="band"/>'
        )
    for value in block.across:
        _, y = at(low_x, value)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_LEFT + width}" y1="{y:.1f}" y2="{y:.1f}" class="band"/>'
        )
    parts.append(
        f'<text x="{_LEFT + width / 2}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(block.x)}</text>'
    )
    parts.append(
        f'<text transform="rotate(-90)" x="{-(_ABOVE + height / 2)}" y="14" text-anchor="middle">'
        f"{escape(block.y)}</text>"
    )
    return (
        f'<svg class="clouds" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(block.title)}">'
        f"{''.join(parts)}</svg>{_legend(block.counts)}"
    )


def paint(panel: Axes, block: Density) -> None:
    """Draws a density on an axis of matplotlib."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LogNorm

    corners = np.array(_CORNERS) * block.size
    x, y = block.middles
    places = 10.0 ** (np.stack([x, y], axis=1)[:, None, :] + corners[None])
    norm = LogNorm(1, max(float(block.counts.max(initial=1.0)), 2.0))
    cells = PolyCollection(
        list(places),
        array=block.counts,
        cmap="cividis",
        norm=norm,
        edgecolors="face",
        linewidths=0.2,
    )
    panel.add_collection(cells)
    low_x, high_x, low_y, high_y = block.reach
    panel.set(
        xscale="log", yscale="log", xlim=(10**low_x, 10**high_x), ylim=(10**low_y, 10**high_y)
    )
    for value in block.upright:
        panel.axvline(10**value, color="#D55E00", linewidth=0.7, linestyle=(0, (4, 3)))
    for value in block.across:
        panel.axhline(10**value, color="#D55E00", linewidth=0.7, linestyle=(0, (4, 3)))
    panel.set_title(block.title, loc="left")
    panel.set_xlabel(block.x)
    panel.set_ylabel(block.y)
    panel.grid(visible=False)
    assert panel.figure is not None
    panel.figure.colorbar(
        ScalarMappable(norm, "cividis"), ax=panel, label="connections per hexagon", fraction=0.05
    )


def _levels(counts: Values) -> NDArray[np.int64]:
    """Returns the color level of each hexagon, by the logarithm of its count."""
    most = math.log(max(float(counts.max(initial=1.0)), 2.0))
    return np.asarray(
        np.minimum(np.log(np.maximum(counts, 1)) / most * _LEVELS, _LEVELS - 1), dtype=np.int64
    )


def _legend(counts: Values) -> str:
    most = max(float(counts.max(initial=1.0)), 2.0)
    ends = [round(most ** (level / _LEVELS)) for level in range(_LEVELS + 1)]
    boxes = "".join(
        f'<i style="background:{heat(level / (_LEVELS - 1))[0]}"></i>' for level in range(_LEVELS)
    )
    return f'<p class="scale"><span>1</span>{boxes}<span>{ends[-1]:,} per hexagon</span></p>'


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Returns powers of ten, with 2 and 5 times these if there are few."""
    between = (1, 2, 5) if high - low < 2.5 else (1,)
    found = [
        math.log10(each) + power
        for power in range(math.floor(low), math.ceil(high) + 1)
        for each in between
    ]
    return [(value, _number(10**value)) for value in found if low - 1e-9 <= value <= high + 1e-9]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:.1g}"
