"""Slowdowns of flows that arrived, by their sizes, with those of two servers that know."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.metrics import decade_text
from fullpipe.report.model import Line, Lines, Number, Section, Table

if TYPE_CHECKING:
    from fullpipe.metrics import DecadeMetrics, Metrics, SlowdownMetrics, WorkloadMetrics
    from fullpipe.report.kept import Kept
    from fullpipe.report.model import Block, Cell

_NOTE = (
    "Slowdown is the completion time over that of the flow alone: handshake and pauses are in both, slow start is not "
    "in the latter. SRPT serves the flow that has least left, and knows all sizes; by processor sharing all have equal "
    "parts."
)


def section(kept: Kept) -> Section | None:
    """Of a single run: a chart and a table for each workload."""
    file = kept.directory / "metrics.json"
    if not file.is_file():
        return None
    metrics: Metrics = json.loads(file.read_text(encoding="utf-8"))
    workloads = [each for each in metrics.get("workloads", []) if each["slowdown"]["all"] is not None]
    blocks: list[Block] = [block for workload in workloads for block in (_chart(workload), _table(workload))]
    return Section("Slowdown by size", blocks, _NOTE) if blocks else None


def _chart(workload: WorkloadMetrics) -> Lines:
    decades = workload["slowdown"]["decades"]
    x = np.array([each["from_bytes"] / 1e3 for each in decades])

    def line(label: str, of: list[float | None], style: int) -> Line:
        return Line(label, x, np.array([np.nan if each is None else each for each in of]), style=style)

    def of(whose: str, statistic: str) -> list[float | None]:
        return [_of(each, whose, statistic) for each in decades]

    lines = [
        line(f"{workload['cc']}, mean", of("flows", "mean"), 0),
        line(f"{workload['cc']}, 99 %", of("flows", "p99"), 1),
        line("SRPT, mean", of("srpt", "mean"), 2),
        line("processor sharing, mean", of("ps", "mean"), 3),
    ]
    known = [each for each in lines if not np.isnan(each.y).all()]
    return Lines(
        workload["name"], "flows of so many kB, and up to ten times that", "slowdown", known, log_x=True, log_y=True
    )


def _of(decade: DecadeMetrics, whose: str, statistic: str) -> float | None:
    known: dict[str, SlowdownMetrics | None] = {key: decade[key] for key in ("flows", "srpt", "ps")}
    slowdown = known[whose]
    return None if slowdown is None else {"mean": slowdown["mean"], "p99": slowdown["p99"]}[statistic]


def _table(workload: WorkloadMetrics) -> Table:
    columns = ("flows of", "complete", "not complete", "mean", "p50", "p95", "p99", "SRPT, mean", "PS, mean")
    slowdown = workload["slowdown"]
    rows: list[tuple[Cell, ...]] = [(decade_text(each), *_cells(each)) for each in slowdown["decades"]]
    if slowdown["all"] is not None:
        rows.append(("all sizes", *_cells(slowdown["all"])))
    return Table(f"{workload['name']} ({workload['cc']})", columns, rows)


def _cells(decade: DecadeMetrics) -> tuple[Cell, ...]:
    flows = decade["flows"]
    values = [flows[key] for key in ("mean", "p50", "p95", "p99")] if flows else [None] * 4
    servers = [each["mean"] if each else None for each in (decade["srpt"], decade["ps"])]
    complete = flows["count"] if flows else 0
    return (
        Number(complete, f"{complete:,}"),
        Number(decade["unfinished"], f"{decade['unfinished']:,}"),
        *(Number(each, "–" if each is None else f"{each:.2f}") for each in (*values, *servers)),
    )
