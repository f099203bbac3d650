"""Counts of pairs of quantities in hexagons of a logarithmic plane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

WIDTH = 1 / 14
"""Width of a hexagon on the first axis, in decades."""
HEIGHT = 1 / 10
"""Distance between hexagons in a column on the second axis, in decades."""
_SPAN = 1 << 20


@dataclass
class Hexagons:
    """Counts in hexagons, keyed by their centers, which lie on two interleaved lattices."""

    counts: dict[int, int] = field(default_factory=dict)

    def add(self, x: Values, y: Values) -> None:
        """Counts pairs of values, all greater than zero."""
        across, up = np.log10(x) / WIDTH, np.log10(y) / HEIGHT
        # The nearest point of either lattice (Carr et al., JASA 82, 1987).
        even_x, even_y = np.rint(across), np.rint(up)
        odd_x, odd_y = np.floor(across) + 0.5, np.floor(up) + 0.5
        even = (across - even_x) ** 2 + 3 * (up - even_y) ** 2
        odd = (across - odd_x) ** 2 + 3 * (up - odd_y) ** 2
        column = np.where(even <= odd, even_x, odd_x) * 2
        row = np.where(even <= odd, even_y, odd_y) * 2
        keys = (column.astype(np.int64) + _SPAN // 2) * _SPAN + row.astype(np.int64) + _SPAN // 2
        for key, number in zip(
            *(each.tolist() for each in np.unique(keys, return_counts=True)), strict=True
        ):
            self.counts[key] = self.counts.get(key, 0) + number

    def middles(self) -> tuple[Values, Values, Values]:
        """Returns the hexagons' centers (x and y, as logarithms) and counts."""
        keys = np.array(sorted(self.counts), dtype=np.int64)
        x = (keys // _SPAN - _SPAN // 2) / 2 * WIDTH
        y = (keys % _SPAN - _SPAN // 2) / 2 * HEIGHT
        return x, y, np.array([self.counts[key] for key in keys.tolist()], dtype=np.float64)
