"""Responsiveness under working conditions: round trips per minute, by draft-ietf-ippm-responsiveness-09."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Times = NDArray[np.float64]

DRAFT = "draft-ietf-ippm-responsiveness-09"
TRIMMED = 0.95
"""TMP, §5.2: the share of the shortest times that the trimmed mean takes."""
INTERVAL_S = 5.0
"""ID, §5.2: the interval after which stability is judged."""
DISTANCE = 4
"""MAD, §5.2: the number of intervals of a moving average, and of moving averages that are compared."""
TOLERANCE = 0.05
"""SDT, §5.2: the largest standard deviation of stable averages, as a share of the last."""
_MINUTE_S = 60.0
_WORDS = ((300.0, "poor"), (1000.0, "fair"), (6000.0, "good"))
"""The categories of §1.2, each with the RPM at which the next one begins."""


class Responsiveness(NamedTuple):
    """Round trips per minute: of connections of their own, of the load's connections, and their mean."""

    rpm: float
    foreign: float
    own: float


def trimmed(times: Times) -> float:
    """Returns the mean of the shortest 95 % of times; NaN without any."""
    import numpy as np

    if not len(times):
        return math.nan
    return float(np.sort(times)[: max(1, math.floor(TRIMMED * len(times)))].mean())


def responsiveness(requests: Times, load: Times) -> Responsiveness | None:
    """Returns the responsiveness for connections without TLS (§5.3.1.2); None if a kind of sample is missing.

    Args:
        requests: Times of requests on connections of their own, in seconds. They stand for the handshake, too: both are
            a round trip of small packets.
        load: Round-trip times of the connections with the load, in seconds, which §5.3 permits instead of requests.
    """
    foreign, own = trimmed(requests), trimmed(load)
    if math.isnan(foreign) or math.isnan(own):
        return None
    each = _MINUTE_S / foreign, _MINUTE_S / own
    return Responsiveness(sum(each) / 2, *each)


def category(rpm: float) -> str:
    """Returns the draft's word for a responsiveness: poor, fair, good or excellent."""
    return next((word for most, word in _WORDS if rpm < most), "excellent")


def is_stable(values: list[float]) -> bool | None:
    """Returns whether the last values differ by at most the tolerance; None if there are too few (§5.4)."""
    if len(values) < DISTANCE:
        return None
    from statistics import pstdev

    last = values[-DISTANCE:]
    return pstdev(last) < TOLERANCE * last[-1]


def moving(begin_s: float, end_s: float) -> list[tuple[float, float]]:
    """Returns the spans of moving averages that end in a window, each of four intervals; the last ends with it."""
    count = int((end_s - begin_s + 1e-9) // INTERVAL_S)
    ends = [end_s - INTERVAL_S * number for number in range(count + 1)][::-1]
    return [(ends[number - DISTANCE], ends[number]) for number in range(DISTANCE, len(ends))]


def confidence(stable: list[bool | None]) -> str:
    """Returns the draft's confidence in a result (§5.4.1), from the stability of goodput and responsiveness."""
    if None in stable:
        return "low"
    return "high" if all(stable) else "medium"
