"""Repetitions of scenarios on one runner: each run is reduced to what is wanted of it, and forgotten."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from fullpipe import _core
from fullpipe.batch.executor import blocks, on_threads
from fullpipe.batch.pool import cores
from fullpipe.run import Run
from fullpipe.runners.sim import RUNNER

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from fullpipe.runners import Progress, Runner

T = TypeVar("T")


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

    def run(
        self,
        seed: int = 1,
        trace: str | None = None,
        runner: Runner = RUNNER,
        progress: Progress | None = None,
    ) -> Run:
        """One run, traced as said, or as `trace` says.

        Raises:
            ScenarioError: When it is refused.
        """
        scenario, level = self.scenario(seed), trace or self.trace
        runner.refuse(scenario, level)
        return Run(scenario, runner.execute(scenario, level, progress))

    def written(self) -> str:
        """TOML that runs the same: the text, or with settings all that is resolved from it."""
        if not self.settings:
            return self.text
        return self.scenario(1).to_toml()


@dataclass(frozen=True)
class Repeated(Generic[T]):
    """A setup that is run with some seeds.

    Attributes:
        setup: What is run.
        seeds: With which seeds.
        trace: The trace's level.
        reduce: What is kept of a run; on threads it is called in the run's.
    """

    setup: Setup
    seeds: Sequence[int]
    trace: str
    reduce: Callable[[Run], T]

    def run(self, seed: int, runner: Runner, progress: Progress | None = None) -> T:
        """What is kept of the run with a seed."""
        return self.reduce(self.setup.run(seed, self.trace, runner, progress))


def repeat(
    jobs: Sequence[Repeated[T]],
    tick: Callable[[], object] = lambda: None,
    runner: Runner = RUNNER,
    save: Callable[[int, int, T], object] = lambda _number, _seed, _made: None,
) -> list[tuple[T, ...]]:
    """Runs each setup with all of its seeds: on all cores, or on a machine's clock one at a time, in shuffled blocks.

    Args:
        jobs: What to run.
        tick: Called after each run.
        runner: What they run on.
        save: Is handed what was made of each run as soon as it is there: the number of its job, its seed and that.

    Returns:
        What was made of each job's runs, in the order of its seeds.

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
    """Seed by seed: of what is stored when it is stopped, each setup has about as many runs."""
    seeds = sorted({seed for job in jobs for seed in job.seeds})
    # A block is of all jobs, so that the order is the same where some runs are there already.
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
