"""`fullpipe validate`: runs the cells, holds them against what the kernel did, and records the kernel anew."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from os import cpu_count
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from fullpipe.errors import printing, stoppable
from fullpipe.progress import counting
from fullpipe.reproduce.runner import side_by_side
from fullpipe.validate import cells as read_cells
from fullpipe.validate import recorded, show
from fullpipe.validate.judge import judge, records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.run import Run
    from fullpipe.validate.cells import Cell, Cells
    from fullpipe.validate.judge import CellOutcome
    from fullpipe.validate.recorded import FlowNumbers

ENOUGH = 0.9
"""The share of the cells that have to be met."""


def validate(patterns: Sequence[str], *, seeds: int, record: bool, out: Path | None, as_json: bool) -> bool:
    """Holds the simulator against the recorded kernel, and prints what came of it.

    Args:
        patterns: Only cells that fit one of these, as `fnmatch` reads them; all when empty.
        seeds: The simulator's runs of each cell in which chance has a part.
        record: Run the kernel first, and keep what it does.
        out: Where to write the whole table, with intervals, as Markdown.
        as_json: Print only the list of :class:`fullpipe.reproduce.verdict.Record`.

    Returns:
        Whether enough of the cells are met.

    Raises:
        PublishedError: When the cells or the results are refused.
        RunnerError: When the kernel is to be recorded and there is none.
    """
    known = read_cells.load()
    chosen = read_cells.only(known.cells, patterns)
    if record:
        record_anew(known, chosen)
    outcomes = outcomes_of(known, chosen, seeds)
    if out is not None:
        out.write_text("\n".join(_page(outcomes)), encoding="utf-8")
    with printing():
        if as_json:
            print(json.dumps(records(outcomes)))
        else:
            console = Console(highlight=False)
            show.show(outcomes, console)
            console.print(Text(f"\n{show.summary(outcomes)}", style="bold"))
    return met(outcomes)


def _page(outcomes: Sequence[CellOutcome]) -> list[str]:
    kernels = ", ".join(recorded.read()["kernels"])
    return [
        "# The simulator against Linux, number by number",
        "",
        "Made by `fullpipe validate --out FILE`. Means, with half of their 95 % intervals where runs differ; goodput",
        "in Mbit/s, times in ms, `resent` in data packets.",
        "",
        f"Linux is {kernels}. {show.summary(outcomes)}.",
        "",
        *show.markdown(outcomes),
        "",
    ]


def met(outcomes: Sequence[CellOutcome]) -> bool:
    """Whether enough of the cells are."""
    return sum(outcome.verdict.value == "met" for outcome in outcomes) >= ENOUGH * len(outcomes)


def outcomes_of(known: Cells, chosen: Sequence[Cell], seeds: int) -> list[CellOutcome]:
    """The simulator's runs of some cells, held against the kernel's.

    Raises:
        PublishedError: When a cell was not recorded.
    """
    results = recorded.read()
    kernel = [recorded.of(results, cell)["repeats"] for cell in chosen]
    bar = counting()
    running = bar.add_task("simulating", total=None)

    def reduced(run: Run) -> list[FlowNumbers]:
        return recorded.numbers(run.metrics)

    jobs = [(cell.setup, seeds if cell.setup.scenario(1).is_random else 1, "off", reduced) for cell in chosen]
    with stoppable(lambda: "while simulating"), bar:
        bar.update(running, total=sum(job[1] for job in jobs))
        ours = side_by_side(jobs, lambda: bar.advance(running))
    return [judge(*each, known.close) for each in zip(chosen, kernel, ours, strict=True)]


def record_anew(known: Cells, chosen: Sequence[Cell]) -> None:
    """Runs cells on the kernel, and keeps their numbers; those of each cell as soon as they are there.

    Raises:
        RunnerError: When there is no kernel.
        OracleError: When it fails.
    """
    from fullpipe.runners import runner, uml

    runner("uml")
    facts = uml.facts()
    name = facts["kernel"]
    bar = counting()
    running = bar.add_task("recording", total=len(chosen))

    def one(cell: Cell) -> tuple[Cell, list[list[FlowNumbers]]]:
        # Without chance Linux does the same each time, to the nanosecond.
        repeats = known.repeats if cell.setup.scenario(1).is_random else 1
        scenarios = [cell.setup.scenario(seed) for seed in range(1, repeats + 1)]
        made = uml.execute(scenarios, "off")
        return cell, [recorded.numbers(json.loads(each.metrics_json())) for each in made]

    executor = ThreadPoolExecutor(max_workers=cpu_count() or 1)
    with stoppable(lambda: f"after {bar.tasks[0].completed:.0f} of {len(chosen)} cells"), bar:
        try:
            for cell, repeats in executor.map(one, chosen):
                results = recorded.read()
                results["kernels"][name] = facts
                results["cells"][cell.name] = recorded.CellNumbers(
                    fingerprint=cell.fingerprint,
                    kernel=name,
                    recorded=datetime.now(UTC).date().isoformat(),
                    repeats=repeats,
                )
                recorded.write(results, known.cells)
                bar.advance(running)
        finally:
            executor.shutdown(cancel_futures=True)
