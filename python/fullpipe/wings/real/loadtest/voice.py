"""The quality of a call's voice: delay, jitter, loss, and the E-model of ITU-T G.107."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl

PACKET_S = 0.020
"""The voice in a packet, which its first sample waits for."""
_USUAL = 93.2
"""R with all other parameters at their defaults (G.107, table 3): Ro - Is."""
_ROBUSTNESS = 4.3
"""Bpl of G.711 without concealment of losses, whose Ie is 0 (G.113, appendix I)."""
_WORST = 95.0
_MUTE_S = 0.1
"""The delay from which on it is an impairment."""


class Voice(NamedTuple):
    """A stream of voice within a span: one-way delays and jitter in seconds, loss as a share, and its MOS."""

    delay: float
    p95: float
    jitter: float
    loss: float
    mos: float


def voice(packets: pl.DataFrame, begin_s: float, end_s: float) -> Voice | None:
    """Returns the quality of the packets of one stream that were sent in a span; None if none of them ended.

    Args:
        packets: The stream's rows of the trace's table `packets`.
        begin_s: The start of the span.
        end_s: Its end.
    """
    import numpy as np
    import polars as pl

    sent = packets.filter(
        pl.col("time").is_between(begin_s, end_s, closed="left")
        & (pl.col("fate").cast(pl.String) != "under way")
    ).sort("time")
    if sent.is_empty():
        return None
    there = sent.filter(pl.col("path").is_not_null())
    delays = there.select(
        pl.sum_horizontal(pl.col("access", "queue", "path").cast(pl.Float64)).alias("delay")
    )["delay"].to_numpy()
    if not len(delays):
        return Voice(math.nan, math.nan, math.nan, 1.0, 1.0)
    jitter = float(np.abs(np.diff(delays)).mean()) if len(delays) > 1 else 0.0
    mean, loss = float(delays.mean()), 1 - len(delays) / len(sent)
    p95 = float(np.quantile(delays, 0.95, method="inverted_cdf"))
    return Voice(mean, p95, jitter, loss, mos(mean + 2 * jitter + PACKET_S, loss))


def mos(delay_s: float, loss: float) -> float:
    """Returns the mean opinion score that the E-model estimates, from 1 to 4.5 (G.107 (2015), 7 and annex B).

    Args:
        delay_s: The time from mouth to ear.
        loss: The share of packets that are lost, at random. The model's other parameters have their defaults, and
            there is no echo.
    """
    late = 0.0
    if delay_s > _MUTE_S:
        x = math.log2(delay_s / _MUTE_S)
        late = 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
    lost = _WORST * 100 * loss / (100 * loss + _ROBUSTNESS)
    return score(_USUAL - late - lost)


def score(rating: float) -> float:
    """Returns the MOS of a rating R (G.107, equation B-4)."""
    if rating <= 0:
        return 1.0
    if rating >= 100:
        return 4.5
    return max(1.0, 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6)
