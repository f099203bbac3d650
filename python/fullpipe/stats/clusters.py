"""Comparisons of values in clusters, such as the connections of one host: the bootstrap draws whole clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.stats.interval import CONFIDENCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

RESAMPLES = 400
"""Resamples for a standard error: more than the 200 of Efron and Tibshirani (1993, §6.4)."""
_POWER = 0.8


@dataclass(frozen=True)
class Clusters:
    """Cells: a *cell* is the part of a cluster that is in one arm; all counts are by cell.

    Attributes:
        arm: The arm of each cell, shape (cells,).
        cluster: The cluster of each cell, shape (cells,): equal numbers are one cluster, also in different arms.
        size: The number of values in each cell, shape (cells,).
    """

    arm: NDArray[np.int64]
    cluster: NDArray[np.int64]
    size: Values

    @property
    def nested(self) -> bool:
        """Whether each cluster is in one arm: then each resample has as many clusters per arm as the data."""
        return len(set(self.cluster[self.size > 0].tolist())) == int((self.size > 0).sum())

    def draws(self, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float32]:
        """Returns the number of times that each cell is in each resample, shape (resamples, cells).

        Clusters are drawn with replacement: arm by arm if each is in one arm, else all together, so
        that a cluster takes its cells in all arms with it, which makes differences of arms paired.
        """
        import numpy as np

        rng = np.random.default_rng(seed)
        found = np.zeros((resamples, len(self.arm)), dtype=np.float32)
        there = self.size > 0
        groups = (
            [there & (self.arm == arm) for arm in np.unique(self.arm)] if self.nested else [there]
        )
        for cells in groups:
            names, at = np.unique(self.cluster[cells], return_inverse=True)
            if not len(names):  # an arm without values
                continue
            times = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
            found[:, cells] = times[:, at]
        return found

    def number(self, arm: int) -> int:
        """Returns the number of clusters in an arm."""
        return int(((self.arm == arm) & (self.size > 0)).sum())

    def effective(self, arm: int) -> float:
        """Returns Kish's effective number, (Σ n)² / Σ n²: clusters of equal size with the same information."""
        size = self.size[self.arm == arm]
        return float(size.sum() ** 2 / (size**2).sum()) if size.any() else 0.0


class Spread(NamedTuple):
    """An estimate with its standard error and the degrees of freedom of that error."""

    value: float
    error: float
    freedom: float

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Returns the ends of Student's interval."""
        half = self.error * _quantile((1 + confidence) / 2, self.freedom)
        return self.value - half, self.value + half

    @property
    def p(self) -> float:
        """The p-value of the hypothesis that the true value is 0, two-sided."""
        if not math.isfinite(self.error):
            return math.nan
        if self.error == 0:
            return float(self.value == 0)
        from scipy.stats import t

        return float(2 * t.sf(abs(self.value) / self.error, self.freedom))

    @property
    def detectable(self) -> float:
        """The true value that four of five such experiments would find different from 0."""
        return self.error * (
            _quantile((1 + CONFIDENCE) / 2, self.freedom) + _quantile(_POWER, self.freedom)
        )


def difference(a: Values, b: Values, clusters: Clusters, arms: tuple[int, int]) -> Spread:
    """Returns A minus B.

    Args:
        a: The estimate of A from all data, then from each resample: shape (1 + resamples,).
        b: The estimate of B, in the same shape.
        clusters: The clusters that the resamples were drawn from.
        arms: The numbers of the arms A and B.
    """
    import numpy as np

    known = np.isfinite(a) & np.isfinite(b)
    known[0] = False
    # If an estimate has no value in a tenth of the resamples, the others are not reliable either.
    if known.sum() < 0.9 * (len(a) - 1) or not np.isfinite(a[0] - b[0]):
        return Spread(float(a[0] - b[0]), math.nan, math.nan)
    value, freedoms = float(a[0] - b[0]), [clusters.effective(arm) - 1 for arm in arms]
    numbers = [clusters.number(arm) for arm in arms]
    if min(numbers) < 2 or min(freedoms) <= 0:
        return Spread(value, math.nan, math.nan)
    # A resample's variance is that of n clusters around their own mean: too small by n / (n - 1).
    if not clusters.nested:
        return Spread(value, _deviation(a[known] - b[known], min(numbers)), min(freedoms))
    errors = [_deviation(each[known], number) for each, number in zip((a, b), numbers, strict=True)]
    error = math.hypot(*errors)
    # Welch's and Satterthwaite's degrees of freedom.
    shares = [
        (each / error) ** 4 / freedom if error else 0.0
        for each, freedom in zip(errors, freedoms, strict=True)
    ]
    return Spread(value, error, 1 / sum(shares) if sum(shares) else min(freedoms))


def alone(a: Values, clusters: Clusters, arm: int) -> Spread:
    """Returns the estimate of one arm, with its error from the resamples."""
    import numpy as np

    number, freedom = clusters.number(arm), clusters.effective(arm) - 1
    known = np.isfinite(a[1:])
    if known.sum() < 0.9 * (len(a) - 1) or number < 2 or freedom <= 0:
        return Spread(float(a[0]), math.nan, math.nan)
    return Spread(float(a[0]), _deviation(a[1:][known], number), freedom)


def sample_ratio(
    clusters: Clusters, draws: NDArray[np.float32], expected: Values
) -> tuple[float, float]:
    """Tests whether the arms have the expected shares: p of the chi-squared test, plain and for clusters.

    The plain test takes each connection as independent. The other divides the statistic by the design effect (Rao and
    Scott 1984, first order), from the same resamples as every interval.

    Args:
        clusters: The clusters, with the sizes to test.
        draws: The result of :meth:`Clusters.draws`.
        expected: The expected share of each arm, shape (arms,); they add up to 1.
    """
    import numpy as np
    from scipy.stats import chisquare, f

    arms = np.unique(clusters.arm)
    size = np.array([clusters.size[clusters.arm == arm].sum() for arm in arms])
    plain = chisquare(size, expected * size.sum())
    drawn = np.stack(
        [draws[:, clusters.arm == arm] @ clusters.size[clusters.arm == arm] for arm in arms], axis=1
    )
    shares = drawn / drawn.sum(axis=1, keepdims=True)
    numbers = [clusters.number(int(arm)) for arm in arms]
    freedom = sum(numbers) - len(arms) if clusters.nested else min(numbers) - 1
    if min(numbers) < 2 or freedom < 1:
        return float(plain.pvalue), math.nan
    least = min(numbers)
    variance = shares.var(axis=0) * least / (least - 1)
    times = variance / (expected * (1 - expected) / size.sum())
    effect = max(float(((1 - expected) * times).sum()) / (len(arms) - 1), 1.0)
    others = len(arms) - 1
    return float(plain.pvalue), float(
        f.sf(float(plain.statistic) / effect / others, others, freedom)
    )


def _deviation(values: Values, number: int) -> float:
    import numpy as np

    return float(np.std(values)) * math.sqrt(number / (number - 1))


@lru_cache(maxsize=4096)
def _quantile(share: float, freedom: float) -> float:
    if not freedom > 0:
        return math.nan
    from scipy.stats import t

    return float(t.ppf(share, freedom))
