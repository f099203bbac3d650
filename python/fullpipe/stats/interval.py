"""One number that many runs come to, with its 95 % confidence interval."""

from __future__ import annotations

import math
from statistics import fmean
from statistics import median as middle
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Values = Sequence[float] | NDArray[np.float64]

CONFIDENCE = 0.95
_RESAMPLES = 2000
_LEAST_FOR_MEDIAN = 6
_AT_ONCE = 100  # rows, so that their resamples fit into memory


class Interval(NamedTuple):
    """A statistic with its 95 % confidence interval, in the unit of the values."""

    value: float
    low: float = math.nan
    """The lower end; NaN where there is no interval, as for a single run."""
    high: float = math.nan
    """The upper end."""


def mean(values: Values) -> Interval:
    """The mean with the BCa bootstrap's interval (Efron 1987)."""
    return Interval(_of(values, fmean), *bootstrap(_mean, values, method="BCa", vectorized=True))


def median(values: Values) -> Interval:
    """The median with the percentile bootstrap's interval; none of fewer than six values.

    Not BCa: its acceleration comes from the jackknife, which is not consistent for a median. Least
    and greatest of five values have the median between them with 94 %, so that no interval of
    theirs has 95 %.
    """
    return medians([values])[0]


def medians(samples: Sequence[Values]) -> list[Interval]:
    """The same of many samples, at once where they have the same size: much faster, and to the bit the same."""
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
    """The ends of each row's interval."""
    import numpy as np
    from scipy.stats import bootstrap as resampled  # it takes a second

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


def student(values: Values) -> tuple[float, float]:
    """The ends of Student's interval of the mean, right for few runs where these are nearly normal."""
    if not _usable(values):
        return math.nan, math.nan
    if min(values) == max(values):
        return float(values[0]), float(values[0])
    from scipy.stats import sem, t  # it takes a second

    low, high = t.interval(CONFIDENCE, len(values) - 1, loc=fmean(values), scale=sem(values))
    return float(low), float(high)


def share(hits: int, of: int) -> Interval:
    """A share of so many, with Clopper's and Pearson's exact interval."""
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
    """The ends of the bootstrap's interval, the same in each call for the same samples.

    Args:
        statistic: Takes as many samples; with `vectorized` it reduces the axis that it is told as
            `axis`.
        *samples: The numbers of each kind of runs.
        method: As scipy calls it. Where BCa is not defined (the resamples are all alike) it is the
            percentile's.
        paired: Whether the samples are drawn together, pair by pair.
        vectorized: Whether `statistic` takes an axis.

    Returns:
        NaN twice for a single run or values that are not finite.
    """
    if not all(map(_usable, samples)):
        return math.nan, math.nan
    import warnings

    import numpy as np
    from scipy.stats import DegenerateDataWarning  # it takes a second
    from scipy.stats import bootstrap as resampled

    arrays: list[NDArray[np.float64]] = [np.asarray(values, dtype=float) for values in samples]
    if all((array == array[0]).all() for array in arrays):
        value = float(np.asarray(statistic(*arrays, axis=-1) if vectorized else statistic(*arrays)))
        return value, value
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", DegenerateDataWarning)  # seen as NaN below
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


def _mean(values: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    import numpy as np

    return np.asarray(np.mean(values, axis=axis))
