"""Runs of a sweep on other runners than the simulator: one by one, or some side by side.

On the clock of a machine what happens beside a run is in its result. So such runs go on one at a
time, and in each repetition all points (on all such runners) take their turn in an order of its
own: what drifts meanwhile, a busy neighbor, a warm CPU, falls on all alike. That is a randomized
block design.
"""

from __future__ import annotations

import time
import tomllib
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core
from fullpipe.batch.executor import blocks, on_threads
from fullpipe.batch.pool import Shard, Step, cores
from fullpipe.run import Run, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from fullpipe.batch.spec import SweepSpec
    from fullpipe.runners import Progress, Runner

    Level = Callable[[int, _core.Scenario], str]


class ScheduledRun(NamedTuple):
    """A run that is to be made.

    Attributes:
        runner: On what.
        number: The run's.
        order: Its place among all runs of the sweep.
    """

    runner: Runner
    number: int
    order: int


def schedule(
    spec: SweepSpec, missing: Mapping[str, Sequence[tuple[int, int]]], runners: Sequence[Runner]
) -> list[ScheduledRun]:
    """What is to be run in which order: repetition by repetition, and in each of them shuffled by the sweep's identity.

    Args:
        spec: The sweep.
        missing: The runs that are not there yet, of each runner, as ranges of numbers.
        runners: All of the same kind: real-time ones, or none.
    """
    points, repetitions = spec.plan.points, range(spec.plan.seeds[1])
    wanted = {
        name: {number for first, end in ranges for number in range(first, end)}
        for name, ranges in missing.items()
    }
    clocked = any(runner.real_time for runner in runners)
    key = (lambda repetition: f"{spec.identity} {repetition}") if clocked else None
    found = (
        ScheduledRun(
            runners[item % len(runners)], repetition * points + item // len(runners), order
        )
        for order, (repetition, item) in enumerate(blocks(points * len(runners), repetitions, key))
    )
    return [run for run in found if run.number in wanted[run.runner.name]]


def refuse(
    spec: SweepSpec, runners: Sequence[Runner], level: Callable[[_core.Scenario], str]
) -> None:
    """Shows every point to every runner, before the first run.

    Raises:
        ScenarioError: When one of them refuses it.
    """
    for point in range(spec.plan.points):
        scenario = _scenario(spec, point)
        for runner in runners:
            runner.refuse(scenario, level(scenario))


def steps(
    spec: SweepSpec,
    todo: Sequence[ScheduledRun],
    *,
    level: Level = lambda _number, _scenario: "off",
    threads: int | None = None,
    show: Callable[[Step], object] = lambda _: None,
) -> Generator[Step, None, None]:
    """Makes runs, all on runners of the same kind; each is a shard of its own. Closed, it ends them.

    Args:
        spec: The sweep.
        todo: Which runs, in which order.
        level: The trace's level, by a run's number and scenario.
        threads: How many side by side, on runners that allow it; None for one a core.
        show: Is shown steps between those that it yields: how far a run is.
    """
    if any(run.runner.real_time for run in todo):
        yield from _one_by_one(spec, todo, level, show)
    else:
        yield from _side_by_side(spec, todo, level, threads or cores(), show)


def _one_by_one(
    spec: SweepSpec, todo: Sequence[ScheduledRun], level: Level, show: Callable[[Step], object]
) -> Generator[Step, None, None]:
    """In this thread."""
    points = spec.plan.points
    scenarios = {point: _scenario(spec, point) for point in {run.number % points for run in todo}}
    durations = {point: scenario.duration_s for point, scenario in scenarios.items()}
    unknown = any(_ends_by_itself(scenario) for scenario in scenarios.values())
    rest_s = sum(durations[run.number % points] for run in todo)
    packets, start, done_s = 0, time.monotonic(), 0.0

    def at(runs: int, at_s: float) -> Step:
        # What a run takes besides its own time, or less, as those before it did.
        more_s = (time.monotonic() - start - done_s) / runs if runs else 0.0
        if unknown and not runs:  # its time is a deadline, and nobody knows how long it takes
            return Step(runs, packets)
        left_s = max(rest_s - at_s + more_s * (len(todo) - runs), 0)
        return Step(runs, packets, left_s=left_s)

    for number, run in enumerate(todo):

        def progress(at_s: float, _all: float, _events: int, number: int = number) -> None:
            show(at(number, at_s))

        progress(0.0, 0.0, 0)
        shard, moved = _run(spec, run, level, progress)
        duration_s = durations[run.number % points]
        rest_s, done_s, packets = rest_s - duration_s, done_s + duration_s, packets + moved
        yield at(number + 1, 0.0)._replace(shard=shard)


def _side_by_side(
    spec: SweepSpec,
    todo: Sequence[ScheduledRun],
    level: Level,
    threads: int,
    show: Callable[[Step], object],
) -> Generator[Step, None, None]:
    runs = packets = 0
    calls = [partial(_run, spec, run, level) for run in todo]
    with closing(on_threads(calls, threads, lambda: show(Step(runs, packets)))) as done:
        for _, (shard, moved) in done:
            runs, packets = runs + 1, packets + moved
            yield Step(runs, packets, shard)


def _run(spec: SweepSpec, run: ScheduledRun, level: Level, progress: Progress) -> tuple[Shard, int]:
    """A run as a shard, and the packets that it moved."""
    points, (seed, _) = spec.plan.points, spec.plan.seeds
    point = run.number % points
    scenario = _scenario(spec, point, seed + run.number // points)
    began = datetime.now(UTC)
    result = run.runner.execute(scenario, level(run.number, scenario), progress)
    rows = _core.rows([(point, result.metrics_json())])
    finished = Run(scenario, result)
    more = {"order": run.order, "began": began}
    shard = Shard(run.number, run.number + 1, rows, run.runner.name, more, finished)
    return shard, finished.metrics["packets"]


def _ends_by_itself(scenario: _core.Scenario) -> bool:
    """Whether the run is over before its time, when all transfers are done."""
    return all("bytes" in flow for flow in tomllib.loads(scenario.to_toml()).get("flow", [{}]))


def _scenario(spec: SweepSpec, point: int, seed: int | None = None) -> _core.Scenario:
    """The scenario of a run. A real sender's jitter is its own: what was added to have seeds differ is left out."""
    text = spec.plan.scenarios(point, point + 1)[0]
    added = {key: "0s" for key, _, _ in spec.plan.added_jitter if key == "send_jitter"}
    return parse(
        text, f"{spec.file}, point {point}", seed=seed, set=added, controllers=spec.controllers
    )
