"""Statistics of many runs, with their 95 % confidence intervals."""

from __future__ import annotations

import math
from statistics import fmean, stdev
from statistics import median as middle
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Values = Sequence[float] | NDArray[np.float64]

CONFIDENCE = 0.95
_RESAMPLES = 2000
_LEAST_FOR_MEAN = 3  # two values that happen to be equal would have no spread
_LEAST_FOR_MEDIAN = 6
_AT_ONCE = 100  # samples whose resamples fit into memory together


class Interval(NamedTuple):
    """A statistic with its 95 % confidence interval, in the unit of the values."""

    value: float
    low: float = math.nan
    """The lower end; NaN without an interval, as for a single run."""
    high: float = math.nan
    """The upper end."""


def mean(values: Values) -> Interval:
    """Returns the mean with Student's interval; without one for fewer than three values."""
    ends = student(values) if len(values) >= _LEAST_FOR_MEAN else (math.nan, math.nan)
    return Interval(_of(values, fmean), *ends)


def median(values: Values) -> Interval:
    """Returns the median with the percentile bootstrap's interval; without one for fewer than six values.

    BCa is no option: its acceleration comes from the jackknife, which is not consistent for a
    median. The median is between the least and the greatest of five values with a probability of
    only 94 %, so that five values have no 95 % interval.
    """
    return medians([values])[0]


def medians(samples: Sequence[Values]) -> list[Interval]:
    """Returns :func:`median` of many samples; those of equal size at once, which is faster with the same result."""
    import numpy as np

    ends = [(math.nan, math.nan)] * len(samples)
    usable = [
        number
        for number, values in enumerate(samples)
        if len(values) >= _LEAST_FOR_MEDIAN and _usable(values)
    ]
    for size in sorted({len(samples[number]) for number in usable}):
        those = [number for number in usable if len(samples[number]) == size]
        for start in range(0, len(those), _AT_ONCE):
            some = those[start : start + _AT_ONCE]
            rows = np.array([samples[number] for number in some], dtype=float)
            for number, low, high in zip(some, *_percentile(rows), strict=True):
                ends[number] = (float(low), float(high))
    return [
        Interval(_of(values, middle), *pair) for values, pair in zip(samples, ends, strict=True)
    ]


def _percentile(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the ends of each row's interval."""
    import numpy as np
    from scipy.stats import bootstrap as resampled  # the import takes a second

    found = resampled(
        (rows,),
        np.median,
        n_resamples=_RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        axis=-1,
        rng=0,
    ).confidence_interval
    return np.asarray(found.low), np.asarray(found.high)


def student(values: Values, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Returns the ends of Student's interval of the mean, valid for few runs if they are nearly normal."""
    if not _usable(values):
        return math.nan, math.nan
    if min(values) == max(values):
        return float(values[0]), float(values[0])
    from scipy.special import stdtrit

    middle = fmean(values)
    error = stdev(values, middle) / math.sqrt(len(values))
    half = float(stdtrit(len(values) - 1, (1 + confidence) / 2)) * error
    return middle - half, middle + half


def share(hits: int, of: int) -> Interval:
    """Returns the share of `hits` in `of` trials, with Clopper's and Pearson's exact interval."""
    from scipy.stats import binomtest

    interval = binomtest(hits, of).proportion_ci(CONFIDENCE)
    return Interval(hits / of, float(interval.low), float(interval.high))


def bootstrap(
    statistic: Callable[..., float] | Callable[..., NDArray[np.float64]],
    *samples: Values,
    method: Literal["percentile", "BCa"] = "percentile",
    paired: bool = False,
    vectorized: bool = False,
) -> tuple[float, float]:
    """Returns the ends of the bootstrap's interval, the same in each call for the same samples.

    Args:
        statistic: The function of the samples; with `vectorized` it reduces the axis `axis`.
        *samples: The numbers of each kind of runs.
        method: The method, by scipy's name. If BCa is not defined (all resamples are equal), the
            percentile method is used.
        paired: Whether the samples are drawn together, pair by pair.
        vectorized: Whether `statistic` takes an axis.

    Returns:
        The ends; NaN twice for a single run or values that are not finite.
    """
    if not all(map(_usable, samples)):
        return math.nan, math.nan
    import warnings

    import numpy as np
    from scipy.stats import DegenerateDataWarning  # the import takes a second
    from scipy.stats import bootstrap as resampled

    arrays: list[NDArray[np.float64]] = [np.asarray(values, dtype=float) for values in samples]
    if all((array == array[0]).all() for array in arrays):
        value = float(np.asarray(statistic(*arrays, axis=-1) if vectorized else statistic(*arrays)))
        return value, value
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", DegenerateDataWarning)  # handled below, as NaN
        for each in dict.fromkeys((method, "percentile")):
            found = resampled(
                arrays,
                statistic,
                n_resamples=_RESAMPLES,
                confidence_level=CONFIDENCE,
                method=each,
                paired=paired,
                vectorized=vectorized,
                rng=0,
            ).confidence_interval
            if math.isfinite(found.low) and math.isfinite(found.high):
                break
    return float(found.low), float(found.high)


def _usable(values: Values) -> bool:
    return len(values) > 1 and all(map(math.isfinite, values))


def _of(values: Values, statistic: Callable[[Values], float]) -> float:
    return float(statistic(values)) if len(values) else math.nan
