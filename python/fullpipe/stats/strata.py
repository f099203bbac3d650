"""Means over strata, and their differences, with Welch's and Satterthwaite's degrees of freedom."""

from __future__ import annotations

import math
from statistics import fmean, variance
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.stats.interval import CONFIDENCE, Interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LEAST = 2


class Strata(NamedTuple):
    """The mean of a population with strata of known weights.

    Attributes:
        mean: The weighted mean of the strata's means.
        error: Its standard error; NaN if a stratum has fewer than two values.
        freedom: Satterthwaite's degrees of freedom of the error.
    """

    mean: float
    error: float
    freedom: float

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Returns the mean with Student's interval."""
        if math.isnan(self.error):
            return Interval(self.mean)
        if self.error == 0:
            return Interval(self.mean, self.mean, self.mean)
        from scipy.special import stdtrit

        half = float(stdtrit(self.freedom, (1 + confidence) / 2)) * self.error
        return Interval(self.mean, self.mean - half, self.mean + half)

    def below(self, other: Strata) -> float:
        """Returns the probability of a difference as large as this one, if this mean is not below the other (Welch)."""
        error = math.hypot(self.error, other.error)
        gap = other.mean - self.mean
        if math.isnan(error):
            return 1.0
        if error == 0:
            return 0.0 if gap > 0 else 1.0
        from scipy.special import stdtr

        parts = [(each.error**4 / each.freedom) for each in (self, other) if each.error > 0]
        return float(stdtr(error**4 / sum(parts), -gap / error))


def strata(values: Mapping[int, Sequence[float]], weights: Mapping[int, float]) -> Strata:
    """Returns the mean over strata.

    Args:
        values: The values of each stratum; a stratum without values is left out, with its weight.
        weights: The weight of each stratum.
    """
    there = {each: those for each, those in values.items() if those}
    total = sum(weights[each] for each in there)
    if not total:
        return Strata(math.nan, math.nan, math.nan)
    mean = sum(weights[each] / total * fmean(those) for each, those in there.items())
    if any(len(those) < _LEAST for those in there.values()):
        return Strata(mean, math.nan, math.nan)
    parts = [
        ((weights[each] / total) ** 2 * variance(those) / len(those), len(those) - 1)
        for each, those in there.items()
    ]
    squared = sum(part for part, _ in parts)
    spread = sum(part**2 / freedom for part, freedom in parts)
    return Strata(mean, math.sqrt(squared), squared**2 / spread if spread else math.inf)
