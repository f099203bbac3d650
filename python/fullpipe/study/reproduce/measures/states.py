"""Measures of the states of a flow's algorithm over the whole run. They need a trace."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fullpipe.study.reproduce.measures.run_view import RunView


def up_interval_s(run: RunView, flow: int) -> float:
    """Mean time from one ProbeBW_UP of BBRv2 or BBRv3 to the next, in s. NaN with fewer than two."""
    times = _entries(run, flow, "probe_bw_up")
    return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else math.nan


def probe_rtt_first_s(run: RunView, flow: int) -> float:
    """Time at which the flow first entered ProbeRTT, in s. NaN if it never did."""
    return next(iter(_entries(run, flow, "probe_rtt")), math.nan)


def probe_rtt_last_s(run: RunView, flow: int) -> float:
    """Time at which the flow last entered ProbeRTT, in s. NaN if it never did."""
    return next(reversed(_entries(run, flow, "probe_rtt")), math.nan)


def probe_rtts(run: RunView, flow: int) -> float:
    """Number of times that the flow entered ProbeRTT."""
    return float(len(_entries(run, flow, "probe_rtt")))


def startup_end_ms(run: RunView, flow: int) -> float:
    """Time at which the flow first left Startup, in ms. NaN if it never did."""
    rows = _transitions(run, flow)
    return next((row["time"] * 1e3 for row in rows if row["from"] == "startup"), math.nan)


def drain_ms(run: RunView, flow: int) -> float:
    """Mean duration of the flow's stays in Drain, in ms. NaN without a stay."""
    return _mean_stay_ms(run, flow, "drain")


def refill_ms(run: RunView, flow: int) -> float:
    """Mean duration of the flow's stays in ProbeBW_REFILL, in ms. NaN without a stay."""
    return _mean_stay_ms(run, flow, "probe_bw_refill")


def longest_up_ms(run: RunView, flow: int) -> float:
    """Longest stay of the flow in ProbeBW_UP, in ms. NaN without a stay."""
    return max(_stays_ms(run, flow, "probe_bw_up"), default=math.nan)


def longest_down_ms(run: RunView, flow: int) -> float:
    """Longest stay of the flow in ProbeBW_DOWN, in ms. NaN without a stay."""
    return max(_stays_ms(run, flow, "probe_bw_down"), default=math.nan)


def cruise_ms(run: RunView, flow: int) -> float:
    """Mean duration of the flow's stays in ProbeBW_CRUISE, in ms. NaN without a stay."""
    return _mean_stay_ms(run, flow, "probe_bw_cruise")


def probe_rtt_ms(run: RunView, flow: int) -> float:
    """Mean duration of the flow's stays in ProbeRTT, in ms. NaN without a stay."""
    return _mean_stay_ms(run, flow, "probe_rtt")


def _mean_stay_ms(run: RunView, flow: int, state: str) -> float:
    stays = _stays_ms(run, flow, state)
    return fmean(stays) if stays else math.nan


def _stays_ms(run: RunView, flow: int, state: str) -> list[float]:
    """Returns the durations of completed stays in a state, in ms."""
    rows = _transitions(run, flow)
    return [
        (after["time"] - row["time"]) * 1e3 for row, after in pairwise(rows) if row["to"] == state
    ]


def _transitions(run: RunView, flow: int) -> list[dict[str, Any]]:
    """Returns the flow's transitions in order: `time` in s, `from`, `to` and `reason`."""
    import polars as pl

    name = run.metrics["flows"][flow]["name"]
    return run.trace("transitions").filter(pl.col("flow") == name).to_dicts()


def _entries(run: RunView, flow: int, state: str) -> list[float]:
    """Returns the times at which the flow entered the state, in s."""
    return [row["time"] for row in _transitions(run, flow) if row["to"] == state]


MEASURES = (
    up_interval_s,
    probe_rtt_first_s,
    probe_rtt_last_s,
    probe_rtts,
    startup_end_ms,
    drain_ms,
    refill_ms,
    longest_up_ms,
    longest_down_ms,
    cruise_ms,
    probe_rtt_ms,
)
