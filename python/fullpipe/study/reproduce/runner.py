"""Runs points with many seeds, and keeps only the requested numbers of each run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fullpipe import _core
from fullpipe.algorithms.resolve import code, described
from fullpipe.results.sums import in_name
from fullpipe.runners.sim import RUNNER
from fullpipe.study.checkpoint import Runs
from fullpipe.study.engine import HERE
from fullpipe.study.execute import repeat
from fullpipe.study.repeated import Repeated, Setup
from fullpipe.study.reproduce.measures import MEASURES, TRACED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from fullpipe.base.metrics import Metrics
    from fullpipe.runners import Runner
    from fullpipe.study.checkpoint import Checkpoint, Key
    from fullpipe.study.engine import Engine
    from fullpipe.study.reproduce.groups import Point
    from fullpipe.study.reproduce.measures.run_view import RunView

    Tick = Callable[[], object]
    Values = NDArray[np.float64]

Wanted = frozenset[tuple[str, int]]
"""Names of measures, each with the index of its flow, from 0."""


@dataclass(frozen=True)
class Sample:
    """Results kept of a run: its metrics, and a number for each measure and flow."""

    metrics: Metrics
    values: Mapping[tuple[str, int], float]


def sample(run: RunView, wanted: Iterable[tuple[str, int]]) -> Sample:
    """Takes the wanted numbers from a run, which need not be kept afterwards."""
    return Sample(run.metrics, {(name, flow): MEASURES[name](run, flow) for name, flow in wanted})


@dataclass(frozen=True)
class Stored:
    """Samples in a checkpoint: those of the published study, or of a variant."""

    checkpoint: Checkpoint
    part: str

    def of(self, wanted: Mapping[Point, Wanted]) -> Runs[Sample]:
        """Returns those of points, of each with the numbers wanted."""
        keys = [self._key(point, those) for point, those in wanted.items()]
        return Runs(self.checkpoint, keys, _record, _sample)

    def _key(self, point: Point, wanted: Wanted) -> tuple[str, str, str]:
        setup = point.setup
        what = repr((setup.text, setup.settings, setup.trace, sorted(wanted)))
        names = _core.algorithm_names(setup.text, setup.settings)
        source = code(names, described(names))  # empty without algorithms of the user
        return self.part, point.name, in_name(what.encode() + source)


def _record(made: Sample) -> dict[str, object]:
    values = [[measure, flow, value] for (measure, flow), value in made.values.items()]
    return {"metrics": made.metrics, "values": values}


def _sample(record: Mapping[str, Any]) -> Sample:
    values = {(measure, flow): value for measure, flow, value in record["values"]}
    return Sample(record["metrics"], values)


def sampled(
    wanted: Mapping[Point, Wanted],
    tick: Tick = lambda: None,
    runner: Runner = RUNNER,
    stored: Stored | None = None,
    engine: Engine = HERE,
) -> dict[Point, tuple[Sample, ...]]:
    """Runs each point with all seeds; records a trace only if a measure needs one.

    Args:
        wanted: Points to run, with the numbers wanted of each.
        tick: Called after each run, and for each stored run.
        runner: The runner.
        stored: Store of samples; runs that it has are not repeated.
        engine: Where the runs execute.

    Returns:
        Samples of each point, in the order of seeds.

    Raises:
        ScenarioError: When a scenario is invalid.
    """
    jobs = [
        Repeated(
            point.setup,
            range(1, point.seeds + 1),
            level(point.setup, those),
            partial(sample, wanted=those),
        )
        for point, those in wanted.items()
    ]
    made = repeat(jobs, tick, runner, stored.of(wanted) if stored else None, engine)
    return dict(zip(wanted, made, strict=True))


class Again(NamedTuple):
    """The repetition of runs for figures.

    Attributes:
        runner: Their runner.
        engine: Where all runs of a group execute; single ones run in this process.
        so_far: Keeps the reduced results of groups.
    """

    runner: Runner = RUNNER
    engine: Engine = HERE
    so_far: Checkpoint | None = None

    def all(
        self, jobs: Sequence[Repeated[Values]], keys: Sequence[Key]
    ) -> list[tuple[Values, ...]]:
        """Runs setups with all of their seeds, each by its key in the checkpoint, and returns the results."""
        known = None if self.so_far is None else Runs(self.so_far, keys, _listed, _array)
        return repeat(jobs, runner=self.runner, known=known, engine=self.engine)


def _listed(values: Values) -> dict[str, object]:
    return {"values": values.tolist()}


def _array(record: Mapping[str, Any]) -> Values:
    return np.array(record["values"])


def level(setup: Setup, wanted: Wanted) -> str:
    """Returns the trace level that a setup's runs need."""
    return setup.trace if any(name in TRACED for name, _ in wanted) else "off"
