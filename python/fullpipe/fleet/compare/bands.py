"""What stands out in a fleet's paths: distances and access rates that many have, and where a window is the limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fullpipe.fleet.compare.hexagons import Hexagons
    from fullpipe.stats.sketch import Buckets

    Values = NDArray[np.float64]

KM_A_MS = 100.0
"""Light in fiber needs some 5 µs a kilometer, there and back 10: so far away is a host at most."""
_SMOOTH = 2.5  # buckets of 2.3 %
_SURE = 5.0
_LEAST = 0.04
_FULL = 0.95
_LEAST_IN_COLUMN = 100


class Band(NamedTuple):
    """Values that many have."""

    middle: float
    low: float
    """Where it ends, half-way down to what lies around it."""
    high: float
    share: float
    """Of all values, those between its ends."""


class Envelope(NamedTuple):
    """How the greatest bandwidths go with the minimum RTT."""

    slope: float
    """Of logarithms: -1 where a window is the limit."""
    low: float
    high: float
    """Its 95 % interval's ends (Sen's)."""
    window_bytes: float
    """Bandwidth times RTT on it, in the middle."""


def bands(buckets: Buckets, counts: Values) -> list[Band]:
    """The peaks of a distribution on a logarithmic axis that are no chance.

    The counts are smoothed over 6 % either way. A peak stands above what surrounds it by five times
    the noise that counts of independent values would have, and by 4 % of the highest.
    """
    from scipy.ndimage import gaussian_filter1d
    from scipy.signal import find_peaks, peak_widths

    inner = np.asarray(counts[1:], dtype=np.float64)
    if not inner.any():
        return []
    smooth = gaussian_filter1d(inner, _SMOOTH, mode="constant")
    # Of a sum of Poisson's weighted as a Gaussian: the weights' squares add up to 1 / (2 √π times
    # its width).
    noise = np.sqrt(smooth / (2 * math.sqrt(math.pi) * _SMOOTH))
    at, found = find_peaks(smooth, prominence=_LEAST * smooth.max())
    sure = found["prominences"] > _SURE * noise[at]
    ends = peak_widths(smooth, at, rel_height=0.5)[2:]
    edges = buckets.edges
    bands = []
    for peak, low, high in zip(at[sure], ends[0][sure], ends[1][sure], strict=True):
        share = inner[round(low) : round(high) + 1].sum() / inner.sum()
        middle, *outer = (
            float(np.interp(each + 0.5, np.arange(len(edges)), np.log(edges)))
            for each in (peak, low, high)
        )
        bands.append(Band(math.exp(middle), math.exp(outer[0]), math.exp(outer[1]), float(share)))
    return bands


def envelope(near: Hexagons) -> Envelope | None:
    """The line under which 95 % of the bandwidths lie, over the farther half of all connections.

    Nearer than that the access rate is the limit, not a window.
    """
    from scipy.stats import theilslopes

    x, y, counts = near.middles()
    if not len(x):
        return None
    order = np.argsort(x, kind="stable")
    half = x[order][np.searchsorted(np.cumsum(counts[order]), counts.sum() / 2)]
    places, tops = [], []
    for column in np.unique(x[x >= half]):
        there = x == column
        if counts[there].sum() >= _LEAST_IN_COLUMN:
            up = np.argsort(y[there])
            upto = np.cumsum(counts[there][up])
            places.append(column)
            tops.append(y[there][up][np.searchsorted(upto, _FULL * upto[-1])])
    if len(places) < 5:
        return None
    found = theilslopes(tops, places)
    middle = len(places) // 2
    window = 10 ** (places[middle] + tops[middle]) / 8
    return Envelope(float(found.slope), float(found.low_slope), float(found.high_slope), window)
