"""Fits distributions to the sizes of flows, and measures the goodness of fit.

The fit minimizes the distance between quantiles of the distribution and of the flows on a
logarithmic scale. Both the quantiles by flows and those by bytes count. Maximum likelihood is
unsuitable: the many small flows dominate it, while the few large flows carry most bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from fullpipe.wings.fleet.workload.describe import by_bytes, quantile
from fullpipe.wings.fleet.workload.laws import BoundedPareto, Law, Lognormal, Part

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

_L = TypeVar("_L", bound=Law)

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
"""Quantiles by flows that a fit uses."""
BYTE_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Quantiles by bytes that a fit uses."""
MOST_PARTS = 3
"""Maximum number of components of a lognormal mixture."""
_FEWEST = 100


class TooFewFlowsError(ValueError):
    """Too few flows for a fit."""


class Off(NamedTuple):
    """A quantile of the flows and of the fitted distribution, in bytes."""

    share: float
    flows: float
    law: float

    @property
    def ratio(self) -> float:
        """The fitted quantile divided by that of the flows."""
        return self.law / self.flows


@dataclass(frozen=True)
class Fit:
    """A fitted distribution and its goodness of fit.

    Attributes:
        law: The distribution with its parameters.
        distance: Maximum difference of the two distributions by flows (Kolmogorov–Smirnov), 0 to 1.
        byte_distance: Maximum difference of the two distributions by bytes.
        quantiles: Quantiles by flows.
        byte_quantiles: Quantiles by bytes.
        mean: Mean of the distribution divided by the mean of the flows.
    """

    law: Law
    distance: float
    byte_distance: float
    quantiles: tuple[Off, ...]
    byte_quantiles: tuple[Off, ...]
    mean: float

    @property
    def error(self) -> float:
        """The minimized error: the root mean square of the logarithms of all quantiles' ratios."""
        logs = [np.log(off.ratio) for off in self.quantiles + self.byte_quantiles]
        return float(np.sqrt(np.mean(np.square(logs))))


def fits(sizes: Values) -> list[Fit]:
    """Fits each kind of distribution to sizes of flows; returns the best fit first.

    Args:
        sizes: Size of each flow in bytes, in any order; at least one byte each.

    Raises:
        TooFewFlowsError: When there are fewer than a hundred flows, or all have the same size.
    """
    if len(sizes) < _FEWEST or sizes.min() == sizes.max():
        alike = (
            f", all of {sizes[0]:,.0f} bytes" if len(sizes) and sizes.min() == sizes.max() else ""
        )
        raise TooFewFlowsError(
            f"{len(sizes):,} flows{alike}: a fit needs at least {_FEWEST}, of different sizes"
        )
    flows = _Flows(np.sort(sizes))
    laws: list[Law] = [
        _pareto(flows),
        *(_lognormal(flows, parts) for parts in range(1, MOST_PARTS + 1)),
    ]
    return sorted((_good(law, flows) for law in laws), key=lambda fit: fit.error)


class _Flows:
    """Sorted sizes with their quantiles."""

    def __init__(self, sizes: Values) -> None:
        self.sizes = sizes
        self.bytes_so_far = np.cumsum(sizes) / sizes.sum()
        self.quantiles = np.array([quantile(sizes, share) for share in SHARES])
        self.byte_quantiles = np.array([by_bytes(sizes, share) for share in BYTE_SHARES])
        self.mean = float(sizes.mean())


def _pareto(flows: _Flows) -> BoundedPareto:
    def law(x: Values) -> BoundedPareto:
        least, wider = np.exp(x[1:])
        bottom, top = max(1, _rounded(least)), _rounded(least * (1 + wider))
        return BoundedPareto(max(0.01, round(float(np.exp(x[0])), 4)), bottom, max(bottom + 1, top))

    low, high = flows.quantiles[0], flows.sizes[-1]
    return _nearest(law, np.array([np.log(0.8), np.log(low), np.log(high / low)]), flows)


def _lognormal(flows: _Flows, count: int) -> Lognormal:
    most = _rounded(flows.sizes[-1])

    def law(x: Values) -> Lognormal:
        weights = np.exp(np.append(x[: count - 1], 0.0))
        shares = np.round(weights / weights.sum(), 4)
        shares[-1] = round(1 - shares[:-1].sum(), 4)
        medians = np.clip(np.exp(x[count - 1 : 2 * count - 1]), 1, most)
        sigmas = np.clip(np.exp(x[2 * count - 1 :]), 0.05, 15)
        each = zip(shares, medians, sigmas, strict=True)
        parts = (
            Part(float(share), max(1, _rounded(median)), round(float(sigma), 4))
            for share, median, sigma in each
        )
        return Lognormal(
            tuple(sorted((part for part in parts if part.share > 0), key=lambda part: part.median)),
            most,
        )

    medians = np.log(np.quantile(flows.sizes, (np.arange(count) + 0.5) / count))
    # The last component starts in the tail, since few flows carry most bytes.
    if count > 1:
        medians[-1] = np.log(flows.byte_quantiles[0])
    start = np.concatenate([np.full(count - 1, 1.0), medians, np.full(count, np.log(1.5))])
    return _nearest(law, start, flows)


def _rounded(size: float) -> int:
    """Rounds to four digits, since no fit is more precise."""
    return round(float(f"{size:.4g}"))


def _nearest(law: Callable[[Values], _L], start: Values, flows: _Flows) -> _L:
    from scipy.optimize import minimize

    def error(x: Values) -> float:
        logs = np.concatenate(_logs(law(np.clip(x, -30, 30)), flows))
        return float(np.mean(np.square(logs)))

    found = start
    # The simplex of Nelder and Mead may collapse early; restarting it where it stopped lets it continue.
    for _ in range(3):
        found = minimize(
            error,
            found,
            method="Nelder-Mead",
            options={"maxiter": 2000, "xatol": 1e-4, "fatol": 1e-9},
        ).x
    return law(np.clip(found, -30, 30))


def _logs(law: Law, flows: _Flows) -> tuple[Values, Values]:
    """Returns the logarithms of the quantiles' ratios, by flows and by bytes."""
    of_flows, of_bytes = _quantiles(law)
    return np.log(of_flows / flows.quantiles), np.log(of_bytes / flows.byte_quantiles)


def _quantiles(law: Law) -> tuple[Values, Values]:
    grid = np.geomspace(1, law.largest, 2000)
    logs = np.log(grid)
    return (
        np.exp(np.interp(SHARES, law.below(grid), logs)),
        np.exp(np.interp(BYTE_SHARES, law.bytes_below(grid), logs)),
    )


def _good(law: Law, flows: _Flows) -> Fit:
    of_flows, of_bytes = _quantiles(law)
    sizes, counts = np.unique(flows.sizes, return_counts=True)
    return Fit(
        law,
        _distance(np.cumsum(counts) / len(flows.sizes), law.below(sizes)),
        _distance(np.cumsum(sizes * counts) / flows.sizes.sum(), law.bytes_below(sizes)),
        tuple(
            Off(*each)
            for each in zip(SHARES, flows.quantiles.tolist(), of_flows.tolist(), strict=True)
        ),
        tuple(
            Off(*each)
            for each in zip(
                BYTE_SHARES, flows.byte_quantiles.tolist(), of_bytes.tolist(), strict=True
            )
        ),
        law.mean() / flows.mean,
    )


def _distance(steps: Values, law: Values) -> float:
    # The maximum lies on either side of a step of the empirical distribution.
    before = np.concatenate([[0.0], steps[:-1]])
    return float(max(np.abs(steps - law).max(), np.abs(before - law).max()))
