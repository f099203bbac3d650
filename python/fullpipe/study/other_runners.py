"""Runs of a sweep on runners other than the simulator: one at a time, or on threads.

On the clock of a machine, other activity of the machine disturbs a run. So such runs execute one at
a time. In each repetition all points on all such runners run in a new random order, so that slow
changes (a busy neighbor, a warm CPU) affect all of them equally: a randomized block design.
"""

from __future__ import annotations

import time
import tomllib
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core
from fullpipe._core import ScenarioError
from fullpipe.errors import FailedRunsError
from fullpipe.run import Run, parse
from fullpipe.study.engine import HERE, Shard, Step
from fullpipe.study.threads import blocks, on_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from fullpipe.runners import Progress, Runner
    from fullpipe.study.engine import Engine
    from fullpipe.study.spec import SweepSpec

    Level = Callable[[int, _core.Scenario], str]
    Execute = Callable[["ScheduledRun", Progress], "Made"]


IN_A_ROW = 3
"""Failed runs in a row that end a sweep: each further run would probably fail likewise."""


class Failures:
    """The runs of a sweep that failed: a program that fails once in twenty runs does not end a sweep of a night."""

    def __init__(self, note: Callable[[str], object]) -> None:
        """Starts without failures; `note` prints each of them."""
        self._note = note
        self._all: list[ScenarioError] = []
        self._in_a_row = 0

    def add(self, error: ScenarioError | None) -> None:
        """Counts a run: its error, or None for a success.

        Raises:
            FailedRunsError: When it is the third failure in a row.
        """
        if error is None:
            self._in_a_row = 0
            return
        self._all.append(error)
        self._in_a_row += 1
        self._note(f"a run failed: {str(error).splitlines()[0]}")
        if self._in_a_row == IN_A_ROW:
            first = self._all[-IN_A_ROW]
            raise FailedRunsError(f"{IN_A_ROW} runs in a row failed", first, in_a_row=True)

    def refuse(self) -> None:
        """Reports the failures at the end.

        Raises:
            FailedRunsError: When there are any.
        """
        if self._all:
            count = len(self._all)
            what = f"{count} run{'s' if count > 1 else ''} failed"
            raise FailedRunsError(what, self._all[0])


class ScheduledRun(NamedTuple):
    """A run to execute.

    Attributes:
        runner: Its runner.
        number: The run's number.
        order: Its place among all runs of the sweep.
    """

    runner: Runner
    number: int
    order: int


class Made(NamedTuple):
    """The result of a scheduled run.

    Attributes:
        shard: The run; None if it failed.
        packets: The packets that it moved.
        error: Why it failed.
    """

    shard: Shard | None
    packets: int = 0
    error: ScenarioError | None = None


