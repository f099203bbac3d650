"""`fullpipe validate`: runs the cells, compares them with the kernel's results, and records these."""

from __future__ import annotations

import json
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from fullpipe._core import ScenarioError, __version__
from fullpipe.base import terminal
from fullpipe.base.build import build
from fullpipe.base.progress import counting
from fullpipe.errors import printing, stoppable
from fullpipe.results import disk, fresh_file
from fullpipe.runners import is_simulator
from fullpipe.runners.sim import RUNNER as SIMULATOR
from fullpipe.study.checkpoint import Checkpoint, Runs, resumable
from fullpipe.study.engine import HERE
from fullpipe.study.execute import on_threads, one_cluster, refuse_engine, repeat
from fullpipe.study.repeated import Repeated
from fullpipe.study.verdicts.judged import Record, Verdict, records
from fullpipe.wings.real.validate import cells as read_cells
from fullpipe.wings.real.validate import recorded, show
from fullpipe.wings.real.validate.judge import judge, skipped
from fullpipe.wings.real.validate.traces import save_traces

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.run import Run
    from fullpipe.runners import Progress, Runner
    from fullpipe.study.engine import Engine
    from fullpipe.wings.real.validate.cells import Cell, Cells
    from fullpipe.wings.real.validate.judge import CellOutcome
    from fullpipe.wings.real.validate.recorded import RecordedFlow

_SEEDS = 10

ENOUGH = 0.9
"""Share of the cells of each stack that must be met."""


def validate(
    patterns: Sequence[str],
    *,
    runner: Runner,
    seeds: int | None,
    record: bool,
    traces: Path | None,
    out: Path | None,
    as_json: bool,
    engine: Engine = HERE,
) -> bool:
    """Compares the simulator, or another runner, with the recorded kernel, and prints the result.

    Args:
        patterns: `fnmatch` patterns of cells to run. Empty for all cells, or in real time for those
            marked `live`.
        runner: Runner to compare with the kernel.
        seeds: Number of runs of each randomized cell; None for 10 on the simulator, and for the number
            of the kernel's runs on others.
        record: Whether to run the kernel first and record its results.
        traces: New directory for a traced run of each cell on simulator and kernel, with a page that
            shows both.
        out: New file for the whole table with intervals, as Markdown. Finished runs are kept next to it until it is
            complete.
        as_json: Whether to print only the list of :class:`StackRecord`.
        engine: Where the runs execute.

    Returns:
        Whether enough of the cells of each stack are met.

    Raises:
        PublishedError: When the cells or the recorded results are invalid.
        FileExistsError: When `out` exists.
        RunnerError: When the kernel is needed for recording or traces and is not available.
        ScenarioError: When the runner supports none of the cells.
    """
    refuse_engine(engine, [runner])
    if record or traces is not None:
        from fullpipe.wings.real.runners import uml

        refuse_engine(engine, [uml.RUNNER], "--record" if record else "--traces")
    known = read_cells.load()
    chosen = read_cells.only(known.cells, patterns)
    if runner.real_time and not patterns:
        chosen = tuple(cell for cell in chosen if cell.live)
    if seeds is None:
        seeds = _SEEDS if is_simulator(runner) else known.repeats
    both = show.sides(runner)
    pages: list[Path] = []
    so_far = _so_far(out, chosen, seeds, runner) if out else None
    with (
        resumable(so_far, lambda: f"while {_doing(runner)}"),
        fresh_file(out, f"--out {out}") if out else nullcontext() as page,
    ):
        if record:
            record_anew(known, chosen, engine)
        if traces is not None:
            refused = _refused(chosen, runner)
            pages = save_traces(
                [cell for cell in chosen if cell.name not in refused], runner, traces
            )
        outcomes = outcomes_of(known, chosen, seeds, runner, engine, so_far)
        if page is not None:
            disk.write(page, "\n".join(_page(outcomes, both)))
    with printing():
        if as_json:
            print(json.dumps([record for outcome in outcomes for record in _records(outcome)]))
        else:
            console = terminal.console()
            show.show(outcomes, both, console)
            console.print()
            for line in show.summaries(outcomes):
                console.print(Text(line, style="bold"))
            for page in pages:
                console.print(f"over time, side by side: {page}", markup=False, soft_wrap=True)
    return met(outcomes)


def _page(outcomes: Sequence[CellOutcome], both: show.Sides) -> list[str]:
    kernels = ", ".join(recorded.read()["kernels"])
    hosts = [
        ", ".join(f"{name} {text}" for name, text in each.host.items())
        for each in outcomes
        if each.host
    ]
    spoiled = show.spoiled(outcomes)
    simulated = both == show.SIMULATED
    command = "fullpipe validate" if simulated else f"fullpipe validate --on {both.ours}"
    return [
        f"# {'The simulator' if simulated else both.ours} compared with Linux, number by number",
        "",
        f"Made by `{command} --out FILE`. Means ± half of their 95 % intervals where runs differ; goodput",
        "in Mbit/s, times in ms, `resent` in data packets.",
        "",
        f"{'Linux' if simulated else 'The recorded kernel'} is {kernels}.",
        "",
        *(f"- {line}" for line in show.summaries(outcomes)),
        "",
        *([f"Host of the first run on {both.ours}: {hosts[0]}.", ""] if hosts else []),
        *show.markdown(outcomes, both),
        *(
            ["", "Disturbed runs:", "", *(f"- `{cell}`: {text}" for cell, text in spoiled)]
            if spoiled
            else []
        ),
        "",
    ]


