"""Distributions of values: the cumulative distribution, and the covariance ellipse of two quantities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.stats.interval import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


class Cdf(NamedTuple):
    """An empirical cumulative distribution; all arrays have the shape (distinct values,)."""

    values: NDArray[np.float64]
    """The distinct values, in ascending order."""
    shares: NDArray[np.float64]
    """The share of values up to each, 0 to 1."""
    low: NDArray[np.float64]
    """The lower edge of the 95 % band: the whole true distribution is in the band with that confidence."""
    high: NDArray[np.float64]
    """The upper edge of the band."""


class Ellipse(NamedTuple):
    """The ellipse of one standard deviation around the mean of two quantities."""

    x: float
    """The mean of the first quantity."""
    y: float
    """The mean of the second quantity."""
    major: float
    """Half the length of the longer axis."""
    minor: float
    """Half the length of the shorter axis."""
    angle: float
    """The angle from the first quantity's axis to the longer axis, in radians, -π/2 to π/2."""


def cdf(values: Sequence[float] | NDArray[np.float64]) -> Cdf:
    """Returns the empirical distribution with Kolmogorov's band, exact for the number of values.

    The Dvoretzky-Kiefer-Wolfowitz inequality is an upper bound of its width.

    Raises:
        ValueError: When there is no value.
    """
    if len(values) == 0:
        raise ValueError("a distribution needs at least one value")
    import numpy as np
    from scipy.stats import ecdf, kstwo

    found = ecdf(np.asarray(values, dtype=float)).cdf
    shares = np.asarray(found.probabilities, dtype=float)
    half = float(kstwo.ppf(CONFIDENCE, len(values)))
    return Cdf(
        np.asarray(found.quantiles, dtype=float),
        shares,
        np.clip(shares - half, 0, 1),
        np.clip(shares + half, 0, 1),
    )


def ellipse(x: Sequence[float], y: Sequence[float]) -> Ellipse | None:
    """Returns the ellipse of the sample covariance, as congestion-control papers draw throughput against delay.

    Returns:
        The ellipse; None for fewer than three points.
    """
    if len(x) < 3:
        return None
    import numpy as np

    lengths, axes = np.linalg.eigh(np.cov(x, y))
    minor, major = np.sqrt(np.maximum(lengths, 0.0))
    angle = math.atan2(axes[1, 1], axes[0, 1])
    if abs(angle) > math.pi / 2:  # an axis is the same after half a turn
        angle -= math.copysign(math.pi, angle)
    return Ellipse(float(np.mean(x)), float(np.mean(y)), float(major), float(minor), angle)
