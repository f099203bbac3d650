"""Runs the cases of a published table and judges each cell."""

from __future__ import annotations

import math
import os
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from threading import Event
from typing import TYPE_CHECKING, TypedDict

from fullpipe import _core
from fullpipe.reproduce.measures import MEASURES, Estimate, jain
from fullpipe.run import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fullpipe.metrics import Metrics
    from fullpipe.reproduce.published import Case, Cell, Published
    from fullpipe.run import Run

    Tick = Callable[[], object]


class Verdict(StrEnum):
    """What came of a cell."""

    MET = "met"
    MISSED = "missed"
    REPORT = "report"
    """Printed and compared, not judged."""
    SKIPPED = "skipped"
    """Not run."""


class Record(TypedDict):
    """A cell as `--json` prints it, in the units of the published column.

    `tolerance` is the least and the greatest value that is close enough; `ours` is None when the case was not run.
    """

    case: str
    metric: str
    published: float
    ours: float | None
    tolerance: tuple[float, float]
    verdict: str


@dataclass(frozen=True)
class Judged:
    """A cell with what came of it; `inside` is whether ours is close enough, None when it was not run."""

    cell: Cell
    ours: Estimate | None
    verdict: Verdict
    inside: bool | None
    reason: str


@dataclass(frozen=True)
class Outcome:
    """A case with its cells judged, and the metrics of its runs in the order of the seeds; no runs when skipped."""

    case: Case
    cells: tuple[Judged, ...]
    runs: tuple[Metrics, ...]

    @property
    def jain(self) -> float | None:
        """Jain's index of the flows' goodputs, mean over the runs; None for a single flow and when skipped."""
        return jain(self.runs)

    @property
    def skipped(self) -> bool:
        """Whether the case was not run."""
        return not self.runs


def missing(case: Case) -> list[str]:
    """The algorithms of a case that do not exist here."""
    known = {algorithm["name"] for algorithm in _core.algorithms()}
    return sorted(set(case.ccs) - known)


def count_runs(cases: Iterable[Case], seeds: int) -> int:
    """How many runs :func:`study` will make."""
    return seeds * sum(not missing(case) for case in cases)


def study(published: Published, cases: Sequence[Case], seeds: int, tick: Tick = lambda: None) -> list[Outcome]:
    """Runs every case whose algorithms exist, with the seeds 1 to `seeds`, and judges it.

    Args:
        published: The table, which errors name.
        cases: Its cases, or those of a variant, or some of them.
        seeds: Runs of each case.
        tick: Called after each run, from any thread.

    Raises:
        ScenarioError: When a case's scenario is refused.
    """
    over = Event()

    def still_wanted(_done_s: float, _duration_s: float, _events: int) -> None:
        if over.is_set():
            raise CancelledError

    def one(case: Case, seed: int) -> Metrics:
        metrics = run(scenario(published, case, seed), progress=still_wanted).metrics
        tick()
        return metrics

    executor = ThreadPoolExecutor(max_workers=os.cpu_count() or 1)  # the core runs without the interpreter's lock
    try:
        pending = [
            [executor.submit(one, case, seed) for seed in range(1, seeds + 1)] if not missing(case) else []
            for case in cases
        ]
        runs = [tuple(each.result() for each in futures) for futures in pending]
    finally:
        over.set()  # for the runs that go on when one was refused, or all are interrupted
        executor.shutdown(cancel_futures=True)
    return [judge(case, those) for case, those in zip(cases, runs, strict=True)]


def scenario(published: Published, case: Case, seed: int) -> _core.Scenario:
    """The checked scenario of a case.

    Raises:
        ScenarioError: When it is refused.
    """
    return _core.Scenario.parse(case.scenario, f"{published.file}: {case.name}", [], seed)


def traced(published: Published, case: Case, seed: int = 1) -> Run:
    """One run of a case again, with a trace.

    Raises:
        ScenarioError: When the scenario is refused.
    """
    return run(scenario(published, case, seed), trace="ack")


def judge(case: Case, runs: tuple[Metrics, ...]) -> Outcome:
    """Compares the runs of a case with what was published; without runs its cells are skipped."""
    return Outcome(case, tuple(_judged(cell, case, runs) for cell in case.cells), runs)


def _judged(cell: Cell, case: Case, runs: tuple[Metrics, ...]) -> Judged:
    if not runs:
        return Judged(cell, None, Verdict.SKIPPED, None, f"no {' or '.join(missing(case))} here yet")
    ours = MEASURES[cell.metric.measure](runs, cell.metric.flow)
    low, high = cell.tolerance.interval(cell.published)
    inside = low <= ours.value <= high  # False for NaN
    winner = cell.same_winner is None or _same_winner(cell.same_winner, runs)
    if cell.report is not None:
        return Judged(cell, ours, Verdict.REPORT, inside and winner, cell.report)
    if not inside:
        return Judged(cell, ours, Verdict.MISSED, False, _distance(ours.value, low, high))
    if not winner:
        return Judged(cell, ours, Verdict.MISSED, False, "the other flow wins")
    return Judged(cell, ours, Verdict.MET, True, "")


def _same_winner(published: tuple[float, float], runs: tuple[Metrics, ...]) -> bool:
    measure = MEASURES["goodput_mbps"]
    return (published[0] > published[1]) == (measure(runs, 0).value > measure(runs, 1).value)


def _distance(ours: float, low: float, high: float) -> str:
    if math.isnan(ours):
        return "no sample"
    return f"{low - ours:.3g} too low" if ours < low else f"{ours - high:.3g} too high"


def records(outcomes: Iterable[Outcome]) -> list[Record]:
    """The cells as `--json` prints them."""
    return [
        Record(
            case=outcome.case.name,
            metric=judged.cell.metric.name,
            published=judged.cell.published,
            ours=None if judged.ours is None or math.isnan(judged.ours.value) else judged.ours.value,
            tolerance=judged.cell.tolerance.interval(judged.cell.published),
            verdict=judged.verdict.value,
        )
        for outcome in outcomes
        for judged in outcome.cells
    ]
