"""Runs scenarios with many seeds side by side, and keeps of each run the numbers that are asked for."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from random import Random
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from fullpipe import _core
from fullpipe.reproduce.measures import MEASURES, TRACED
from fullpipe.run import Run
from fullpipe.runners.sim import RUNNER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from fullpipe.metrics import Metrics
    from fullpipe.reproduce.measures.ran import Ran
    from fullpipe.runners import Runner

    Tick = Callable[[], object]

T = TypeVar("T")

_LOOK_UP_S = 0.2

Wanted = frozenset[tuple[str, int]]
"""Measures by name, each with the flow that it is of, counted from 0."""


@dataclass(frozen=True)
class Setup:
    """A scenario before its seed: text, what errors call it, keys with other values, and how it is traced."""

    text: str
    where: str
    settings: tuple[tuple[str, str], ...] = ()
    trace: str = "off"

    def scenario(self, seed: int) -> _core.Scenario:
        """The checked scenario.

        Raises:
            ScenarioError: When it is refused.
        """
        return _core.Scenario.parse(self.text, self.where, self.settings, seed)

    def run(self, seed: int = 1, trace: str | None = None, runner: Runner = RUNNER) -> Run:
        """One run, traced as said, or as `trace` says.

        Raises:
            ScenarioError: When it is refused.
        """
        scenario, level = self.scenario(seed), trace or self.trace
        runner.refuse(scenario, level)
        return Run(scenario, runner.execute(scenario, level, None))

    def written(self) -> str:
        """TOML that runs the same: the text, or with settings all that is resolved from it."""
        if not self.settings:
            return self.text
        return self.scenario(1).to_toml()


@dataclass(frozen=True)
class Sample:
    """What is kept of a run: its metrics, and a number a measure and flow."""

    metrics: Metrics
    values: Mapping[tuple[str, int], float]


def sample(ran: Ran, wanted: Iterable[tuple[str, int]]) -> Sample:
    """Takes the numbers that are wanted of a run, which may be forgotten then."""
    return Sample(ran.metrics, {(name, flow): MEASURES[name](ran, flow) for name, flow in wanted})


def sampled(
    jobs: Sequence[tuple[Setup, int, Wanted]], tick: Tick = lambda: None, runner: Runner = RUNNER
) -> list[tuple[Sample, ...]]:
    """Runs each setup with the seeds 1 to so many; a trace is recorded only for a measure that needs one.

    Args:
        jobs: Setups, each with its number of seeds and what is wanted of its runs.
        tick: Called after each run, from any thread.
        runner: What they run on.

    Raises:
        ScenarioError: When a scenario is refused.
    """
    return side_by_side(
        [(setup, seeds, level(setup, wanted), partial(sample, wanted=wanted)) for setup, seeds, wanted in jobs],
        tick,
        runner,
    )


def level(setup: Setup, wanted: Wanted) -> str:
    """What has to be recorded of a setup's runs."""
    return setup.trace if any(name in TRACED for name, _ in wanted) else "off"


def side_by_side(
    jobs: Sequence[tuple[Setup, int, str, Callable[[Run], T]]], tick: Tick = lambda: None, runner: Runner = RUNNER
) -> list[tuple[T, ...]]:
    """Runs each setup with the seeds 1 to so many on all cores, and hands back what is made of each run.

    On a machine's clock they go one at a time, in this thread: seed by seed, and of each seed in an order of its own,
    so that what drifts meanwhile falls on all alike.

    Args:
        jobs: Setups, each with its number of seeds, the trace's level, and what a run is reduced to in its thread.
        tick: Called after each run, from any thread.
        runner: What they run on.

    Raises:
        ScenarioError: When a scenario is refused.
    """
    if runner.real_time:
        return _in_turn(jobs, tick, runner)
    over = Event()

    def still_wanted(_done_s: float, _duration_s: float, _events: int) -> None:
        if over.is_set():
            raise CancelledError

    def one(setup: Setup, seed: int, trace: str, reduce: Callable[[Run], T]) -> T:
        scenario = setup.scenario(seed)
        runner.refuse(scenario, trace)
        made = reduce(Run(scenario, runner.execute(scenario, trace, still_wanted)))
        tick()
        return made

    executor = ThreadPoolExecutor(max_workers=os.cpu_count() or 1)  # the core runs without the interpreter's lock
    try:
        pending = [
            [executor.submit(one, setup, seed, trace, reduce) for seed in range(1, seeds + 1)]
            for setup, seeds, trace, reduce in jobs
        ]
        _wait([each for futures in pending for each in futures])
    finally:
        over.set()  # for the runs that go on when one was refused, or all are interrupted
        executor.shutdown(cancel_futures=True)
    return [tuple(each.result() for each in futures) for futures in pending]


def _in_turn(
    jobs: Sequence[tuple[Setup, int, str, Callable[[Run], T]]], tick: Tick, runner: Runner
) -> list[tuple[T, ...]]:
    made: list[dict[int, T]] = [{} for _ in jobs]
    for seed in range(1, max((seeds for _, seeds, _, _ in jobs), default=0) + 1):
        turns = [number for number, (_, seeds, _, _) in enumerate(jobs) if seed <= seeds]
        Random(seed).shuffle(turns)
        for number in turns:
            setup, _, trace, reduce = jobs[number]
            scenario = setup.scenario(seed)
            runner.refuse(scenario, trace)
            made[number][seed] = reduce(Run(scenario, runner.execute(scenario, trace, None)))
            tick()
    return [tuple(those[seed] for seed in sorted(those)) for those in made]


def _wait(futures: Iterable[Future[T]]) -> None:
    """Waits until all are done; raises what the first one raises that fails.

    It looks up now and then: once polars is loaded, whose handler restarts system calls, Ctrl-C does not end a wait.
    """
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=_LOOK_UP_S, return_when=FIRST_EXCEPTION)
        for each in done:
            each.result()
