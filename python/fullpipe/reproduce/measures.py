"""What a column of a published table can be compared with: a quantity of the runs of one case.

Each measure takes the metrics of all runs of a case (one a seed) and the flow that the column is about, counted from 0.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fullpipe.metrics import Metrics

    Measure = Callable[[Sequence[Metrics], int], "Estimate"]


class Estimate(NamedTuple):
    """A quantity over the runs of a case, in the column's unit."""

    value: float
    """What is compared: the mean over the runs, unless the measure says otherwise."""
    least: float
    """The least of any run."""
    most: float
    """The most of any run."""


def goodput_mbps(runs: Sequence[Metrics], flow: int) -> Estimate:
    """Goodput in Mbit/s from the flow's SYN to its last byte, or to the end of the run; mean over the runs."""
    return _mean([run["flows"][flow]["goodput_bps"] / 1e6 for run in runs])


def rtt_mean_ms(runs: Sequence[Metrics], flow: int) -> Estimate:
    """The mean of the flow's RTT samples in ms, delayed-ACK time included; mean over the runs. NaN without a sample."""
    means = [run["flows"][flow]["rtt_s"]["mean"] for run in runs]
    return _mean([math.nan if mean is None else mean * 1e3 for mean in means])


def packets_lost(runs: Sequence[Metrics], flow: int) -> Estimate:
    """Data packets dropped by queues or lost by chance, of all flows; mean over the runs."""
    return _mean([float(sum(link["drops"] + link["losses"] for link in run["links"])) for run in runs])


def retransmits(runs: Sequence[Metrics], flow: int) -> Estimate:
    """Data packets that the flow sent again; mean over the runs."""
    return _mean([float(run["flows"][flow]["retransmits"]) for run in runs])


def min_max_score(runs: Sequence[Metrics], flow: int) -> Estimate:
    """Ten times the mean over the runs of the least over the greatest flow's goodput, truncated to a whole number.

    The range is that of ten times the ratio of a single run.
    """
    score = _mean([10 * _min_over_max([flow["goodput_bps"] for flow in run["flows"]]) for run in runs])
    return score._replace(value=float(math.trunc(score.value)))


MEASURES: dict[str, Measure] = {
    measure.__name__: measure for measure in (goodput_mbps, rtt_mean_ms, packets_lost, retransmits, min_max_score)
}


def jain(runs: Sequence[Metrics]) -> float | None:
    """Jain's index of the flows' goodputs, 0 to 1; mean over the runs. None with a single flow."""
    known = [run["jain"] for run in runs if run["jain"] is not None and len(run["flows"]) > 1]
    return fmean(known) if known else None


def _mean(values: Sequence[float]) -> Estimate:
    return Estimate(fmean(values), min(values), max(values))


def _min_over_max(values: Sequence[float]) -> float:
    """1 when all are the same, and also when all are zero."""
    most = max(values)
    return min(values) / most if most else 1.0
