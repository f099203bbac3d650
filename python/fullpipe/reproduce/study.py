"""Runs what a published file asks for, and judges each cell and claim."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.errors import RunnerError
from fullpipe.reproduce import claims
from fullpipe.reproduce.estimate import Estimate, estimate
from fullpipe.reproduce.runner import Job, Sample, level, sampled
from fullpipe.reproduce.verdict import Record, Verdict, distance, finite
from fullpipe.runners.sim import RUNNER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.reproduce.claims import Claim, Samples
    from fullpipe.reproduce.groups import Point
    from fullpipe.reproduce.published import Published
    from fullpipe.reproduce.runner import Keeper, Tick, Wanted
    from fullpipe.reproduce.tables import Case, Cell
    from fullpipe.runners import Runner

_WINNER = "goodput_mbps"


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
    """A case with its cells judged, and its runs in the order of the seeds; no runs when skipped."""

    case: Case
    cells: tuple[Judged, ...]
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
class Study:
    """All that came of a published file: its rows, its claims, and the runs that the claims are about."""

    outcomes: tuple[Outcome, ...]
    claims: tuple[claims.Judged, ...]
    samples: Samples

    @property
    def verdicts(self) -> list[Verdict]:
        """Those of all cells and claims."""
        return [judged.verdict for outcome in self.outcomes for judged in outcome.cells] + [
            judged.verdict for judged in self.claims
        ]

    @property
    def close(self) -> int:
        """How many of those that are only reported are close enough."""
        cells = [
            (judged.verdict, judged.inside) for outcome in self.outcomes for judged in outcome.cells
        ]
        return [*cells, *((judged.verdict, judged.inside) for judged in self.claims)].count(
            (Verdict.REPORT, True)
        )


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
    keeper: Keeper | None = None,
) -> Study:
    """Runs every case whose algorithms exist and every point of a claim or picture, and judges them.

    Args:
        published: What to run; :meth:`Published.only` and :meth:`Published.with_seeds` make it less.
        tick: Called after each run, from any thread.
        keeper: Is told of each run; what it has is not run.
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
    jobs = [Job(point.name, point.setup, point.seeds, those) for point, those in wanted.items()]
    runs = sampled(jobs, tick, runner, keeper)
    samples = dict(zip(wanted, runs, strict=True))
    return Study(
        tuple(
            judge(case, samples.get(case.point, ()), refused.get(case.point, ""))
            for case in published.cases
        ),
        tuple(judged for claim in published.claims for judged in _claimed(claim, samples, refused)),
        samples,
    )


def _claimed(claim: Claim, samples: Samples, refused: Mapping[Point, str]) -> list[claims.Judged]:
    why = dict.fromkeys(refused[point] for point in claim.points if point in refused)
    return [claims.skipped(claim, "; ".join(why))] if why else claims.judge(claim, samples)


def _split(published: Published, runner: Runner) -> tuple[dict[Point, Wanted], dict[Point, str]]:
    """What is run and what is wanted of it; and of what the runner refuses, why."""
    wanted = _wanted(published)
    if runner.name == "sim":
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


def judge(case: Case, runs: tuple[Sample, ...], refused: str = "") -> Outcome:
    """Compares the runs of a case with what was published; without runs its cells are skipped."""
    return Outcome(case, tuple(_judged(cell, case, runs, refused) for cell in case.cells), runs)


def _judged(cell: Cell, case: Case, runs: tuple[Sample, ...], refused: str) -> Judged:
    if not runs:
        reason = refused or f"no {' or '.join(missing(case))} here yet"
        return Judged(cell, None, Verdict.SKIPPED, None, reason)
    metric = cell.metric
    ours = estimate(metric.over, [run.values[metric.measure, metric.flow] for run in runs])
    low, high = cell.tolerance.interval(cell.published)
    inside = low <= ours.value <= high  # False for NaN
    winner = cell.same_winner is None or _same_winner(cell.same_winner, runs)
    if cell.report is not None:
        return Judged(cell, ours, Verdict.REPORT, inside and winner, cell.report)
    if not inside:
        return Judged(cell, ours, Verdict.MISSED, False, distance(ours.value, low, high))
    if not winner:
        return Judged(cell, ours, Verdict.MISSED, False, "the other flow wins")
    return Judged(cell, ours, Verdict.MET, True, "")


def _same_winner(published: tuple[float, float], runs: tuple[Sample, ...]) -> bool:
    first, second = (fmean(run.values[_WINNER, flow] for run in runs) for flow in (0, 1))
    return (published[0] > published[1]) == (first > second)


def records(study: Study) -> list[Record]:
    """Cells and claims as `--json` prints them."""
    return [
        _record(outcome.case.name, judged) for outcome in study.outcomes for judged in outcome.cells
    ] + [
        Record(
            case=judged.case,
            metric=judged.claim.metric,
            published=judged.claim.published,
            ours=finite(judged.ours.value),
            tolerance=(finite(judged.claim.within[0]), finite(judged.claim.within[1])),
            verdict=judged.verdict.value,
        )
        for judged in study.claims
    ]


def _record(case: str, judged: Judged) -> Record:
    return Record(
        case=case,
        metric=judged.cell.metric.name,
        published=judged.cell.published,
        ours=None if judged.ours is None else finite(judged.ours.value),
        tolerance=judged.cell.tolerance.interval(judged.cell.published),
        verdict=judged.verdict.value,
    )
