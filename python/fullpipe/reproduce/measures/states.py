"""Measures of the states that a flow's algorithm goes through, over the whole run. They need a trace."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fullpipe.reproduce.measures.ran import Ran


def up_interval_s(run: Ran, flow: int) -> float:
    """The mean time from one ProbeBW_UP of BBRv2 or BBRv3 to the next, in s. NaN when there are less than two."""
    times = _entries(run, flow, "probe_bw_up")
    return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else math.nan


def probe_rtt_first_s(run: Ran, flow: int) -> float:
    """When the flow entered ProbeRTT for the first time, in s. NaN when it never did."""
    return next(iter(_entries(run, flow, "probe_rtt")), math.nan)


def probe_rtt_last_s(run: Ran, flow: int) -> float:
    """When the flow entered ProbeRTT for the last time, in s. NaN when it never did."""
    return next(reversed(_entries(run, flow, "probe_rtt")), math.nan)


def probe_rtts(run: Ran, flow: int) -> float:
    """How often the flow entered ProbeRTT."""
    return float(len(_entries(run, flow, "probe_rtt")))


def _entries(run: Ran, flow: int, state: str) -> list[float]:
    """When the flow entered the state, in s."""
    import polars as pl

    name = run.metrics["flows"][flow]["name"]
    rows = run.trace("transitions").filter(pl.col("flow") == name, pl.col("to") == state)
    return rows["time"].to_list()


MEASURES = (up_interval_s, probe_rtt_first_s, probe_rtt_last_s, probe_rtts)
