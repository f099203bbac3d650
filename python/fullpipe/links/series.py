"""The series of a link: its queues, and the flows of its captures."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe.foreign.capture import segments
from fullpipe.foreign.connections import connections
from fullpipe.foreign.kept import save

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe._core import Scenario
    from fullpipe.foreign.flow import Flow

STEP_S = 0.1
"""The time between samples of a flow, seconds."""


def keep(
    directory: Path,
    report: dict[str, Any],
    heard: Sequence[dict[str, Any]],
    scenario: Scenario,
    command: Sequence[str],
    began: float | None,
    called: str,
) -> None:
    """Writes the tables and metrics of a link's run next to its captures.

    Args:
        directory: The directory with `near.pcapng` and `far.pcapng`.
        report: The report of the run.
        heard: The lines of each second.
        scenario: The scenario.
        command: The program that ran.
        began: The time at which the link began, seconds since 1970; None if it said nothing.
        called: The command or call that made the run.

    Raises:
        OSError: When a file can't be read or written.
    """
    save(
        directory,
        _flows(directory, began),
        runner="link",
        title=f"link: {shlex.join(command)}",
        command=called,
        scenario=f"# link: {' '.join(shlex.join(command).split())}\n{scenario.to_toml()}",
        links=_links(report, heard),
        link_metrics=report["links"],
        duration_s=report["elapsed_s"],
        warnings=report["timeliness"]["doubts"],
    )


def _flows(directory: Path, began: float | None) -> list[Flow]:
    """Returns the flows of each end's sent data, which only the capture at that end has before the path."""
    found = []
    for end, address in (("far", "100.64.0.1:"), ("near", "100.64.0.2:")):
        file = directory / f"{end}.pcapng"
        with file.open("rb") as opened:
            flows = connections(segments(opened, str(file)), step=STEP_S, began=began)
        found += [flow for flow in flows if flow.name.split(" ")[1].startswith(address)]
    return found


def _links(report: dict[str, Any], heard: Sequence[dict[str, Any]]) -> pl.DataFrame | None:
    names = [link["name"] for link in report["links"]]
    counts: dict[str, Any] = {
        "queue_packets": pl.UInt64,
        "queue_bytes": pl.UInt64,
        "sojourn": pl.Float32,
    }
    total = dict.fromkeys(names, 0)
    rows = []
    for now in heard:
        for way in ("down", "up"):
            if len(links := report[way]["links"]) != 1:  # seconds are of a whole direction
                continue
            total[links[0]] += now[way]["dropped"]
            rows.append(
                {
                    "time": now["at_s"],
                    "link": links[0],
                    "queue_packets": now[way]["queue_packets"],
                    "queue_bytes": None,
                    "sojourn": now[way]["queue_s"],
                    "drops": total[links[0]],
                    "marks": None,
                }
            )
    schema: dict[str, Any] = {"time": pl.Float64, "link": pl.Enum(names)} | counts
    return (
        pl.DataFrame(rows, schema=schema | {"drops": pl.UInt64, "marks": pl.UInt64})
        if rows
        else None
    )
