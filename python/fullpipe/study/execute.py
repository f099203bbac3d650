"""The executor of all commands: where and in which order runs execute.

It has two doors. :func:`parts` gives rows of metrics of the runs of a plan, a sweep's or a population's;
:func:`results` and :func:`repeat` give the results of functions of runs. Behind both:

- The simulator's runs execute on the core's threads or on a Ray cluster (`pool.py`, `cluster.py`); functions of them on
  threads, or there.
- On the clock of a machine runs execute one at a time, in shuffled blocks (`other_runners.py`).
- On other runners they execute on threads (`threads.py`). :func:`on_threads` alone is for functions that can't leave
  this process, since they write files as they go, or boot a kernel.

An engine that can't be is refused here, before the first run.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from fullpipe import _core
from fullpipe.algorithms.plugins import used
from fullpipe.algorithms.resolve import described
from fullpipe.errors import RunnerError
from fullpipe.runners import is_simulator
from fullpipe.runners import refuse as refuse_on
from fullpipe.runners.sim import RUNNER
from fullpipe.study import other_runners
from fullpipe.study.cluster import NOTHING, on_ray, one_cluster, telling
from fullpipe.study.engine import HERE, LOCAL, RAY, Step
from fullpipe.study.other_runners import Failures
from fullpipe.study.pool import first_of, pooled, unrepeatable
from fullpipe.study.repeated import Repetition
from fullpipe.study.shipped import Source
from fullpipe.study.spec import refuse_unsuited
from fullpipe.study.threads import blocks, on_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence

    from fullpipe.algorithms.classes import Given
    from fullpipe.runners import Progress, Runner
    from fullpipe.study.cluster import Ranges
    from fullpipe.study.engine import Engine
    from fullpipe.study.other_runners import Level
    from fullpipe.study.repeated import Repeated
    from fullpipe.study.shipped import Move
    from fullpipe.study.spec import Planned, SweepSpec

__all__ = [
    "NOTHING",
    "Failures",
    "Job",
    "Part",
    "Source",
    "first_of",
    "on_threads",
    "one_cluster",
    "parts",
    "refuse_engine",
    "refuse_points",
    "repeat",
    "results",
    "simulated",
    "telling",
    "unrepeatable",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_TASK_S = 1.0
"""Approximate seconds of functions of runs in a task of a cluster."""


def refuse_engine(engine: Engine, runners: Sequence[Runner], option: str = "--on") -> None:
    """Checks that runs on the runners can execute there.

    Args:
        engine: The engine.
        runners: The runners.
        option: The option that asks for these runners.

    Raises:
        RunnerError: When one of them can't.
    """
    if engine.name != LOCAL and not all(map(is_simulator, runners)):
        raise RunnerError(
            f"--engine {engine.name} runs only the simulator\n  fix: omit --engine or {option}"
        )


@dataclass(frozen=True)
class Part:
    """Those runs of a sweep that execute together, as :func:`parts` returns them.

    Attributes:
        spec: The sweep.
        runners: The simulator, or all runners of one kind.
        engine: Where they execute.
    """

    spec: SweepSpec
    runners: Sequence[Runner]
    engine: Engine

    @property
    def is_simulated(self) -> bool:
        """Whether the simulator runs it."""
        return any(map(is_simulator, self.runners))

    @property
    def doing(self) -> str:
        """The words of the progress bar."""
        return (
            "running"
            if self.is_simulated
            else f"on {', '.join(each.name for each in self.runners)}"
        )

    def refuse(self, level: Callable[[_core.Scenario], str] = lambda _: "off") -> None:
        """Checks every point, before the first run.

        Args:
            level: Returns the trace level of a scenario.

        Raises:
            ScenarioError: When a runner refuses a point, or too little memory is free.
        """
        if self.is_simulated:
            refuse_unsuited(self.spec, self.engine.at_once)
        else:
            refuse_points(self.spec, self.runners, level)

    def steps(
        self,
        missing: Mapping[str, Ranges],
        shard_s: float,
        *,
        level: Level = lambda _number, _scenario: "off",
        show: Callable[[Step], object] = lambda _: None,
        failures: Failures | None = None,
        again: bool = True,
    ) -> Generator[Step, None, None]:
        """Executes the missing runs. Closing the generator ends them.

        Args:
            missing: The ranges of run numbers that are missing, by runner.
            shard_s: Seconds of work in a shard of the simulator; on others each run is one.
            level: Returns the trace level for a run's number and scenario, on other runners.
            show: Called with the progress between the steps, on other runners.
            failures: Collects failed runs of other runners, which then have no shard.
            again: Whether the first run of a user's algorithm runs again at the end.

        Raises:
            ScenarioError: When a run fails, unless `failures` collects it.
            FailedRunsError: When too many fail.
            UnrepeatableError: When a run of a user's algorithm had other results when it ran again.
            ClusterError: When the Ray cluster can't execute the runs.
        """
        if self.is_simulated:
            return pooled(self.spec, missing[RUNNER.name], shard_s, self.engine, again=again)
        todo = other_runners.schedule(self.spec, missing, self.runners)
        return other_runners.steps(
            self.spec, todo, level=level, engine=self.engine, show=show, failures=failures
        )


def parts(spec: SweepSpec, runners: Sequence[Runner], engine: Engine = HERE) -> list[Part]:
    """Returns the parts of a sweep in their order: real-time runs are last, when no other run can disturb them.

    Raises:
        RunnerError: When a runner's runs can't execute there.
    """
    refuse_engine(engine, runners)
    simulator = [each for each in runners if is_simulator(each)]
    others = [each for each in runners if not is_simulator(each)]
    kinds = [
        simulator,
        [each for each in others if not each.real_time],
        [each for each in others if each.real_time],
    ]
    return [Part(spec, each, engine) for each in kinds if each]


def simulated(
    spec: Planned, ranges: Ranges, shard_s: float, engine: Engine = HERE, *, again: bool = True
) -> Generator[Step, None, None]:
    """Executes ranges of runs of a plan on the simulator; arguments and errors are those of :meth:`Part.steps`.

    Args:
        spec: Makes the plan.
        ranges: Ranges of run numbers, each with the number after its last.
        shard_s: Seconds of work in a shard.
        engine: Where they execute.
        again: Whether the first run of a user's algorithm runs again at the end.
    """
    return pooled(spec, ranges, shard_s, engine, again=again)


def refuse_points(
    spec: SweepSpec, runners: Sequence[Runner], level: Callable[[_core.Scenario], str]
) -> None:
    """Lets every runner check every point, before the first run; the simulator has checked its plan.

    Raises:
        ScenarioError: When a runner refuses a point.
    """
    others = [each for each in runners if not is_simulator(each)]
    for point in range(spec.plan.points) if others else ():
        scenario = other_runners.scenario_of(spec, point)
        for runner in others:
            refuse_on(runner, scenario, level(scenario))


class Job(Protocol[T_co]):
    """A function of runs, which can be sent to a worker."""

    @property
    def source(self) -> Source:
        """Its scenario: the files and the algorithms that it names are sent."""

    def moved(self, file: str) -> Job[T_co]:
        """Returns the same function with another name of the scenario's file."""

    def __call__(self, progress: Progress | None) -> T_co:
        """Returns the result; must call `progress` from time to time, which raises KeyboardInterrupt at the end."""


