"""Comparisons of two kinds of runs, seed by seed."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.stats.interval import CONFIDENCE, Interval, student

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEVEL = 1 - CONFIDENCE
"""The share of significant differences that may be expected to be due to chance."""
LEAST_PAIRS = 3
"""The least number of pairs for a comparison: two may agree by chance, above all if values are rounded."""
ADVISED = 10
"""The number of seeds that help, messages and documentation advise. Sentences on fewer are tested, with a note."""
_POWER = 0.8
_MOST_PAIRS = 10_000


def more_seeds() -> str:
    """Returns the advice for too few seeds."""
    return f"Fewer than {ADVISED} seeds can mislead: use --repeat {ADVISED} or more."


class Comparison(NamedTuple):
    """The difference of A and B, over the seeds that both ran with.

    An interval of the difference excludes 0, and one of the ratio 1, exactly if `p` is at most 0.05.
    """

    one: tuple[float, ...]
    """The numbers of A, in the order of the seeds."""
    other: tuple[float, ...]
    """The numbers of B."""
    a: float
    """The mean of A."""
    b: float
    """The mean of B."""
    difference: Interval
    """The mean of A minus the mean of B, with Student's interval."""
    ratio: Interval
    """The ratio of the means, with Fieller's interval; NaN when B's mean is zero, or any value is negative."""
    p: float
    """The p-value of the paired t-test; NaN if A and B are equal for every seed: nothing is tested."""

    @property
    def pairs(self) -> int:
        """The number of seeds."""
        return len(self.one)

    @property
    def significant(self) -> bool:
        """Whether A and B differ by more than chance explains."""
        return self.p <= LEVEL


def paired(a: Mapping[int, float], b: Mapping[int, float]) -> Comparison:
    """Compares two kinds of runs, with one number per seed. Seeds that only one of them has do not count.

    Raises:
        ValueError: When no seed is in both.
    """
    seeds = sorted(a.keys() & b.keys())
    if not seeds:
        raise ValueError("no seed is in both: pairs need runs with the same seed")
    one, other = tuple(a[seed] for seed in seeds), tuple(b[seed] for seed in seeds)
    return _compared(one, other, _p(one, other), CONFIDENCE)


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Returns the comparisons of one report, corrected for their number.

    The p-values are those of Benjamini and Hochberg (1995), and the intervals those of Benjamini and
    Yekutieli (2005), who widen them so that at most 5 % of the significant ones are expected to miss
    the truth. Comparisons of values that are equal for every seed do not count.
    """
    p = adjusted([each.p for each in comparisons])
    return [
        _compared(each.one, each.other, mine, level)
        for each, mine, level in zip(comparisons, p, levels(p), strict=True)
    ]


def levels(p: Sequence[float]) -> list[float]:
    """Returns the confidence levels of the intervals that go with p-values from :func:`adjusted`, in their order.

    They are those of Benjamini and Yekutieli (2005): an interval excludes no difference exactly if its p-value is at
    most 0.05.
    """
    tested = sum(each == each for each in p)
    significant = sum(each <= LEVEL for each in p)
    shares = [
        (significant if each <= LEVEL else min(significant + 1, tested)) / max(tested, 1)
        for each in p
    ]
    return [
        1 - LEVEL * share if each == each else CONFIDENCE
        for each, share in zip(p, shares, strict=True)
    ]


def adjusted(p: Sequence[float]) -> list[float]:
    """Returns the p-values after Benjamini's and Hochberg's correction, in their order; NaN stays and does not count.

    Those of at most 0.05 are significant: at most 5 % of them are expected to be due to chance.
    """
    tested = [each for each in p if each == each]
    if not tested:
        return list(p)
    from scipy.stats import false_discovery_control

    after = iter(false_discovery_control(tested, method="bh"))
    return [float(next(after)) if each == each else each for each in p]


def pairs_needed(comparison: Comparison, tests: int) -> int | None:
    """Returns the number of pairs that show a difference as large as this one, if it is real, four times in five.

    Args:
        comparison: The difference and its spread.
        tests: The number of tests that the correction counts.

    Returns:
        The number; None if there is no difference, or it needs more than 10,000 pairs.
    """
    from scipy.special import nctdtr, stdtrit

    differences = _differences(comparison.one, comparison.other)
    spread = _deviation(differences)
    if not (spread > 0 and comparison.difference.value):
        return None
    effect, level = abs(comparison.difference.value) / spread, LEVEL / tests

    def power(pairs: int) -> float:
        limit = float(stdtrit(pairs - 1, 1 - level / 2))
        return 1 - float(nctdtr(pairs - 1, effect * math.sqrt(pairs), limit))

    low, high = LEAST_PAIRS, _MOST_PAIRS
    if power(high) < _POWER:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= _POWER else (middle + 1, high)
    return low


def _compared(
    one: tuple[float, ...], other: tuple[float, ...], p: float, confidence: float
) -> Comparison:
    differences = _differences(one, other)
    return Comparison(
        one,
        other,
        fmean(one),
        fmean(other),
        Interval(fmean(differences), *student(differences, confidence)),
        _ratio(one, other, confidence),
        p,
    )


def _p(one: Sequence[float], other: Sequence[float]) -> float:
    """Returns the p-value of the paired t-test, two-sided."""
    differences = _differences(one, other)
    if not all(map(math.isfinite, differences)) or not any(differences) or len(differences) < 2:
        return math.nan
    error = _deviation(differences) / math.sqrt(len(differences))
    if error == 0:
        return 0.0
    from scipy.special import stdtr

    return 2 * float(stdtr(len(differences) - 1, -abs(fmean(differences)) / error))


def _ratio(one: Sequence[float], other: Sequence[float], confidence: float) -> Interval:
    """Returns the ratio of the means with the interval of Fieller (1954).

    A ratio r is inside if the t-test of A - r B against 0 does not reject it. The interval is missing
    if the mean of B is so uncertain that it has no end.
    """
    a, b, n = fmean(one), fmean(other), len(one)
    value = a / b if b else math.nan
    if not value >= 0 or any(each < 0 for each in (*one, *other)):
        return Interval(math.nan)
    if n < 2 or not all(map(math.isfinite, (*one, *other))):
        return Interval(value)
    from scipy.special import stdtrit

    factor = float(stdtrit(n - 1, (1 + confidence) / 2)) ** 2 / (n * (n - 1))
    spread_a = factor * sum((x - a) ** 2 for x in one)
    spread_b = factor * sum((y - b) ** 2 for y in other)
    common = factor * sum((x - a) * (y - b) for x, y in zip(one, other, strict=True))
    # The roots of square r² - 2 half r + rest.
    square, half, rest = b * b - spread_b, a * b - common, a * a - spread_a
    if square <= 0:
        return Interval(value)
    root = math.sqrt(max(half * half - square * rest, 0.0))
    return Interval(value, max((half - root) / square, 0.0), (half + root) / square)


def _differences(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [x - y for x, y in zip(one, other, strict=True)]


def _deviation(values: Sequence[float]) -> float:
    """Returns the standard deviation (n - 1); 0 if all values are equal, despite rounding."""
    if min(values) == max(values):
        return 0.0
    mean = fmean(values)
    return math.sqrt(sum((each - mean) ** 2 for each in values) / (len(values) - 1))
