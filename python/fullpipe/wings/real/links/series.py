"""The series of a link: its queues, and the flows of its captures."""

from __future__ import annotations

import shlex
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe._core import ScenarioError
from fullpipe.results import disk
from fullpipe.results.total import Total
from fullpipe.run import unjudged
from fullpipe.wings.traces.foreign.capture import segments
from fullpipe.wings.traces.foreign.connections import connections
from fullpipe.wings.traces.foreign.kept import save

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe._core import Scenario
    from fullpipe.wings.traces.foreign.flow import Flow

STEP_S = 0.1
"""The time between samples of a flow, seconds."""


def keep(
    directory: Path,
    report: dict[str, Any],
    series: dict[str, Any],
    scenario: Scenario,
    command: Sequence[str],
    called: str,
) -> Total:
    """Writes the tables and metrics of a link's run next to its captures.

    Args:
        directory: The directory with `near.pcapng` and `far.pcapng`.
        report: The report of the run.
        series: The columns of the links' samples, and the date of the beginning.
        scenario: The scenario.
        command: The program that ran.
        called: The command or call that made the run.

    Returns:
        Sums over all flows.

    Raises:
        OSError: When a file can't be read or written.
    """
    ran = _lasting(scenario, report["elapsed_s"])
    disk.write(directory / "resolved.toml", ran)
    flows, total = _flows(directory, series.pop("began_s"))
    save(
        directory,
        flows,
        runner="link",
        title=f"link: {shlex.join(command)}",
        command=called,
        scenario=f"# link: {' '.join(shlex.join(command).split())}\n{ran}",
        links=_links(report, series),
        link_metrics=report["links"],
        duration_s=report["elapsed_s"],
        warnings=report["timeliness"]["doubts"],
        total=total,
    )
    return total


def _lasting(scenario: Scenario, elapsed_s: float) -> str:
    """Returns the scenario with the length of the run, so that a simulation of it lasts as long."""
    text = scenario.to_toml()
    try:
        return unjudged(text, set={"duration": f"{elapsed_s:.1f}s"}).to_toml()
    except ScenarioError:  # it has changes of the path after the program's end
        return text


def _flows(directory: Path, began: float) -> tuple[list[Flow], Total]:
    """Returns the flows of each end's sent data, which only the capture at that end has before the path."""
    found: list[Flow] = []
    total = Total(0, 0, 0, 0, 0)
    for end, address in (("far", "100.64.0.1"), ("near", "100.64.0.2")):
        file = directory / f"{end}.pcapng"
        packets = segments(file, round(began * 1e9))
        flows, sums = connections(packets, step=STEP_S, of=ip_address(address).packed)
        found, total = [*found, *flows], total.plus(sums)
    return found, total


def _links(report: dict[str, Any], series: dict[str, list[Any]]) -> pl.DataFrame:
    names = [link["name"] for link in report["links"]]
    counts = ("queue_packets", "queue_bytes", "drops", "marks")
    # A program that ends at once leaves no samples, whose types would be unknown.
    numbers: dict[str, Any] = dict.fromkeys(counts, pl.UInt64)
    schema = {
        "time": pl.Float64,
        "link": pl.Int64,
        "sojourn": pl.Float64,
        "rate": pl.Float64,
        **numbers,
    }
    return pl.DataFrame({name: series[name] for name in schema}, schema=schema).select(
        "time",
        pl.col("link").replace_strict(range(len(names)), names, return_dtype=pl.Enum(names)),
        *counts,
        *(pl.col(each).cast(pl.Float32) for each in ("sojourn", "rate")),
    )
