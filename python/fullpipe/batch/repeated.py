"""Repetitions of scenarios on one runner: each run is reduced to a result, and its memory is freed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from fullpipe import _core
from fullpipe.algorithms.resolve import described_in
from fullpipe.batch.pool import cores
from fullpipe.batch.threads import blocks, on_threads
from fullpipe.run import Run
from fullpipe.runners import refuse
from fullpipe.runners.sim import RUNNER

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from fullpipe.runners import Progress, Runner

T = TypeVar("T")


@dataclass(frozen=True)
class Setup:
    """A scenario without its seed: text, name in errors, overridden keys, and trace level."""

    text: str
    where: str
    settings: tuple[tuple[str, str], ...] = ()
    trace: str = "off"

    def scenario(self, seed: int) -> _core.Scenario:
        """Returns the checked scenario.

        Raises:
            ScenarioError: When it is refused.
        """
        classes = described_in(self.text, self.settings)
        return _core.Scenario.parse(self.text, self.where, self.settings, seed, controllers=classes)

    def run(
        self,
        seed: int = 1,
        trace: str | None = None,
        runner: Runner = RUNNER,
        progress: Progress | None = None,
    ) -> Run:
        """Runs it once, with the trace level of the setup, or with `trace`.

        Raises:
            ScenarioError: When it is refused.
        """
        scenario, level = self.scenario(seed), trace or self.trace
        refuse(runner, scenario, level)
        return Run(scenario, runner.execute(scenario, level, progress))

    def written(self) -> str:
        """Returns TOML with the same result: the text, or with overridden keys the resolved scenario."""
        if not self.settings:
            return self.text
        return self.scenario(1).to_toml()


@dataclass(frozen=True)
class Repeated(Generic[T]):
    """A setup with seeds to run it with.

    Attributes:
        setup: The setup.
        seeds: The seeds.
        trace: The trace level.
        reduce: Reduces a run to its result; called in the run's thread.
    """

    setup: Setup
    seeds: Sequence[int]
    trace: str
    reduce: Callable[[Run], T]

    def run(self, seed: int, runner: Runner, progress: Progress | None = None) -> T:
        """Runs it with a seed and returns the reduced result."""
        return self.reduce(self.setup.run(seed, self.trace, runner, progress))


def repeat(
    jobs: Sequence[Repeated[T]],
    tick: Callable[[], object] = lambda: None,
    runner: Runner = RUNNER,
    save: Callable[[int, int, T], object] = lambda _number, _seed, _made: None,
) -> list[tuple[T, ...]]:
    """Runs each setup with all of its seeds: on all cores, or in real time one at a time, in shuffled blocks.

    Args:
        jobs: The setups with their seeds.
        tick: Called after each run.
        runner: The runner.
        save: Called after each run, with the number of its job, its seed and its reduced result.

    Returns:
        The reduced results of each job's runs, in the order of its seeds.

    Raises:
        ScenarioError: When a scenario is refused.
    """
    made: list[dict[int, T]] = [{} for _ in jobs]
    with closing(_made(jobs, runner)) as runs:
        for number, seed, each in runs:
            save(number, seed, each)
            made[number][seed] = each
            tick()
    return [tuple(those[seed] for seed in sorted(those)) for those in made]


def _made(jobs: Sequence[Repeated[T]], runner: Runner) -> Generator[tuple[int, int, T], None, None]:
    """Yields results seed by seed, so that after an interruption all setups have about as many runs."""
    seeds = sorted({seed for job in jobs for seed in job.seeds})
    # A block has all jobs, so that the order is the same if some runs are finished already.
    key = (lambda seed: seed) if runner.real_time else None
    order = [
        (number, seed)
        for seed, number in blocks(len(jobs), seeds, key)
        if seed in jobs[number].seeds
    ]
    if runner.real_time:
        for number, seed in order:
            yield number, seed, jobs[number].run(seed, runner)
        return
    calls = [partial(jobs[number].run, seed, runner) for number, seed in order]
    with closing(on_threads(calls, cores())) as done:
        for at, each in done:
            yield *order[at], each
