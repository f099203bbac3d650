"""Comparisons of two kinds of runs, seed by seed."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Literal, NamedTuple

from fullpipe.stats.interval import CONFIDENCE, Interval, bootstrap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

LEVEL = 1 - CONFIDENCE
"""The share of significant differences that may be expected to be due to chance."""
_RESAMPLES = 9999


class Comparison(NamedTuple):
    """The difference of A and B, over the seeds that both ran with."""

    pairs: int
    """The number of seeds."""
    a: float
    """The mean of A."""
    b: float
    """The mean of B."""
    difference: Interval
    """The mean of A minus the mean of B."""
    ratio: Interval
    """The mean of A divided by the mean of B; NaN when B's is zero, or any value is negative."""
    p: float
    """The p-value of the hypothesis that differences of either sign are equally likely; 1 if all pairs are equal."""


def paired(
    a: Mapping[int, float],
    b: Mapping[int, float],
    test: Literal["wilcoxon", "permutation"] = "wilcoxon",
) -> Comparison:
    """Compares two kinds of runs, with one number per seed. Seeds that only one of them has do not count.

    Args:
        a: The numbers of A by seed.
        b: The numbers of B by seed.
        test: Wilcoxon's signed-rank test, or the permutation test of the mean difference, which flips signs.

    Raises:
        ValueError: When no seed is in both.
    """
    seeds = sorted(a.keys() & b.keys())
    if not seeds:
        raise ValueError("no seed is in both: pairs need runs with the same seed")
    one, other = [a[seed] for seed in seeds], [b[seed] for seed in seeds]
    mean_a, mean_b = fmean(one), fmean(other)
    differences = [x - y for x, y in zip(one, other, strict=True)]
    difference = Interval(
        fmean(differences), *bootstrap(_mean_of, differences, method="BCa", vectorized=True)
    )
    return Comparison(
        len(seeds), mean_a, mean_b, difference, _ratio(one, other), _p(differences, test)
    )


def adjusted(p: Sequence[float]) -> list[float]:
    """Returns the p-values after Benjamini's and Hochberg's correction, in their order.

    Those of at most 0.05 are significant: at most 5 % of them are expected to be due to chance.
    """
    if not p:
        return []
    from scipy.stats import false_discovery_control

    return [float(each) for each in false_discovery_control(p, method="bh")]


def least_pairs() -> int:
    """Returns the least number of pairs for a significant result: Wilcoxon's least p with n pairs is 2 / 2^n."""
    return math.ceil(math.log2(2 / LEVEL))


def _ratio(one: Sequence[float], other: Sequence[float]) -> Interval:
    mean_b = fmean(other)
    value = fmean(one) / mean_b if mean_b else math.nan
    if not value >= 0 or any(each < 0 for each in (*one, *other)):
        return Interval(math.nan)
    return Interval(
        value, *bootstrap(_ratio_of, one, other, method="BCa", paired=True, vectorized=True)
    )


def _p(differences: Sequence[float], test: str) -> float:
    if not any(differences) or not all(map(math.isfinite, differences)):
        return 1.0
    if test == "wilcoxon":
        from scipy.stats import wilcoxon

        return float(wilcoxon(differences).pvalue)
    import numpy as np
    from scipy.stats import permutation_test

    found = permutation_test(
        (np.asarray(differences),),
        _mean_of,
        permutation_type="samples",
        vectorized=True,
        n_resamples=_RESAMPLES,
        rng=0,
    )
    return float(found.pvalue)


def _mean_of(values: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    import numpy as np

    return np.asarray(np.mean(values, axis=axis))


def _ratio_of(
    one: NDArray[np.float64], other: NDArray[np.float64], axis: int = -1
) -> NDArray[np.float64]:
    import numpy as np

    return np.asarray(np.mean(one, axis=axis) / np.mean(other, axis=axis))
