"""What the kernel did, kept in `tests/oracle/`: the numbers of each repeat, and from where they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict

from fullpipe.validate.cells import FILE
from fullpipe.verdicts.reader import PublishedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.metrics import Metrics
    from fullpipe.validate.cells import Cell

RESULTS = FILE.with_name("linux.json")


class FlowNumbers(TypedDict):
    """A flow's part of a repeat, in SI units; None where there was no sample."""

    goodput_bps: float
    rtt_mean_s: float | None
    queue_p95_s: float | None
    sent: int
    retransmits: int


class CellNumbers(TypedDict):
    """A cell as it was recorded."""

    fingerprint: str
    kernel: str
    recorded: str
    repeats: list[list[FlowNumbers]]


class Results(TypedDict):
    """The whole file. `kernels` are by name what `kernel` stands for in words, `command` is what records them anew."""

    command: str
    kernels: dict[str, dict[str, str]]
    cells: dict[str, CellNumbers]


def numbers(metrics: Metrics) -> list[FlowNumbers]:
    """What is kept of a run."""
    return [
        FlowNumbers(
            goodput_bps=flow["goodput_bps"],
            rtt_mean_s=flow["rtt_s"]["mean"],
            queue_p95_s=flow["queue_delay_s"]["p95"],
            sent=flow["sent"],
            retransmits=flow["retransmits"],
        )
        for flow in metrics["flows"]
    ]


def read(file: Path = RESULTS) -> Results:
    """What was recorded; nothing where there is no file yet."""
    if not file.exists():
        return Results(command="fullpipe validate --record", kernels={}, cells={})
    found: Results = json.loads(file.read_text(encoding="utf-8"))
    return found


def write(results: Results, order: Sequence[Cell], file: Path = RESULTS) -> None:
    """Keeps them, a line a repeat, in the order of the cells."""
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
    file.write_text(text, encoding="utf-8")


def of(results: Results, cell: Cell) -> CellNumbers:
    """A cell's.

    Raises:
        PublishedError: When it was not recorded, or for another scenario.
    """
    found = results["cells"].get(cell.name)
    fix = f"run fullpipe validate --record --cell {cell.name} (make oracle first)"
    if found is None:
        raise PublishedError(f"{RESULTS.name}: {cell.name}: not recorded yet\n  fix: {fix}")
    if found["fingerprint"] != cell.fingerprint:
        raise PublishedError(
            f"{RESULTS.name}: {cell.name}: recorded for another scenario\n  fix: {fix}"
        )
    return found
