"""The kernel's recorded results in `tests/oracle/`: numbers of each repetition, and their origin."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict

from fullpipe.results import disk
from fullpipe.results.kept import read_json
from fullpipe.study.verdicts.reader import PublishedError
from fullpipe.wings.real.validate.cells import FILE
from fullpipe.wings.real.validate.quantities import FlowNumbers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.base.metrics import Metrics
    from fullpipe.wings.real.validate.cells import Cell

RESULTS = FILE.with_name("linux.json")


class RecordedFlow(FlowNumbers):
    """A flow's numbers in a repetition, in SI units; None if there was no sample."""

    queue_p95_s: float | None
    sent: int


class CellNumbers(TypedDict):
    """Recorded results of a cell."""

    fingerprint: str
    kernel: str
    recorded: str
    repeats: list[list[RecordedFlow]]


class Results(TypedDict):
    """Contents of the file. `kernels` has facts about each kernel by name; `command` records the file."""

    command: str
    kernels: dict[str, dict[str, str]]
    cells: dict[str, CellNumbers]


def numbers(metrics: Metrics) -> list[RecordedFlow]:
    """Returns the numbers to record of a run."""
    return [
        RecordedFlow(
            goodput_bps=flow["goodput_bps"],
            rtt_mean_s=flow["rtt_s"]["mean"],
            queue_p95_s=flow["queue_delay_s"]["p95"],
            sent=flow["sent"],
            retransmits=flow["retransmits"],
        )
        for flow in metrics["flows"]
    ]


def read(file: Path = RESULTS) -> Results:
    """Reads the recorded results; returns empty ones if there is no file yet."""
    if not file.exists():
        return Results(command="fullpipe validate --record", kernels={}, cells={})
    return read_json(file, Results)


def write(results: Results, order: Sequence[Cell], file: Path = RESULTS) -> None:
    """Writes the results with a line per repetition, in the order of the cells."""
    cells = {
        cell.name: results["cells"][cell.name] for cell in order if cell.name in results["cells"]
    }
    used = {each["kernel"] for each in cells.values()}
    kernels = {name: facts for name, facts in results["kernels"].items() if name in used}
    head = json.dumps({"command": results["command"], "kernels": kernels}, indent=1)
    blocks = []
    for name, cell in cells.items():
        about = json.dumps({key: value for key, value in cell.items() if key != "repeats"})[:-1]
        repeats = ",\n   ".join(json.dumps(each) for each in cell["repeats"])
        blocks.append(f'  {json.dumps(name)}: {about}, "repeats": [\n   {repeats}]}}')
    text = f'{head[:-2]},\n "cells": {{\n' + ",\n".join(blocks) + "\n }\n}\n"
    disk.put(file, text)


def of(results: Results, cell: Cell) -> CellNumbers:
    """Returns the recorded results of a cell.

    Raises:
        PublishedError: When the cell was not recorded, or its scenario has changed since.
    """
    found = results["cells"].get(cell.name)
    fix = f"run fullpipe validate --record --cell {cell.name} (make oracle first)"
    if found is None:
        raise PublishedError(f"{RESULTS.name}: {cell.name}: not recorded yet\n  fix: {fix}")
    if found["fingerprint"] != cell.fingerprint:
        raise PublishedError(
            f"{RESULTS.name}: {cell.name}: recorded for a different scenario\n  fix: {fix}"
        )
    return found
