"""Measures of flows that arrive: the slowdowns of the first workload, from the run's metrics.

A decade counts when it has ten flows or more that were complete.
"""

from __future__ import annotations

from math import exp, log
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fullpipe.metrics import DecadeMetrics, SlowdownMetrics, WorkloadMetrics
    from fullpipe.reproduce.measures.run_view import RunView

_FEWEST = 10


def slowdown_p50_by_decade(run: RunView, _flow: int) -> float:
    """The median slowdown of each decade of sizes, geometric mean over the decades. NaN without one."""
    return _over([each.flows["p50"] for each in decades(run)])


def slowdown_mean_by_decade(run: RunView, _flow: int) -> float:
    """The mean slowdown of each decade of sizes, geometric mean over the decades. NaN without one."""
    return _over([each.flows["mean"] for each in decades(run)])


def slowdown_p99_by_decade(run: RunView, _flow: int) -> float:
    """The 99th percentile of each decade's slowdowns, geometric mean over the decades. NaN without one."""
    return _over([each.flows["p99"] for each in decades(run)])


def slowdown_over_srpt(run: RunView, _flow: int) -> float:
    """The least, over the decades, of the mean slowdown over that of SRPT on the same flows. NaN without one."""
    ratios = [each.flows["mean"] / each.srpt["mean"] for each in decades(run) if each.srpt]
    return min(ratios, default=float("nan"))


def slowdown_srpt(run: RunView, _flow: int) -> float:
    """SRPT's mean slowdown of all flows. NaN without one."""
    whole = _workload(run)["slowdown"]["all"]
    return whole["srpt"]["mean"] if whole and whole["srpt"] else float("nan")


def flows_arrived(run: RunView, _flow: int) -> float:
    """How many flows arrived in the time that counts."""
    return float(_workload(run)["arrived"])


def flows_unfinished(run: RunView, _flow: int) -> float:
    """The share of the flows that arrived which were under way at the end, 0 to 1."""
    workload = _workload(run)
    return workload["unfinished"] / workload["arrived"] if workload["arrived"] else float("nan")


class Decade:
    """Flows from a power of ten bytes up to the next, of which enough were complete."""

    def __init__(self, decade: DecadeMetrics, flows: SlowdownMetrics) -> None:
        self.from_bytes = decade["from_bytes"]
        self.flows = flows
        self.srpt = decade["srpt"]
        self.ps = decade["ps"]


def decades(run: RunView) -> list[Decade]:
    """Those of the first workload that count, the smallest flows first."""
    found = [(each, each["flows"]) for each in _workload(run)["slowdown"]["decades"]]
    return [
        Decade(each, flows)
        for each, flows in found
        if flows is not None and flows["count"] >= _FEWEST
    ]


def flow_p90_kb(run: RunView, _flow: int) -> float:
    """The size that nine of ten flows that arrived are below, in kB. NaN without one; needs a trace."""
    sizes = run.trace("transfers")["bytes"]
    return float(sizes.quantile(0.9) or float("nan")) / 1e3


def byte_p10_mb(run: RunView, _flow: int) -> float:
    """The size that the flows of nine of ten bytes exceed, in MB. NaN without a flow; needs a trace."""
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
