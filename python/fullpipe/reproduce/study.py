"""Runs what a published file asks for, and judges each cell and claim."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.errors import RunnerError
from fullpipe.reproduce import claims
from fullpipe.reproduce.runner import Sample, level, sampled
from fullpipe.runners import is_simulator
from fullpipe.runners.sim import RUNNER
from fullpipe.verdicts.estimate import Estimate, estimate
from fullpipe.verdicts.judged import Judged, Verdict, held

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.reproduce.claims import Claim, Samples
    from fullpipe.reproduce.groups import Point
    from fullpipe.reproduce.published import Published
    from fullpipe.reproduce.runner import Stored, Tick, Wanted
    from fullpipe.reproduce.tables import Case, Cell
    from fullpipe.runners import Runner
    from fullpipe.verdicts.judged import CameTo, Within

_WINNER = "goodput_mbps"


@dataclass(frozen=True)
class CaseOutcome:
    """A case with its cells judged, and its runs in the order of the seeds; no runs when skipped."""

    case: Case
    cells: tuple[Judged[Cell], ...]
    runs: tuple[Sample, ...]

    @property
    def jain(self) -> float | None:
        """Jain's index of the flows' goodputs, mean over the runs; None for a single flow and when skipped."""
        known = [run.metrics["jain"] for run in self.runs if len(run.metrics["flows"]) > 1]
        return fmean(each for each in known if each is not None) if any(known) else None

    @property
    def skipped(self) -> bool:
        """Whether the case was not run."""
        return not self.runs


@dataclass(frozen=True)
class StudyOutcome:
    """All that came of a published file: its rows, its claims, and the runs that the claims are about."""

    outcomes: tuple[CaseOutcome, ...]
    claims: tuple[Judged[Claim], ...]
    samples: Samples

    @property
    def judged(self) -> list[Judged[Any]]:
        """All cells and claims."""
        return [*(cell for outcome in self.outcomes for cell in outcome.cells), *self.claims]

    @property
    def verdicts(self) -> list[Verdict]:
        """Those of all cells and claims."""
        return [each.verdict for each in self.judged]


def missing(case: Case) -> list[str]:
    """The algorithms of a case that do not exist here."""
    known = {algorithm["name"] for algorithm in _core.algorithms()}
    return sorted(set(case.ccs) - known)


def count_runs(published: Published, runner: Runner = RUNNER) -> int:
    """How many runs :func:`study` will make."""
    wanted, _ = _split(published, runner)
    return sum(point.seeds for point in wanted)


def variants(published: Published) -> list[tuple[str, Published]]:
    """Each variant of the tables by name, to be studied by itself."""
    return [
        (name, replace(published, cases=cases, variants=(), claims=(), pictures=()))
        for name, cases in published.variants
    ]


def study(
    published: Published,
    tick: Tick = lambda: None,
    runner: Runner = RUNNER,
    stored: Stored | None = None,
) -> StudyOutcome:
    """Runs every case whose algorithms exist and every point of a claim or picture, and judges them.

    Args:
        published: What to run; :meth:`Published.only` and :meth:`Published.with_seeds` make it less.
        tick: Called after each run.
        stored: Stores each run; what it has is not run.
        runner: What it runs on. Cases and claims that need what another than the simulator refuses are skipped.

    Raises:
        ScenarioError: When a scenario is refused.
        RunnerError: When the runner refuses all that there is.
    """
    wanted, refused = _split(published, runner)
    if refused and not wanted:
        reasons = "; ".join(dict.fromkeys(refused.values()))
        raise RunnerError(
            f"--on {runner.name}: nothing of {published.name} can be run there: {reasons}\n  fix: run it on sim"
        )
    samples = sampled(wanted, tick, runner, stored)
    return StudyOutcome(
        tuple(
            judge(case, samples.get(case.point, ()), refused.get(case.point, ""))
            for case in published.cases
        ),
        tuple(judged for claim in published.claims for judged in _claimed(claim, samples, refused)),
        samples,
    )


def _claimed(claim: Claim, samples: Samples, refused: Mapping[Point, str]) -> list[Judged[Claim]]:
    why = dict.fromkeys(refused[point] for point in claim.points if point in refused)
    return [claims.skipped(claim, "; ".join(why))] if why else claims.judge(claim, samples)


def _split(published: Published, runner: Runner) -> tuple[dict[Point, Wanted], dict[Point, str]]:
    """What is run and what is wanted of it; and of what the runner refuses, why."""
    wanted = _wanted(published)
    if is_simulator(runner):
        return wanted, {}
    refused = {}
    for point, those in wanted.items():
        try:
            runner.refuse(point.setup.scenario(1), level(point.setup, those))
        except _core.ScenarioError as error:
            refused[point] = error.problem
    # What a claim compares with something that is refused is not run for it alone.
    used = {case.point for case in published.cases}
    for claim in published.claims:
        if not any(point in refused for point in claim.points):
            used.update(claim.points)
    return {
        point: those for point, those in wanted.items() if point in used and point not in refused
    }, refused


def _wanted(published: Published) -> dict[Point, Wanted]:
    """What is run, and what is wanted of it."""
    wanted: dict[Point, set[tuple[str, int]]] = defaultdict(set)
    for case in published.cases:
        if not missing(case):
            wanted[case.point] |= {(cell.metric.measure, cell.metric.flow) for cell in case.cells}
            wanted[case.point] |= {
                (_WINNER, flow) for cell in case.cells if cell.same_winner for flow in (0, 1)
            }
    for claim in published.claims:
        for point in claim.points:
            wanted[point].add((claim.measure, claim.flow))
    for picture in published.pictures:
        for point in picture.points if picture.measure else ():
            wanted[point].add((picture.measure, picture.flow))
    return {point: frozenset(those) for point, those in wanted.items()}


def judge(case: Case, runs: tuple[Sample, ...], refused: str = "") -> CaseOutcome:
    """Compares the runs of a case with what was published; without runs its cells are skipped."""
    return CaseOutcome(case, tuple(_judged(cell, case, runs, refused) for cell in case.cells), runs)


def _judged(cell: Cell, case: Case, runs: tuple[Sample, ...], refused: str) -> Judged[Cell]:
    metric, within = cell.metric, cell.tolerance.interval(cell.published)
    values = [run.values[metric.measure, metric.flow] for run in runs]
    ours = estimate(metric.over, values) if runs else Estimate(math.nan)
    came_to = _held(cell, ours, within, runs) if runs else _skipped(case, refused)
    return Judged(cell, case.name, metric.name, cell.published, ours, within, *came_to)


def _skipped(case: Case, refused: str) -> CameTo:
    return Verdict.SKIPPED, None, refused or f"no {' or '.join(missing(case))} here yet"


def _held(cell: Cell, ours: Estimate, within: Within, runs: tuple[Sample, ...]) -> CameTo:
    verdict, inside, reason = held(ours, within, cell.report)
    if inside and cell.same_winner and not _same_winner(cell.same_winner, runs):
        if verdict is Verdict.REPORT:
            return verdict, False, reason
        return Verdict.MISSED, False, "the other flow wins"
    return verdict, inside, reason


def _same_winner(published: tuple[float, float], runs: tuple[Sample, ...]) -> bool:
    first, second = (fmean(run.values[_WINNER, flow] for run in runs) for flow in (0, 1))
    return (published[0] > published[1]) == (first > second)
