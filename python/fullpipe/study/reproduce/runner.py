"""Runs points with many seeds, and keeps only the requested numbers of each run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from fullpipe.runners.sim import RUNNER
from fullpipe.study.engine import HERE
from fullpipe.study.execute import repeat
from fullpipe.study.repeated import Repeated, Setup
from fullpipe.study.reproduce.measures import MEASURES, TRACED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fullpipe.base.metrics import Metrics
    from fullpipe.runners import Runner
    from fullpipe.study.checkpoint import Checkpoint
    from fullpipe.study.engine import Engine
    from fullpipe.study.reproduce.groups import Point
    from fullpipe.study.reproduce.measures.run_view import RunView

    Tick = Callable[[], object]

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

    def get(self, point: Point, wanted: Wanted, seed: int) -> Sample | None:
        """Returns the sample of an earlier run, or None."""
        record = self.checkpoint.get(self._key(point, wanted, seed))
        if record is None:
            return None
        values = {(measure, flow): value for measure, flow, value in record["values"]}
        return Sample(record["metrics"], values)

    def add(self, point: Point, wanted: Wanted, seed: int, made: Sample) -> None:
        """Writes the sample of a run."""
        values = [[measure, flow, value] for (measure, flow), value in made.values.items()]
        record = {"metrics": made.metrics, "values": values}
        self.checkpoint.add(self._key(point, wanted, seed), record)

    def _key(self, point: Point, wanted: Wanted, seed: int) -> tuple[str, str, str, int]:
        setup = point.setup
        what = repr((setup.text, setup.settings, setup.trace, sorted(wanted)))
        return self.part, point.name, hashlib.sha256(what.encode()).hexdigest()[:16], seed


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
    points = list(wanted.items())
    known: list[dict[int, Sample]] = [{} for _ in points]
    if stored:
        for (point, those), runs in zip(points, known, strict=True):
            for seed in range(1, point.seeds + 1):
                if (made := stored.get(point, those, seed)) is not None:
                    runs[seed] = made
                    tick()

    def save(number: int, seed: int, made: Sample) -> None:
        if stored:
            stored.add(*points[number], seed, made)
        known[number][seed] = made

    jobs = [
        Repeated(
            point.setup,
            [seed for seed in range(1, point.seeds + 1) if seed not in runs],
            level(point.setup, those),
            partial(sample, wanted=those),
        )
        for (point, those), runs in zip(points, known, strict=True)
    ]
    repeat(jobs, tick, runner, save, engine)
    return {
        point: tuple(runs[seed] for seed in sorted(runs))
        for (point, _), runs in zip(points, known, strict=True)
    }


def level(setup: Setup, wanted: Wanted) -> str:
    """Returns the trace level that a setup's runs need."""
    return setup.trace if any(name in TRACED for name, _ in wanted) else "off"
