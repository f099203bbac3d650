"""Measures of all flows of a run together, from its metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.study.reproduce.measures.run_view import known, share

if TYPE_CHECKING:
    from fullpipe.study.reproduce.measures.run_view import RunView


def goodput_sum_mbps(run: RunView, _flow: int) -> float:
    """Sum of the flows' goodputs in Mbit/s."""
    return sum(flow["goodput_bps"] for flow in run.metrics["flows"]) / 1e6


def min_max_score(run: RunView, _flow: int) -> float:
    """Ten times the ratio of the smallest to the largest flow's goodput; 10 if all are zero."""
    goodputs = [flow["goodput_bps"] for flow in run.metrics["flows"]]
    return 10 * min(goodputs) / max(goodputs) if max(goodputs) else 10.0


@share
def jain(run: RunView, _flow: int) -> float:
    """Jain's index of the flows' goodputs, 0 to 1. NaN with a single flow."""
    return known(run.metrics["jain"]) if len(run.metrics["flows"]) > 1 else float("nan")


MEASURES = (goodput_sum_mbps, min_max_score, jain)
