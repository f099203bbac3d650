"""Quantiles of so many values that only counts are kept: buckets of equal ratio, and those below them as zero."""

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
    """Where values go: 0 for what is less than `least`, then 100 buckets a decade; the last has all that is above.

    A bucket is 2.3 % wide. Within one, values count as spread evenly on a logarithmic scale, so that a quantile of many
    is off by much less; one of whole numbers, which do not lie like that, by up to 1.2 %.
    """

    least: float
    decades: int

    @property
    def number(self) -> int:
        """How many there are, with that for zero."""
        return self.decades * _A_DECADE + 1

    def of(self, values: Values) -> NDArray[np.int64]:
        """The bucket of each value; none may be NaN."""
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
        """The value below which a share of them lies.

        Args:
            counts: Of each bucket, shape (..., buckets); weights are counts, too. Both ends may be
                left out if empty.
            share: 0 to 1.
            first: How many were left out in front.

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
        """The cumulative distribution: at the edges, the share of values below each; both of shape (edges,)."""
        import numpy as np

        whole = np.cumsum(counts, dtype=np.float64)
        return self.edges, whole / whole[-1] if whole[-1] else np.full(len(whole), math.nan)


def rank_correlation(counts: Counts) -> Values:
    """Spearman's, of pairs of which only is known in which buckets they are; ties have their mean rank.

    Args:
        counts: Shape (..., x, y).

    Returns:
        Shape (...); NaN where all are in one row or column.
    """
    import numpy as np

    whole = np.asarray(counts, dtype=np.float64)
    total = whole.sum(axis=(-2, -1))
    x, y = whole.sum(axis=-1), whole.sum(axis=-2)
    # Ranks as shares less a half: their mean is 0.
    with np.errstate(invalid="ignore", divide="ignore"):
        rank_x = (np.cumsum(x, axis=-1) - x / 2) / total[..., None] - 0.5
        rank_y = (np.cumsum(y, axis=-1) - y / 2) / total[..., None] - 0.5
        together = np.einsum("...x,...xy,...y->...", rank_x, whole, rank_y)
        spread = np.einsum("...x,...x->...", x, rank_x**2) * np.einsum(
            "...y,...y->...", y, rank_y**2
        )
        return np.asarray(np.where(spread > 0, together / np.sqrt(spread), math.nan))