def _so_far(out: Path, chosen: Sequence[Cell], seeds: int, runner: Runner) -> Checkpoint:
    """Returns the finished runs next to a file."""
    about = {
        "fullpipe": f"{__version__}, {build()}",
        "the set of cells": read_cells.fingerprint(chosen),
        "--seeds": str(seeds),
        "--on": runner.name,
    }
    return Checkpoint(out, about, f"--out {out}")


def met(outcomes: Sequence[CellOutcome]) -> bool:
    """Returns whether enough of the cells that were run are met, of each stack."""
    verdicts = [
        [each.verdict for each in those if each.verdict is not Verdict.SKIPPED]
        for those in show.by_stack(outcomes).values()
    ]
    return all(those.count(Verdict.MET) >= ENOUGH * len(those) for those in verdicts)


class StackRecord(Record):
    """A judged number as `--json` prints it, with the stack of its cell."""

    stack: str


def _records(outcome: CellOutcome) -> list[StackRecord]:
    return [StackRecord(**record, stack=outcome.cell.stack) for record in records(outcome.judged)]


class _RunNumbers(NamedTuple):
    """Results kept of a run."""

    numbers: list[RecordedFlow]
    warnings: list[str]
    host: dict[str, str]


def _reduced(run: Run) -> _RunNumbers:
    return _RunNumbers(recorded.numbers(run.metrics), run.metrics["warnings"], run.metrics["host"])


def _doing(runner: Runner) -> str:
    return "simulating" if is_simulator(runner) else f"running on {runner.name}"


def _of_record(record: dict[str, Any]) -> _RunNumbers:
    return _RunNumbers(**record)


def outcomes_of(
    known: Cells,
    chosen: Sequence[Cell],
    seeds: int,
    runner: Runner = SIMULATOR,
    engine: Engine = HERE,
    so_far: Checkpoint | None = None,
) -> list[CellOutcome]:
    """Runs cells on a runner, and compares the results with the kernel's.

    In real time every cell is random. Cells that the runner does not support are skipped. Runs that the checkpoint has
    are not made again.

    Raises:
        PublishedError: When a cell was not recorded.
        ScenarioError: When the runner supports none of the cells.
    """
    results = recorded.read()
    kernel = {cell.name: recorded.of(results, cell)["repeats"] for cell in chosen}
    refused = _refused(chosen, runner)
    bar = counting()
    running = bar.add_task(_doing(runner), total=None)

    def runs(cell: Cell) -> int:
        return seeds if runner.real_time or cell.setup.scenario(1).is_random else 1

    run = [cell for cell in chosen if cell.name not in refused]
    jobs = [Repeated(cell.setup, range(1, runs(cell) + 1), "off", _reduced) for cell in run]
    keys = [(cell.name,) for cell in run]
    there = Runs(so_far, keys, _RunNumbers._asdict, _of_record) if so_far else None
    with bar, one_cluster(engine):
        bar.update(running, total=sum(len(job.seeds) for job in jobs))
        done = repeat(jobs, lambda: bar.advance(running), runner, there, engine)
    ours = {cell.name: each for cell, each in zip(run, done, strict=True)}

    def outcome(cell: Cell) -> CellOutcome:
        if cell.name in refused:
            return skipped(cell, kernel[cell.name], known.close, str(refused[cell.name]))
        those = ours[cell.name]
        judged = judge(cell, kernel[cell.name], [each.numbers for each in those], known.close)
        spoiled = tuple("; ".join(each.warnings) for each in those if each.warnings)
        return replace(judged, runs=len(those), spoiled=spoiled, host=those[0].host)

    return [outcome(cell) for cell in chosen]


def _refused(chosen: Sequence[Cell], runner: Runner) -> dict[str, ScenarioError]:
    """Returns the cells that a runner does not support, with the reasons.

    Raises:
        ScenarioError: When the runner supports none of the cells.
    """
    refused = {}
    for cell in chosen:
        try:
            runner.refuse(cell.setup.scenario(1), "off")
        except ScenarioError as error:
            refused[cell.name] = error
    if len(refused) == len(chosen):
        raise next(iter(refused.values()))
    return refused


def record_anew(known: Cells, chosen: Sequence[Cell], engine: Engine = HERE) -> None:
    """Runs cells on the kernel, and saves the numbers of each cell as soon as it has run.

    Raises:
        RunnerError: When the kernel is not available.
        ScenarioError: When a run fails.
    """
    from fullpipe.runners import runner
    from fullpipe.wings.real.runners import uml

    runner("uml")
    facts = uml.facts()
    name = facts["kernel"]
    bar = counting()
    running = bar.add_task("recording", total=len(chosen))

    def one(cell: Cell, progress: Progress) -> tuple[Cell, list[list[RecordedFlow]]]:
        repeats = known.repeats if cell.varies else 1
        scenarios = [cell.setup.scenario(seed) for seed in range(1, repeats + 1)]
        made = uml.execute(scenarios, "off", progress)
        return cell, [recorded.numbers(json.loads(each.metrics_json())) for each in made]

    with (
        stoppable(lambda: f"after {bar.tasks[0].completed:.0f} of {len(chosen)} cells"),
        bar,
        closing(on_threads([partial(one, cell) for cell in chosen], engine.at_once)) as done,
    ):
        for _, (cell, repeats) in done:
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
