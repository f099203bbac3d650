"""Runs of a sweep on other runners than the simulator: one by one, or some side by side.

On the clock of a machine what happens beside a run is in its result. So such runs go on one at a
time, and in each repetition all points (on all such runners) take their turn in an order of its
own: what drifts meanwhile, a busy neighbour, a warm CPU, falls on all alike. That is a randomised
block design.
"""

from __future__ import annotations

import random
import threading
import time
import tomllib
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core
from fullpipe.run import Run, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from typing import Any

    from fullpipe._core import _Rows
    from fullpipe.runners import Runner
    from fullpipe.sweeps.spec import SweepSpec

_LOOK_UP_S = 0.1


class Job(NamedTuple):
    """A run that is to be made.

    Attributes:
        runner: On what.
        number: The run's.
        order: Its place among all jobs of the sweep.
    """

    runner: Runner
    number: int
    order: int


class Finished(NamedTuple):
    """A run that has been made."""

    job: Job
    run: Run
    rows: _Rows
    began: datetime

    @property
    def more(self) -> Mapping[str, Any]:
        """What its rows have besides the metrics."""
        return {"order": self.job.order, "began": self.began}


class Left(NamedTuple):
    """How far jobs are: how many are done, the packets that they moved, and the seconds that the others take."""

    runs: int
    packets: int
    seconds: float | None
    """None where it can't be known."""


def jobs(
    spec: SweepSpec, missing: Mapping[str, Sequence[tuple[int, int]]], runners: Sequence[Runner]
) -> list[Job]:
    """What is to be run in which order: repetition by repetition, and in each of them shuffled by the sweep's identity.

    Args:
        spec: The sweep.
        missing: The runs that are not there yet, of each runner, as ranges of numbers.
        runners: All of the same kind: real-time ones, or none.
    """
    points, found = spec.plan.points, []
    wanted = {
        name: {number for first, end in ranges for number in range(first, end)}
        for name, ranges in missing.items()
    }
    for repetition in range(spec.plan.seeds[1]):
        block = [
            (runner, repetition * points + point) for point in range(points) for runner in runners
        ]
        if any(runner.real_time for runner in runners):
            random.Random(f"{spec.identity} {repetition}").shuffle(block)
        found += [
            Job(runner, number, repetition * len(block) + at)
            for at, (runner, number) in enumerate(block)
        ]
    return [job for job in found if job.number in wanted[job.runner.name]]


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


def one_by_one(
    spec: SweepSpec,
    todo: Sequence[Job],
    level: Callable[[Job, _core.Scenario], str],
    tick: Callable[[Left], object],
) -> Generator[Finished, None, None]:
    """Runs jobs one after the other, in this thread; `tick` is told how far they are."""
    scenarios = {
        point: _scenario(spec, point) for point in {job.number % spec.plan.points for job in todo}
    }
    durations = {point: scenario.duration_s for point, scenario in scenarios.items()}
    by_itself = any(_ends_by_itself(scenario) for scenario in scenarios.values())
    left_s = sum(durations[job.number % spec.plan.points] for job in todo)
    packets, start = 0, time.monotonic()
    done_s = 0.0

    def left(number: int, at_s: float) -> Left:
        # What a run takes besides its own time, or less, as those before it did.
        more_s = (time.monotonic() - start - done_s) / number if number else 0.0
        if by_itself and not number:  # its time is a deadline, and nobody knows how long it takes
            return Left(number, packets, None)
        return Left(number, packets, max(left_s - at_s + more_s * (len(todo) - number), 0))

    for number, job in enumerate(todo):

        def progress(at_s: float, _all: float, _events: int, number: int = number) -> None:
            tick(left(number, at_s))

        progress(0.0, 0.0, 0)
        finished = _run(spec, job, level, progress)
        duration_s = durations[job.number % spec.plan.points]
        left_s, done_s = left_s - duration_s, done_s + duration_s
        packets += finished.run.metrics["packets"]
        yield finished
        tick(left(number + 1, 0.0))


def side_by_side(
    spec: SweepSpec,
    todo: Sequence[Job],
    threads: int,
    level: Callable[[Job, _core.Scenario], str],
    tick: Callable[[Left], object],
) -> Generator[Finished, None, None]:
    """Runs jobs on so many threads, and gives each when it is done. Closed, it ends them."""
    ended = threading.Event()

    def look(_at: float, _all: float, _events: int) -> None:
        if ended.is_set():
            raise KeyboardInterrupt

    executor = ThreadPoolExecutor(max_workers=threads)
    pending = {executor.submit(_run, spec, job, level, look) for job in todo}
    runs = packets = 0
    try:
        while pending:
            done, pending = wait(pending, timeout=_LOOK_UP_S, return_when=FIRST_COMPLETED)
            for each in done:
                finished = each.result()
                runs, packets = runs + 1, packets + finished.run.metrics["packets"]
                yield finished
            tick(Left(runs, packets, None))
    finally:
        ended.set()
        executor.shutdown(cancel_futures=True)


def _run(
    spec: SweepSpec,
    job: Job,
    level: Callable[[Job, _core.Scenario], str],
    progress: Callable[[float, float, int], object],
) -> Finished:
    points, (seed, _) = spec.plan.points, spec.plan.seeds
    point = job.number % points
    scenario = _scenario(spec, point, seed + job.number // points)
    began = datetime.now(UTC)
    result = job.runner.execute(scenario, level(job, scenario), progress)
    return Finished(job, Run(scenario, result), _core.rows([(point, result.metrics_json())]), began)


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
