"""Runs the cases and claims of a published file, and judges each of them."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.errors import RunnerError
from fullpipe.runners import is_simulator, refuse
from fullpipe.runners.sim import RUNNER
from fullpipe.stats.steady import of_runs
from fullpipe.study.engine import HERE
from fullpipe.study.reproduce import claims
from fullpipe.study.reproduce.measures import bounds
from fullpipe.study.reproduce.runner import Sample, level, sampled
from fullpipe.study.verdicts.estimate import Estimate, estimate
from fullpipe.study.verdicts.judged import Judged, Verdict, held

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.runners import Runner
    from fullpipe.stats.steady import Steadiness
    from fullpipe.study.engine import Engine
    from fullpipe.study.reproduce.claims import Claim, Samples
    from fullpipe.study.reproduce.groups import Point
    from fullpipe.study.reproduce.published import Published
    from fullpipe.study.reproduce.runner import Stored, Tick, Wanted
    from fullpipe.study.reproduce.tables import Case, Cell
    from fullpipe.study.verdicts.judged import CameTo, Within

_WINNER = "goodput_mbps"


@dataclass(frozen=True)
class CaseOutcome:
    """A case with its judged cells, and its runs in the order of seeds; no runs if it was skipped."""

    case: Case
    cells: tuple[Judged[Cell], ...]
    runs: tuple[Sample, ...]

    @property
    def jain(self) -> float | None:
        """Jain's index of the flows' goodputs, mean over the runs; None with a single flow or if skipped."""
        known = [run.metrics["jain"] for run in self.runs if len(run.metrics["flows"]) > 1]
        return fmean(each for each in known if each is not None) if any(known) else None

    @property
    def skipped(self) -> bool:
        """Whether the case was not run."""
        return not self.runs


@dataclass(frozen=True)
class StudyOutcome:
    """Results of a published file: its rows, its claims, and the runs of the claims."""

    outcomes: tuple[CaseOutcome, ...]
    claims: tuple[Judged[Claim], ...]
    samples: Samples

    @property
    def judged(self) -> list[Judged[Any]]:
        """All judged cells and claims."""
        return [*(cell for outcome in self.outcomes for cell in outcome.cells), *self.claims]

    @cached_property
    def steadiness(self) -> dict[str, Steadiness]:
        """Whether the numbers of each point's flows are steady within the measured window, by the point's name."""
        return {
            point.name: of_runs([run.metrics for run in runs])
            for point, runs in self.samples.items()
            if runs
        }

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts on all cells and claims."""
        return [each.verdict for each in self.judged]


def missing(case: Case) -> list[str]:
    """Returns the algorithms of a case that fullpipe does not have."""
    known = {algorithm["name"] for algorithm in _core.algorithms()}
    return sorted(set(case.ccs) - known)


def count_runs(published: Published, runner: Runner = RUNNER) -> int:
    """Returns the number of runs that :func:`study` makes."""
    wanted, _ = split(published, runner)
    return sum(point.seeds for point in wanted)


def variants(published: Published) -> list[tuple[str, Published]]:
    """Returns each variant of the tables as a separate study, with its name."""
    return [
        (name, replace(published, cases=cases, variants=(), claims=(), pictures=()))
        for name, cases in published.variants
    ]


def study(
    published: Published,
    tick: Tick = lambda: None,
    runner: Runner = RUNNER,
    stored: Stored | None = None,
    engine: Engine = HERE,
) -> StudyOutcome:
    """Runs every case whose algorithms exist and every point of a claim or figure, and judges them.

    Args:
        published: The study; :meth:`Published.only` and :meth:`Published.with_seeds` reduce it.
        tick: Called after each run.
        stored: Store of samples; runs that it has are not repeated.
        runner: The runner. Cases and claims that it does not support are skipped.
        engine: Where the runs execute.

    Raises:
        ScenarioError: When a scenario is invalid.
        RunnerError: When the runner supports nothing of the study.
    """
    wanted, refused = split(published, runner)
    if refused and not wanted:
        reasons = "; ".join(dict.fromkeys(refused.values()))
        raise RunnerError(
            f"--on {runner.name}: can't run any part of {published.name}: {reasons}\n  fix: run it on sim"
        )
    return judged(published, sampled(wanted, tick, runner, stored, engine), refused)


def judged(published: Published, samples: Samples, refused: Mapping[Point, str]) -> StudyOutcome:
    """Judges every case and claim of a study by the samples of its points; `refused` has points with reasons."""
    return StudyOutcome(
        tuple(
            judge(case, samples.get(case.point, ()), refused.get(case.point, ""))
            for case in published.cases
        ),
        tuple(each for claim in published.claims for each in _claimed(claim, samples, refused)),
        samples,
    )


def _claimed(claim: Claim, samples: Samples, refused: Mapping[Point, str]) -> list[Judged[Claim]]:
    why = dict.fromkeys(refused[point] for point in claim.points if point in refused)
    return [claims.skipped(claim, "; ".join(why))] if why else claims.judge(claim, samples)


def split(published: Published, runner: Runner) -> tuple[dict[Point, Wanted], dict[Point, str]]:
    """Returns the points to run with the numbers wanted, and the unsupported points with reasons."""
    wanted = _wanted(published)
    if is_simulator(runner):
        return wanted, {}
    refused = {}
    for point, those in wanted.items():
        try:
            refuse(runner, point.setup.scenario(1), level(point.setup, those))
        except _core.ScenarioError as error:
            refused[point] = error.problem
    # A point is not run if only claims need it that also need an unsupported point.
    used = {case.point for case in published.cases}
    for claim in published.claims:
        if not any(point in refused for point in claim.points):
            used.update(claim.points)
    return {
        point: those for point, those in wanted.items() if point in used and point not in refused
    }, refused


def _wanted(published: Published) -> dict[Point, Wanted]:
    """Returns the points to run, with the numbers wanted of each."""
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
    """Compares the runs of a case with the published values; without runs its cells are skipped."""
    return CaseOutcome(case, tuple(_judged(cell, case, runs, refused) for cell in case.cells), runs)


def _judged(cell: Cell, case: Case, runs: tuple[Sample, ...], refused: str) -> Judged[Cell]:
    metric, within = cell.metric, cell.tolerance.interval(cell.published)
    values = [run.values[metric.measure, metric.flow] for run in runs]
    ours = estimate(metric.over, values, bounds(metric.measure)) if runs else Estimate(math.nan)
    came_to = _held(cell, ours, within, runs) if runs else _skipped(case, refused)
    return Judged(cell, case.name, metric.name, cell.published, ours, within, *came_to)


def _skipped(case: Case, refused: str) -> CameTo:
    return Verdict.SKIPPED, None, refused or f"fullpipe has no {' or '.join(missing(case))} yet"


def _held(cell: Cell, ours: Estimate, within: Within, runs: tuple[Sample, ...]) -> CameTo:
    verdict, inside, reason = held(ours, within, cell.report)
    if inside and cell.same_winner and not _same_winner(cell.same_winner, runs):
        if verdict is Verdict.REPORT:
            return verdict, False, reason
        return Verdict.MISSED, False, "the other flow has the larger goodput"
    return verdict, inside, reason


def _same_winner(published: tuple[float, float], runs: tuple[Sample, ...]) -> bool:
    first, second = (fmean(run.values[_WINNER, flow] for run in runs) for flow in (0, 1))
    return (published[0] > published[1]) == (first > second)