def schedule(
    spec: SweepSpec, missing: Mapping[str, Sequence[tuple[int, int]]], runners: Sequence[Runner]
) -> list[ScheduledRun]:
    """Returns the missing runs in their order: by repetition, each shuffled by the sweep's identity in real time.

    Args:
        spec: The sweep.
        missing: The ranges of run numbers that are missing, by runner.
        runners: The runners: all real-time ones, or none of them.
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


def steps(
    spec: SweepSpec,
    todo: Sequence[ScheduledRun],
    *,
    level: Level = lambda _number, _scenario: "off",
    engine: Engine = HERE,
    show: Callable[[Step], object] = lambda _: None,
    failures: Failures | None = None,
) -> Generator[Step, None, None]:
    """Executes runs, all on real-time runners or on none; each is a shard of its own. Closing the generator ends them.

    Args:
        spec: The sweep.
        todo: The runs, in their order.
        level: Returns the trace level for a run's number and scenario.
        engine: The number of runs at a time, on runners that allow it.
        show: Called with the progress between the steps that it yields.
        failures: Collects failed runs, which then have no shard.

    Raises:
        ScenarioError: When a run fails, unless `failures` collects it.
        FailedRunsError: When too many fail.
    """
    execute = partial(_run, spec, level)

    def counted(made: Made) -> Made:
        if made.error is not None and failures is None:
            raise made.error
        if failures is not None:
            failures.add(made.error)
        return made

    if any(run.runner.real_time for run in todo):
        yield from _one_by_one(spec, todo, execute, counted, show)
    else:
        yield from _side_by_side(todo, execute, counted, engine.at_once, show)


def _one_by_one(
    spec: SweepSpec,
    todo: Sequence[ScheduledRun],
    execute: Execute,
    counted: Callable[[Made], Made],
    show: Callable[[Step], object],
) -> Generator[Step, None, None]:
    """Executes runs one at a time, in the caller's thread."""
    points = spec.plan.points
    scenarios = {point: scenario_of(spec, point) for point in {run.number % points for run in todo}}
    durations = {point: scenario.duration_s for point, scenario in scenarios.items()}
    unknown = any(_ends_by_itself(scenario) for scenario in scenarios.values())
    rest_s = sum(durations[run.number % points] for run in todo)
    packets, start, done_s = 0, time.monotonic(), 0.0

    def at(runs: int, at_s: float) -> Step:
        # The mean difference between a run's real time and its duration, in the runs so far.
        more_s = (time.monotonic() - start - done_s) / runs if runs else 0.0
        if unknown and not runs:  # the duration is only a limit, so no estimate is possible
            return Step(runs, packets)
        left_s = max(rest_s - at_s + more_s * (len(todo) - runs), 0)
        return Step(runs, packets, left_s=left_s)

    for number, run in enumerate(todo):

        def progress(at_s: float, _all: float, _events: int, number: int = number) -> None:
            show(at(number, at_s))

        progress(0.0, 0.0, 0)
        made = counted(execute(run, progress))
        duration_s = durations[run.number % points]
        rest_s, done_s, packets = rest_s - duration_s, done_s + duration_s, packets + made.packets
        yield at(number + 1, 0.0)._replace(shard=made.shard)


def _side_by_side(
    todo: Sequence[ScheduledRun],
    execute: Execute,
    counted: Callable[[Made], Made],
    threads: int,
    show: Callable[[Step], object],
) -> Generator[Step, None, None]:
    runs = packets = 0
    calls = [partial(execute, run) for run in todo]
    with closing(on_threads(calls, threads, lambda: show(Step(runs, packets)))) as done:
        for _, made in done:
            runs, packets = runs + 1, packets + counted(made).packets
            yield Step(runs, packets, made.shard)


def _run(spec: SweepSpec, level: Level, run: ScheduledRun, progress: Progress) -> Made:
    """Executes a run."""
    points, (seed, _) = spec.plan.points, spec.plan.seeds
    point = run.number % points
    scenario = scenario_of(spec, point, seed + run.number // points)
    began = datetime.now(UTC)
    wanted = level(run.number, scenario)
    try:
        result = run.runner.execute(scenario, wanted, progress)
    except ScenarioError as error:
        return Made(None, error=error)
    rows = _core.rows([(point, result.metrics_json())])
    finished = Run(scenario, result, wanted)
    more = {"order": run.order, "began": began}
    shard = Shard(run.number, run.number + 1, rows, run.runner.name, more, finished)
    return Made(shard, finished.metrics["packets"])


def _ends_by_itself(scenario: _core.Scenario) -> bool:
    """Whether the run ends when all transfers are complete, possibly before its duration."""
    return all("bytes" in flow for flow in tomllib.loads(scenario.to_toml()).get("flow", [{}]))


def scenario_of(spec: SweepSpec, point: int, seed: int | None = None) -> _core.Scenario:
    """Returns the scenario of a run, without an added `send_jitter`, since a real sender has jitter of its own."""
    text = spec.plan.scenarios(point, point + 1)[0]
    added = {key: "0s" for key, _, _ in spec.added_jitter if key == "send_jitter"}
    return parse(
        text, f"{spec.file}, point {point}", seed=seed, set=added, controllers=spec.controllers
    )
