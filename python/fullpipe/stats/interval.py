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
    """The median with the percentile bootstrap's interval.

    Not BCa: its acceleration comes from the jackknife, which is not consistent for a median.
    """
    return Interval(_of(values, middle), *bootstrap(_median, values, vectorized=True))


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
        statistic: Takes as many samples; with `vectorized` it reduces the axis that it is told as `axis`.
        *samples: The numbers of each kind of runs.
        method: As scipy calls it. Where BCa is not defined (the resamples are all alike) it is the percentile's.
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


def _median(values: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    import numpy as np

    return np.asarray(np.median(values, axis=axis))
