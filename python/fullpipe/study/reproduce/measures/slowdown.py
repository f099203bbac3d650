"""Measures of workload flows: slowdowns of the first workload, from the run's metrics.

A decade of sizes counts if at least ten of its flows completed.
"""

from __future__ import annotations

from math import exp, log
from statistics import fmean
from typing import TYPE_CHECKING

from fullpipe.study.reproduce.measures.run_view import share

if TYPE_CHECKING:
    from fullpipe.base.metrics import DecadeMetrics, SlowdownMetrics, WorkloadMetrics
    from fullpipe.study.reproduce.measures.run_view import RunView

_FEWEST = 10


def slowdown_p50_by_decade(run: RunView, _flow: int) -> float:
    """Median slowdown of each decade of sizes, geometric mean over the decades. NaN without decades."""
    return _over([each.flows["p50"] for each in decades(run)])


def slowdown_mean_by_decade(run: RunView, _flow: int) -> float:
    """Mean slowdown of each decade of sizes, geometric mean over the decades. NaN without decades."""
    return _over([each.flows["mean"] for each in decades(run)])


def slowdown_p99_by_decade(run: RunView, _flow: int) -> float:
    """99th percentile of each decade's slowdowns, geometric mean over the decades. NaN without decades."""
    return _over([each.flows["p99"] for each in decades(run)])


def slowdown_over_srpt(run: RunView, _flow: int) -> float:
    """Minimum over the decades of the ratio of mean slowdown to SRPT's on the same flows. NaN without decades."""
    ratios = [each.flows["mean"] / each.srpt["mean"] for each in decades(run) if each.srpt]
    return min(ratios, default=float("nan"))


def slowdown_srpt(run: RunView, _flow: int) -> float:
    """Mean slowdown of all flows under SRPT. NaN without flows."""
    whole = _workload(run)["slowdown"]["all"]
    return whole["srpt"]["mean"] if whole and whole["srpt"] else float("nan")


def flows_arrived(run: RunView, _flow: int) -> float:
    """Number of flows that arrived in the measured time."""
    return float(_workload(run)["arrived"])


@share
def flows_unfinished(run: RunView, _flow: int) -> float:
    """Share of the arrived flows that were unfinished at the end, 0 to 1."""
    workload = _workload(run)
    return workload["unfinished"] / workload["arrived"] if workload["arrived"] else float("nan")


class Decade:
    """Flows with sizes from one power of ten to the next, with enough completed flows."""

    def __init__(self, decade: DecadeMetrics, flows: SlowdownMetrics) -> None:
        self.from_bytes = decade["from_bytes"]
        self.flows = flows
        self.srpt = decade["srpt"]
        self.ps = decade["ps"]


def decades(run: RunView) -> list[Decade]:
    """Returns the decades of the first workload with enough completed flows, smallest flows first."""
    found = [(each, each["flows"]) for each in _workload(run)["slowdown"]["decades"]]
    return [
        Decade(each, flows)
        for each, flows in found
        if flows is not None and flows["count"] >= _FEWEST
    ]


def flow_p90_kb(run: RunView, _flow: int) -> float:
    """90th percentile of the sizes of arrived flows, in kB. NaN without flows; needs a trace."""
    sizes = run.trace("transfers")["bytes"]
    return float(sizes.quantile(0.9) or float("nan")) / 1e3


def byte_p10_mb(run: RunView, _flow: int) -> float:
    """Size of the flows above which 90 % of the bytes lie, in MB. NaN without flows; needs a trace."""
    sizes = run.trace("transfers")["bytes"].sort().to_numpy().astype("float64")
    so_far = sizes.cumsum()
    return float(sizes[so_far.searchsorted(so_far[-1] / 10)]) / 1e6 if len(sizes) else float("nan")


def _over(values: list[float]) -> float:
    return exp(fmean(log(each) for each in values)) if values else float("nan")


def _workload(run: RunView) -> WorkloadMetrics:
    return run.metrics.get("workloads", [])[0]


MEASURES = (
    slowdown_p50_by_decade,
    slowdown_mean_by_decade,
    slowdown_p99_by_decade,
    slowdown_over_srpt,
    slowdown_srpt,
    flows_arrived,
    flows_unfinished,
)
TRACED = (flow_p90_kb, byte_p10_mb)
