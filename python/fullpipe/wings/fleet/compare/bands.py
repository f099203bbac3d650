"""Features of a fleet's paths: common distances and access rates, and limits set by a window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fullpipe.stats.sketch import Buckets
    from fullpipe.wings.fleet.compare.hexagons import Hexagons

    Values = NDArray[np.float64]

KM_A_MS = 100.0
"""Distance in km per ms of RTT: light in fiber takes about 5 µs per km, thus 10 µs there and back.
An upper bound of the distance, since other delays add to the RTT."""
_SMOOTH = 2.5  # in buckets, each 2.3 % wide
_SURE = 5.0
_LEAST = 0.04
_FULL = 0.95
_LEAST_IN_COLUMN = 100


class Band(NamedTuple):
    """A range of values that many connections share: a peak of the distribution."""

    middle: float
    low: float
    """Ends of the range, at half the height of the peak above its surroundings."""
    high: float
    share: float
    """Share of all values that lie between the ends."""


class Envelope(NamedTuple):
    """Dependence of the largest bandwidths on the minimum RTT."""

    slope: float
    """Slope in logarithms: -1 where a window is the limit."""
    low: float
    high: float
    """Ends of the slope's 95 % interval (Sen's method)."""
    window_bytes: float
    """Bandwidth times RTT at the middle of the line."""


def bands(buckets: Buckets, counts: Values) -> list[Band]:
    """Finds the significant peaks of a distribution on a logarithmic axis.

    The counts are smoothed with a Gaussian of 6 % standard deviation. A peak must rise above its
    surroundings by five times the noise of counts of independent values, and by 4 % of the highest
    peak.
    """
    from scipy.ndimage import gaussian_filter1d
    from scipy.signal import find_peaks, peak_widths

    inner = np.asarray(counts[1:], dtype=np.float64)
    if not inner.any():
        return []
    smooth = gaussian_filter1d(inner, _SMOOTH, mode="constant")
    # The noise of a sum of Poisson variables with Gaussian weights: the squares of the weights add
    # up to 1 / (2 √π times the width).
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
    """Fits the line below which 95 % of the bandwidths lie, to the connections with larger RTTs.

    The half of the connections with the smaller RTTs is left out: the access rate limits them, not a
    window.
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
