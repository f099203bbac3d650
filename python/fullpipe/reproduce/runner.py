"""Runs scenarios with many seeds side by side, and keeps of each run the numbers that are asked for."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass
from random import Random
from threading import Event
from typing import TYPE_CHECKING, Protocol, TypeVar

from fullpipe import _core
from fullpipe.reproduce.measures import MEASURES, TRACED
from fullpipe.run import Run
from fullpipe.runners.sim import RUNNER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from fullpipe.metrics import Metrics
    from fullpipe.reproduce.measures.run_view import RunView
    from fullpipe.runners import Runner

    Tick = Callable[[], object]

T = TypeVar("T")

_Todo = tuple["Setup", "Sequence[int]", str, "Callable[[Run], T]"]
"""A setup, the seeds of its runs, the trace's level, and what a run is reduced to."""

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


def sample(ran: RunView, wanted: Iterable[tuple[str, int]]) -> Sample:
    """Takes the numbers that are wanted of a run, which may be forgotten then."""
    return Sample(ran.metrics, {(name, flow): MEASURES[name](ran, flow) for name, flow in wanted})


@dataclass(frozen=True)
class Job:
    """Runs of a setup with the seeds 1 to `seeds`, and what is wanted of them; no other job has its name."""

    name: str
    setup: Setup
    seeds: int
    wanted: Wanted


class Keeper(Protocol):
    """Who keeps finished runs, so that they need not be made again."""

    def get(self, job: Job, seed: int) -> Sample | None:
        """A run that was made before."""

    def add(self, job: Job, seed: int, made: Sample) -> None:
        """A run has been made; from any thread."""


def sampled(
    jobs: Sequence[Job],
    tick: Tick = lambda: None,
    runner: Runner = RUNNER,
    keeper: Keeper | None = None,
) -> list[tuple[Sample, ...]]:
    """Makes the runs of each job; a trace is recorded only for a measure that needs one.

    Args:
        jobs: What to run.
        tick: Called after each run, from any thread, and for each that the keeper has.
        runner: What they run on.
        keeper: Is told of each run; what it has is not run.

    Raises:
        ScenarioError: When a scenario is refused.
    """
    known: list[dict[int, Sample]] = [{} for _ in jobs]
    if keeper:
        for job, runs in zip(jobs, known, strict=True):
            for seed in range(1, job.seeds + 1):
                if (made := keeper.get(job, seed)) is not None:
                    runs[seed] = made
                    tick()

    def reduced(job: Job) -> Callable[[Run], Sample]:
        def reduce(ran: Run) -> Sample:
            made = sample(ran, job.wanted)
            if keeper:
                keeper.add(job, ran.scenario.seed, made)
            return made

        return reduce

    todo = [
        (
            job.setup,
            [seed for seed in range(1, job.seeds + 1) if seed not in runs],
            level(job.setup, job.wanted),
            reduced(job),
        )
        for job, runs in zip(jobs, known, strict=True)
    ]
    fresh = _made(todo, tick, runner)
    return [_in_order(runs | more) for runs, more in zip(known, fresh, strict=True)]


def level(setup: Setup, wanted: Wanted) -> str:
    """What has to be recorded of a setup's runs."""
    return setup.trace if any(name in TRACED for name, _ in wanted) else "off"


def side_by_side(
    jobs: Sequence[tuple[Setup, int, str, Callable[[Run], T]]],
    tick: Tick = lambda: None,
    runner: Runner = RUNNER,
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
    todo = [(setup, range(1, seeds + 1), trace, reduce) for setup, seeds, trace, reduce in jobs]
    return [_in_order(runs) for runs in _made(todo, tick, runner)]


def _in_order(runs: Mapping[int, T]) -> tuple[T, ...]:
    return tuple(runs[seed] for seed in sorted(runs))


def _made(todo: Sequence[_Todo[T]], tick: Tick, runner: Runner) -> list[dict[int, T]]:
    """What was made of each setup's runs, by seed."""
    if runner.real_time:
        return _in_turn(todo, tick, runner)
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

    # the core runs without the interpreter's lock
    executor = ThreadPoolExecutor(max_workers=os.cpu_count() or 1)
    try:
        pending: list[dict[int, Future[T]]] = [{} for _ in todo]
        # Seed by seed: of what is kept when it is stopped, each setup has about as many runs.
        for seed in sorted({seed for _, seeds, _, _ in todo for seed in seeds}):
            for (setup, seeds, trace, reduce), futures in zip(todo, pending, strict=True):
                if seed in seeds:
                    futures[seed] = executor.submit(one, setup, seed, trace, reduce)
        _wait([each for futures in pending for each in futures.values()])
    finally:
        over.set()  # for the runs that go on when one was refused, or all are interrupted
        executor.shutdown(cancel_futures=True)
    return [{seed: each.result() for seed, each in futures.items()} for futures in pending]


def _in_turn(todo: Sequence[_Todo[T]], tick: Tick, runner: Runner) -> list[dict[int, T]]:
    made: list[dict[int, T]] = [{} for _ in todo]
    for seed in sorted({seed for _, seeds, _, _ in todo for seed in seeds}):
        turns = list(range(len(todo)))
        Random(seed).shuffle(turns)  # of all, so that the order is the same where some are done
        for number in turns:
            setup, seeds, trace, reduce = todo[number]
            if seed in seeds:
                scenario = setup.scenario(seed)
                runner.refuse(scenario, trace)
                made[number][seed] = reduce(Run(scenario, runner.execute(scenario, trace, None)))
                tick()
    return made


def _wait(futures: Iterable[Future[T]]) -> None:
    """Waits until all are done; raises what the first one raises that fails.

    It looks up now and then: once polars is loaded, whose handler restarts system calls, Ctrl-C
    does not end a wait.
    """
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=_LOOK_UP_S, return_when=FIRST_EXCEPTION)
        for each in done:
            each.result()
