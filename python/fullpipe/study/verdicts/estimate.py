"""Reduces the numbers of many runs to one number with its range and its interval, as a published file asks for."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.stats import bootstrap, share, student

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fullpipe.stats.interval import Values


class Estimate(NamedTuple):
    """A quantity over many runs, in the measure's unit."""

    value: float
    """The value that is compared with a reference."""
    least: float = math.nan
    """The least value of any run; NaN if `value` compares two kinds of runs."""
    most: float = math.nan
    """The greatest value of any run."""
    low: float = math.nan
    """The lower end of the 95 % confidence interval; NaN without one, as for a single run."""
    high: float = math.nan
    """The upper end of the interval."""


def mean(values: Values) -> float:
    """Returns the mean."""
    return fmean(values)


def truncated_mean(values: Values) -> float:
    """Returns the mean without its decimal places."""
    return float(math.trunc(fmean(values)))


def spread(values: Values) -> float:
    """Returns the greatest value divided by the least; infinite when the least is zero."""
    return max(values) / min(values) if min(values) else math.inf


def variation(values: Values) -> float:
    """Returns the coefficient of variation, the standard deviation divided by the mean; NaN for a single run."""
    from scipy.stats import variation

    return float(variation(values, ddof=1)) if len(values) > 1 else math.nan


def least(values: Values) -> float:
    """Returns the least value."""
    return float(min(values))


def most(values: Values) -> float:
    """Returns the greatest value."""
    return float(max(values))


OVER_RUNS: dict[str, Callable[[Values], float]] = {
    "mean": mean,
    "median": lambda values: float(median(values)),
    "truncated_mean": truncated_mean,
    "spread": spread,
    "variation": variation,
    "least": least,
    "most": most,
}
"""Functions that reduce runs with different seeds to one number."""

_EXTREMES = ("least", "most")


ANY = (-math.inf, math.inf)


def estimate(over: str, values: Sequence[float], bounds: tuple[float, float] = ANY) -> Estimate:
    """Reduces the runs of one kind to one number.

    A mean has Student's interval within the bounds of the values, an extreme has no interval,
    everything else has the bootstrap's.
    """
    value = OVER_RUNS[over](values)
    if over == "mean":
        low, high = student(values)
        low, high = max(low, bounds[0]), min(high, bounds[1])
    elif over in _EXTREMES:
        low, high = math.nan, math.nan
    else:
        low, high = bootstrap(OVER_RUNS[over], values)
    return Estimate(value, min(values), max(values), low, high)


def ratio(over: str, first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Returns the number of the first kind of runs divided by that of the second."""
    return _two(lambda one, other: one / other if other else math.nan, over, first, second)


def difference(over: str, first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Returns the number of the first kind of runs minus that of the second."""
    return _two(lambda one, other: one - other, over, first, second)


def paired_ratio(_over: str, first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Returns the mean of the first divided by that of the second, with the interval of pairs with the same seed."""
    value = fmean(first) / fmean(second) if fmean(second) else math.nan
    low, high = bootstrap(_ratio_of_means, first, second, method="BCa", paired=True)
    return Estimate(value, low=low, high=high)


def _ratio_of_means(first: Values, second: Values) -> float:
    return fmean(first) / fmean(second)


def wins(_over: str, first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Returns the share of seeds for which the first is greater, with Clopper's and Pearson's interval."""
    won = share(sum(one > other for one, other in zip(first, second, strict=True)), len(first))
    return Estimate(won.value, low=won.low, high=won.high)


def superiority(_over: str, first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Returns the share of pairs of runs in which the first is greater; ties count half; bootstrap interval."""

    def above(one: Values, other: Values) -> float:
        return fmean(float(a > b) + float(a == b) / 2 for a in one for b in other)

    low, high = bootstrap(above, first, second)
    return Estimate(above(first, second), low=low, high=high)


def mann_whitney(_over: str, first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Returns the p-value of Mann's and Whitney's test, two-sided: the probability of such ranks by chance."""
    from scipy.stats import mannwhitneyu

    return Estimate(float(mannwhitneyu(first, second, alternative="two-sided").pvalue))


COMPARE: dict[str, Callable[[str, Sequence[float], Sequence[float]], Estimate]] = {
    "ratio": ratio,
    "paired_ratio": paired_ratio,
    "difference": difference,
    "wins": wins,
    "superiority": superiority,
    "mann_whitney": mann_whitney,
}
"""Functions that compare two kinds of runs."""


def rise(over: str, points: Sequence[Sequence[float]]) -> Estimate:
    """Returns the least step from one point of a sweep to the next: negative if any step goes down."""
    values = [OVER_RUNS[over](values) for values in points]
    return Estimate(min(after - before for before, after in pairwise(values)))


def _two(
    compare: Callable[[float, float], float],
    over: str,
    first: Sequence[float],
    second: Sequence[float],
) -> Estimate:
    reduced = OVER_RUNS[over]

    def of_both(one: Values, other: Values) -> float:
        return compare(reduced(one), reduced(other))

    low, high = bootstrap(of_both, first, second)
    return Estimate(of_both(first, second), low=low, high=high)
