"""Saves measured flows in the form of a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl

from fullpipe._core import __version__
from fullpipe.results import disk, write_parquet
from fullpipe.results.model import table_file
from fullpipe.stats import jain
from fullpipe.wings.traces.foreign.flow import COLUMNS, Flow, unlike

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.base.metrics import LinkMetrics
    from fullpipe.results.total import Total

_COUNTS = {"cwnd", "inflight", "delivered", "lost", "lost_packets", "retransmits", "receive_window"}


def save(
    directory: Path,
    flows: Sequence[Flow],
    *,
    runner: str,
    title: str,
    command: str,
    scenario: str = "",
    links: pl.DataFrame | None = None,
    link_metrics: Sequence[LinkMetrics] = (),
    duration_s: float | None = None,
    warnings: Sequence[str] = (),
    total: Total | None = None,
) -> None:
    """Writes flows into an existing directory, as `run --out` writes a run.

    Args:
        directory: The directory.
        flows: The flows; their names may be equal.
        runner: What measured them: "link", or the kind of a file.
        title: The title.
        command: The command that makes the directory again.
        scenario: The text of the scenario, if there was one.
        links: The table of links.
        link_metrics: Their metrics.
        duration_s: The length; by default up to the last sample.
        warnings: What makes the numbers unreliable.
        total: Sums over all flows, if some are not kept.

    Raises:
        OSError: When a file can't be written.
    """
    flows = unlike(flows)
    times = [row["time"] or 0.0 for flow in flows for row in flow.rows]
    goodputs = [rate for flow in flows if (rate := flow.goodput()) is not None]
    sent = [flow.sent for flow in flows]
    begins = {flow.measured_from_s for flow in flows}
    metrics = {
        "version": __version__,
        "runner": runner,
        "host": total.facts() if total else {},
        "warnings": list(warnings),
        "seed": 0,
        "duration_s": duration_s if duration_s is not None else max(times, default=0.0),
        "measure_from_s": begins.pop() if len(begins) == 1 else 0.0,
        "flows": [flow.metrics() for flow in flows],
        "links": list(link_metrics),
        "jain": jain(goodputs) if goodputs else None,
        "packets": None if None in sent else sum(each or 0 for each in sent),
        "events": None,
        "trace_hash": None,
    }
    disk.write(directory / "scenario.toml", scenario or f"# {title}\n")
    disk.write(directory / "metrics.json", json.dumps(metrics, indent=2) + "\n")
    disk.write(directory / "measured.json", json.dumps({"command": command}) + "\n")
    if times:
        write_parquet(table_of(flows), table_file(directory, "flows"))
    if any(flow.changes for flow in flows):
        write_parquet(_transitions(flows), table_file(directory, "transitions"))
    if links is not None:
        write_parquet(links, table_file(directory, "links"))


def table_of(flows: Sequence[Flow]) -> pl.DataFrame:
    """Returns the samples of flows, by time; a column that no flow has is left out but for the common ones."""
    names = pl.Enum([flow.name for flow in flows])
    rows = [
        {"time": row["time"], "flow": flow.name}
        | {
            name: None if (value := row.get(name)) is None else _whole(name, value)
            for name in COLUMNS
        }
        for flow in flows
        for row in flow.rows
    ]
    kinds = {name: pl.UInt64 if name in _COUNTS else pl.Float32 for name in COLUMNS}
    schema = {"time": pl.Float64, "flow": names, **kinds}
    return pl.DataFrame(rows, schema=schema).sort("time", maintain_order=True)


def _whole(name: str, value: float) -> float | int | None:
    """Returns a count as a whole number, and None for one that no counter holds: a sum over absurd times."""
    if name not in _COUNTS:
        return value
    return whole if (whole := max(round(value), 0)) < 2**63 else None


def _transitions(flows: Sequence[Flow]) -> pl.DataFrame:
    rows = []
    for flow in flows:
        before = None
        for time, state in flow.changes:
            rows.append({"time": time, "flow": flow.name, "from": before, "to": state})
            before = state
    return pl.DataFrame(rows).sort("time", maintain_order=True)
