"""Runs scenarios with many seeds side by side, and keeps of each run the numbers that are asked for."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from fullpipe import _core
from fullpipe.reproduce.measures import MEASURES, TRACED
from fullpipe.run import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from fullpipe.metrics import Metrics
    from fullpipe.reproduce.measures.ran import Ran
    from fullpipe.run import Run

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

    def run(self, seed: int = 1, trace: str | None = None) -> Run:
        """One run, traced as said, or as `trace` says.

        Raises:
            ScenarioError: When it is refused.
        """
        return run(self.scenario(seed), trace=trace or self.trace)

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


def sampled(jobs: Sequence[tuple[Setup, int, Wanted]], tick: Tick = lambda: None) -> list[tuple[Sample, ...]]:
    """Runs each setup with the seeds 1 to so many; a trace is recorded only for a measure that needs one.

    Args:
        jobs: Setups, each with its number of seeds and what is wanted of its runs.
        tick: Called after each run, from any thread.

    Raises:
        ScenarioError: When a scenario is refused.
    """
    return side_by_side(
        [
            (
                setup,
                seeds,
                setup.trace if any(name in TRACED for name, _ in wanted) else "off",
                partial(sample, wanted=wanted),
            )
            for setup, seeds, wanted in jobs
        ],
        tick,
    )


def side_by_side(
    jobs: Sequence[tuple[Setup, int, str, Callable[[Run], T]]], tick: Tick = lambda: None
) -> list[tuple[T, ...]]:
    """Runs each setup with the seeds 1 to so many on all cores, and hands back what is made of each run.

    Args:
        jobs: Setups, each with its number of seeds, the trace's level, and what a run is reduced to in its thread.
        tick: Called after each run, from any thread.

    Raises:
        ScenarioError: When a scenario is refused.
    """
    over = Event()

    def still_wanted(_done_s: float, _duration_s: float, _events: int) -> None:
        if over.is_set():
            raise CancelledError

    def one(setup: Setup, seed: int, trace: str, reduce: Callable[[Run], T]) -> T:
        made = reduce(run(setup.scenario(seed), trace=trace, progress=still_wanted))
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


def _wait(futures: Iterable[Future[T]]) -> None:
    """Waits until all are done; raises what the first one raises that fails.

    It looks up now and then: once polars is loaded, whose handler restarts system calls, Ctrl-C does not end a wait.
    """
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=_LOOK_UP_S, return_when=FIRST_EXCEPTION)
        for each in done:
            each.result()
