"""Sweeps of two competing flows with made-up numbers, and what their reports have."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import polars as pl

from conftest import SCENARIO
from fullpipe.report.model import Lines
from sweep_dir import write_rows

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.report.model import Report

BUFFERS = [f"{each}bdp" for each in (0.25, 0.5, 0.75, 1, 1.5, 2, 4, 6, 8, 16)]
RTTS = ["10ms", "50ms", "100ms"]
QUEUES = ["pfifo", "codel", "fq_codel", "dualpi2"]
CCS = ("cubic", "bbr1")
TWO = {"path.rtt": RTTS, "path.buffer": BUFFERS}
THREE = {**TWO, "path.queue": QUEUES}


def swept(
    directory: Path,
    axes: dict[str, list[str]],
    seeds: int = 5,
    without: frozenset[str] = frozenset(),
) -> Path:
    """Writes a sweep of two competing flows with made-up numbers, whose delay spans three decades.

    A single seed has a delay with the buffers `without`.
    """
    rows = []
    for point, values in enumerate(itertools.product(*axes.values())):
        at = dict(zip(axes, values, strict=True))
        buffer = float(at.get("path.buffer", "1bdp").removesuffix("bdp"))
        rtt = float(at.get("path.rtt", "10ms").removesuffix("ms"))
        queue = QUEUES.index(at.get("path.queue", "pfifo"))
        for seed, (index, cc) in itertools.product(range(1, seeds + 1), enumerate(CCS)):
            noise = (seed * 7 % 5) / 50
            rows.append(
                {
                    "point": point,
                    **at,
                    "seed": seed,
                    "flow": cc,
                    "flow_index": index,
                    "cc": cc,
                    "goodput_bps": 1e6 * (20 + 10 * index + queue + math.log2(buffer) + noise),
                    "queue_delay_s.p95": None
                    if seed > 1 and at.get("path.buffer") in without
                    else 1e-3 * buffer * rtt * (1 + noise) / (1 + queue),
                    "jain": 0.9,
                }
            )
    return write_rows(directory, pl.DataFrame(rows), axes, SCENARIO, list(range(1, seeds + 1)))


def blocks(report: Report, section: str) -> list[object]:
    """Returns the blocks of a section."""
    return [*next(each for each in report.sections if each.title == section).blocks]


def goodputs(report: Report) -> list[Lines]:
    """Returns the curves of goodput."""
    found = [each for each in blocks(report, "Curves") if isinstance(each, Lines)]
    return [each for each in found if "Goodput" in (each.row or each.title)]
