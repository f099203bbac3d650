"""Quantiles from counts in logarithmic buckets, for more values than can be kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Counts = NDArray[np.floating] | NDArray[np.integer]

_A_DECADE = 100


@dataclass(frozen=True)
class Buckets:
    """Buckets: number 0 for values below `least`, then 100 per decade; the last also has all greater values.

    A bucket is 2.3 % wide. Within one, values count as spread evenly on a logarithmic scale, so that a quantile of many
    values has a much smaller error; a quantile of whole numbers, which are not spread like that, has up to 1.2 %.
    """

    least: float
    decades: int

    @property
    def number(self) -> int:
        """The number of buckets, including that for zero."""
        return self.decades * _A_DECADE + 1

    def of(self, values: Values) -> NDArray[np.int64]:
        """Returns the bucket of each value; values must not be NaN."""
        import numpy as np

        with np.errstate(divide="ignore"):
            at = np.floor(np.log10(np.maximum(values, 0.0) / self.least) * _A_DECADE + 1e-9) + 1
        return np.asarray(np.clip(at, 0, self.number - 1), dtype=np.int64)

    @property
    def edges(self) -> Values:
        """The lower ends of the buckets after the first, and the upper end of the last."""
        import numpy as np

        return self.least * 10.0 ** (np.arange(self.number) / _A_DECADE)

    def quantile(self, counts: Counts, share: float, first: int = 0) -> Values:
        """Returns the value below which a share of the values lies.

        Args:
            counts: The count or weight of each bucket, shape (..., buckets). Empty buckets at both
                ends may be left out.
            share: 0 to 1.
            first: The number of buckets left out at the beginning.

        Returns:
            Shape (...); NaN where nothing was counted.
        """
        import numpy as np

        upto = np.cumsum(counts, axis=-1, dtype=np.float64)
        total = upto[..., -1:]
        wanted = share * total
        at = np.minimum((upto < wanted).sum(axis=-1, keepdims=True), counts.shape[-1] - 1)
        here = np.take_along_axis(upto, at, -1)
        before = np.where(at > 0, np.take_along_axis(upto, np.maximum(at - 1, 0), -1), 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            within = np.where(here > before, (wanted - before) / (here - before), 0.5)
        at = at + first
        value = np.where(at == 0, 0.0, self.least * 10.0 ** ((at - 1 + within) / _A_DECADE))
        return np.asarray(np.where(total > 0, value, math.nan))[..., 0]

    def upto(self, counts: Counts) -> tuple[Values, Values]:
        """Returns the cumulative distribution: the edges, and the share of values below each, of shape (edges,)."""
        import numpy as np

        whole = np.cumsum(counts, dtype=np.float64)
        return self.edges, whole / whole[-1] if whole[-1] else np.full(len(whole), math.nan)


def rank_correlation(counts: Counts) -> Values:
    """Returns Spearman's rank correlation of pairs that are counted in buckets; ties have their mean rank.

    Args:
        counts: The number of pairs in each bucket of x and y, shape (..., x, y).

    Returns:
        Shape (...); NaN where all pairs are in one row or column.
    """
    import numpy as np

    whole = np.asarray(counts, dtype=np.float64)
    total = whole.sum(axis=(-2, -1))
    x, y = whole.sum(axis=-1), whole.sum(axis=-2)
    # Ranks as shares minus a half, so that their mean is 0.
    with np.errstate(invalid="ignore", divide="ignore"):
        rank_x = (np.cumsum(x, axis=-1) - x / 2) / total[..., None] - 0.5
        rank_y = (np.cumsum(y, axis=-1) - y / 2) / total[..., None] - 0.5
        together = np.einsum("...x,...xy,...y->...", rank_x, whole, rank_y)
        spread = np.einsum("...x,...x->...", x, rank_x**2) * np.einsum(
            "...y,...y->...", y, rank_y**2
        )
        return np.asarray(np.where(spread > 0, together / np.sqrt(spread), math.nan))
