"""Compares a flow with simulated flows of an algorithm over the path that the flow shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fullpipe.behavior.observed import LacksError
from fullpipe.behavior.source import of_run
from fullpipe.identify import recipe
from fullpipe.identify.features import ABSENT, features
from fullpipe.run import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullpipe.behavior.observed import Observed, Values

SEEDS = 3
"""Simulated flows of each variant of an algorithm."""
_UNCERTAIN = (0.97, 1.0, 1.03)
"""Factors of the estimated rate and buffer, one for each seed: the estimates are not exact."""
_LONGEST_S = 30.0
_WINDOW_S = 0.5
_WINDOW_RTTS = 10
_HEADERS = 52
"""Bytes of the headers of a TCP segment with time stamps."""
_DEEP_BDP = 4.0
_MOST = 3.0
"""The largest distance in one feature, and that of a feature that one of two flows has not; in spreads."""


@dataclass(frozen=True)
class Path:
    """The path of a flow, estimated from it.

    Attributes:
        rate_bps: The link's rate, bit/s.
        rtt_s: The RTT without a queue, seconds.
        buffer: The buffer, bytes.
        loss: The share of packets that are lost without a full queue.
        duration_s: The length of the flow, seconds.
    """

    rate_bps: float
    rtt_s: float
    buffer: float
    loss: float
    duration_s: float


def path_of(trace: Observed) -> Path:
    """Estimates the path of a flow that had it to itself.

    Raises:
        LacksError: When the trace has no RTT or no delivered data.
    """
    _, rtts = trace.samples("rtt" if trace.has("rtt") else "srtt")
    base = float(np.quantile(rtts, 0.01))
    delivered = trace.column("delivered")
    known = np.isfinite(delivered)
    window = max(_WINDOW_S, _WINDOW_RTTS * base)
    edges = np.arange(float(trace.time[0]), trace.end, window / 4)
    bytes_at = np.interp(edges, trace.time[known], delivered[known])
    rate = 8 * float(np.quantile((bytes_at[4:] - bytes_at[:-4]) / window, 0.98))
    rate *= (trace.segment + _HEADERS) / trace.segment
    bdp = rate * base / 8
    most = float(np.quantile(rtts, 0.995)) - base
    queue = rate * most / 8
    early = [
        event
        for event in trace.losses
        if trace.before(trace.rtt, event.begin) - base < most / 2 and queue > bdp / 10
    ]
    full = len(trace.losses) > len(early)
    packets = max(float(np.nanmax(delivered)) / trace.segment, 1.0)
    return Path(
        rate_bps=rate,
        rtt_s=base,
        buffer=queue if full else max(2 * queue, _DEEP_BDP * bdp),
        loss=len(early) / packets,
        duration_s=min(trace.end - float(trace.time[0]), _LONGEST_S),
    )


def replicas(path: Path, algorithm: str) -> Iterator[Values]:
    """Yields the features of simulated flows of an algorithm over a path, shape (features,) each."""
    for params in recipe.ALGORITHMS.get(algorithm, [{}]):
        for seed, factor in enumerate(_UNCERTAIN, 1):
            try:
                yield features(
                    of_run(run(_scenario(path, algorithm, params, seed, factor), trace=recipe.STEP))
                )
            except LacksError:
                continue


def _scenario(
    path: Path, algorithm: str, params: dict[str, str], seed: int, factor: float
) -> dict[str, Any]:
    there: dict[str, object] = {
        "rate": f"{path.rate_bps * factor:.0f}bit",
        "rtt": f"{path.rtt_s * 1e6:.0f}us",
        "buffer": f"{max(path.buffer * factor, 3 * 1514):.0f}B",
    }
    if path.loss > 0:
        there["loss"] = f"{100 * path.loss:.5f}%"
    return {
        "duration": f"{path.duration_s:.2f}s",
        "seed": seed,
        "start_jitter": "20ms",
        "send_jitter": "100us",
        "flow": [{"cc": algorithm, "params": params}],
        "path": there,
    }


def distance(one: Values, other: Values, spread: Values) -> float:
    """Returns the mean distance of the features of two flows, in `spread`, shape (features,)."""
    absent = (one == ABSENT) != (other == ABSENT)
    apart = np.minimum(np.abs(one - other) / spread, _MOST)
    return float(np.where(absent, _MOST, apart).mean())