def results(
    jobs: Sequence[Job[T]],
    engine: Engine = HERE,
    runner: Runner = RUNNER,
) -> Generator[tuple[int, T], None, None]:
    """Calls functions of runs: on threads or on a cluster, in real time one at a time. Closing the generator ends them.

    Args:
        jobs: The functions, in the order to begin them.
        engine: Where they execute.
        runner: The runner of their runs.

    Yields:
        The number of a function and its result, when it is there.

    Raises:
        RunnerError: When the runner's runs can't execute there.
        ClusterError: When the Ray cluster can't execute them.
        Exception: That of the first function that fails, after the results that are available then.
    """
    refuse_engine(engine, [runner])
    if engine.name == RAY:
        return _on_ray(jobs)
    if runner.real_time:
        return _one_by_one(jobs)
    return on_threads(jobs, engine.at_once)


class Known(Protocol[T]):
    """Reduced results of runs by the number of their job and their seed, which outlive an interruption."""

    def get(self, number: int, seed: int) -> T | None:
        """Returns the result of a run; None if it has not run."""

    def add(self, number: int, seed: int, made: T) -> object:
        """Keeps the result of a run."""


def repeat(
    jobs: Sequence[Repeated[T]],
    tick: Callable[[], object] = lambda: None,
    runner: Runner = RUNNER,
    known: Known[T] | None = None,
    engine: Engine = HERE,
) -> list[tuple[T, ...]]:
    """Runs each setup with all of its seeds, seed by seed; in real time in shuffled blocks.

    So all setups have about as many runs after an interruption.

    Args:
        jobs: The setups with their seeds.
        tick: Called after each run, and for each known one.
        runner: The runner.
        known: Results that are kept as they come; those that it has do not run again.
        engine: Where they execute.

    Returns:
        The reduced results of each job's runs, in the order of its seeds.

    Raises:
        ScenarioError: When a scenario is refused.
        RunnerError: When the runner's runs can't execute there.
        ClusterError: When the Ray cluster can't execute them.
    """
    made: list[dict[int, T]] = [{} for _ in jobs]
    if known:
        for number, seed in (
            (number, seed) for number, job in enumerate(jobs) for seed in job.seeds
        ):
            if (there := known.get(number, seed)) is not None:
                made[number][seed] = there
                tick()
    seeds = sorted({seed for job in jobs for seed in job.seeds})
    # A block has all jobs, so that the order is the same if some runs are finished already.
    key = (lambda seed: seed) if runner.real_time else None
    order = [
        (number, seed)
        for seed, number in blocks(len(jobs), seeds, key)
        if seed in jobs[number].seeds and seed not in made[number]
    ]
    calls = [Repetition(jobs[number], seed, runner) for number, seed in order]
    with closing(results(calls, engine, runner)) as done:
        for at, each in done:
            number, seed = order[at]
            if known:
                known.add(number, seed, each)
            made[number][seed] = each
            tick()
    return [tuple(those[seed] for seed in sorted(those)) for those in made]


