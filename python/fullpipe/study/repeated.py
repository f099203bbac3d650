"""Functions of runs: scenarios without their seeds, and what each of their runs is reduced to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from fullpipe import _core
from fullpipe.algorithms.resolve import described_in
from fullpipe.run import Run
from fullpipe.runners import refuse
from fullpipe.runners.sim import RUNNER
from fullpipe.study.shipped import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
        return Run(scenario, runner.execute(scenario, level, progress), level)

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
        reduce: Reduces a run to its result; called in the run's thread, or on a cluster in a worker.
    """

    setup: Setup
    seeds: Sequence[int]
    trace: str
    reduce: Callable[[Run], T]

    def run(self, seed: int, runner: Runner, progress: Progress | None = None) -> T:
        """Runs it with a seed and returns the reduced result."""
        return self.reduce(self.setup.run(seed, self.trace, runner, progress))


@dataclass(frozen=True)
class Repetition(Generic[T]):
    """A run of a setup with one of its seeds, as a job for :func:`fullpipe.study.execute.results`."""

    of: Repeated[T]
    seed: int
    runner: Runner = RUNNER

    @property
    def source(self) -> Source:
        """The scenario of the setup."""
        setup = self.of.setup
        return Source(setup.text, setup.where, setup.settings)

    def moved(self, file: str) -> Repetition[T]:
        """Returns the same run of the setup under another name."""
        return replace(self, of=replace(self.of, setup=replace(self.of.setup, where=file)))

    def __call__(self, progress: Progress | None) -> T:
        """Runs it, and returns the reduced result."""
        return self.of.run(self.seed, self.runner, progress)
