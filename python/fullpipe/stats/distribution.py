"""How values are spread: cumulative distribution, and the ellipse of two that go together."""

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
    """The distinct values, rising."""
    shares: NDArray[np.float64]
    """The share of values up to each, 0 to 1."""
    low: NDArray[np.float64]
    """The 95 % band's lower edge: the whole true distribution is in the band with that confidence."""
    high: NDArray[np.float64]
    """Its upper edge."""


class Ellipse(NamedTuple):
    """One standard deviation around the mean of two quantities."""

    x: float
    """The mean of the first."""
    y: float
    """The mean of the second."""
    major: float
    """Half the length of the longer axis."""
    minor: float
    """Half that of the shorter."""
    angle: float
    """From the first quantity's axis to the longer one, in radians, -π/2 to π/2."""


def cdf(values: Sequence[float] | NDArray[np.float64]) -> Cdf:
    """The empirical distribution with Kolmogorov's band, exact for the number of values.

    It is what the Dvoretzky-Kiefer-Wolfowitz inequality bounds from above.

    Raises:
        ValueError: When there is no value.
    """
    if len(values) == 0:
        raise ValueError("a distribution of no values")
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
    """The ellipse of the sample covariance, as congestion-control papers draw throughput against delay.

    Returns:
        None for fewer than three points, which have no area.
    """
    if len(x) < 3:
        return None
    import numpy as np

    lengths, axes = np.linalg.eigh(np.cov(x, y))
    minor, major = np.sqrt(np.maximum(lengths, 0.0))
    angle = math.atan2(axes[1, 1], axes[0, 1])
    if abs(angle) > math.pi / 2:  # an axis has no direction
        angle -= math.copysign(math.pi, angle)
    return Ellipse(float(np.mean(x)), float(np.mean(y)), float(major), float(minor), angle)