def _one_by_one(jobs: Sequence[Job[T]]) -> Generator[tuple[int, T], None, None]:
    for number, job in enumerate(jobs):
        yield number, job(None)


def _on_ray(jobs: Sequence[Job[T]]) -> Generator[tuple[int, T], None, None]:
    if not jobs:
        return
    with closing(on_ray(_Jobs(jobs), [(0, len(jobs))], _TASK_S)) as looks:
        for look in looks:
            if look.done:
                yield from enumerate(cast("list[T]", look.done.made), look.done.first)


@dataclass(frozen=True)
class _Jobs:
    """Functions of runs, in a form that can be sent."""

    jobs: Sequence[Job[Any]]

    @property
    def sources(self) -> Collection[Source]:
        """Their scenarios, each once."""
        return dict.fromkeys(each.source for each in self.jobs)

    @property
    def _algorithms(self) -> list[str]:
        """The names of algorithms in their scenarios, each once."""
        found = (_core.algorithm_names(each.text, each.settings) for each in self.sources)
        return sorted({name for names in found for name in names})

    @property
    def classes(self) -> Given:
        """The Python classes that they name as algorithms."""
        return described(self._algorithms)

    @property
    def plugins(self) -> Sequence[_core.Plugin]:
        """The loaded libraries that they name."""
        return used(self._algorithms)

    def moved(self, to: Move) -> _Jobs:
        """Returns them with other names of their scenarios' files."""
        return _Jobs([each.moved(to(each.source.file)) for each in self.jobs])

    def prepare(self) -> None:
        """Imports the classes.

        Raises:
            ScenarioError: When one is not there.
        """
        self.classes  # noqa: B018

    def work(self, first: int, end: int) -> tuple[list[Any], int]:
        """Calls a range of them."""
        return [each(None) for each in self.jobs[first:end]], 0
