"""Runs points with many seeds, and keeps of each run the numbers that are asked for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from fullpipe.batch.repeated import Repeated, Setup, repeat
from fullpipe.reproduce.measures import MEASURES, TRACED
from fullpipe.runners.sim import RUNNER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fullpipe.batch.checkpoint import Checkpoint
    from fullpipe.metrics import Metrics
    from fullpipe.reproduce.groups import Point
    from fullpipe.reproduce.measures.run_view import RunView
    from fullpipe.runners import Runner

    Tick = Callable[[], object]

Wanted = frozenset[tuple[str, int]]
"""Measures by name, each with the flow that it is of, counted from 0."""


@dataclass(frozen=True)
class Sample:
    """What is kept of a run: its metrics, and a number a measure and flow."""

    metrics: Metrics
    values: Mapping[tuple[str, int], float]


def sample(run: RunView, wanted: Iterable[tuple[str, int]]) -> Sample:
    """Takes the numbers that are wanted of a run, which may be forgotten then."""
    return Sample(run.metrics, {(name, flow): MEASURES[name](run, flow) for name, flow in wanted})


@dataclass(frozen=True)
class Stored:
    """The samples in a checkpoint: those of the published tables, or of a variant of them."""

    checkpoint: Checkpoint
    part: str

    def get(self, point: Point, wanted: Wanted, seed: int) -> Sample | None:
        """A run of before."""
        record = self.checkpoint.get(self._key(point, wanted, seed))
        if record is None:
            return None
        values = {(measure, flow): value for measure, flow, value in record["values"]}
        return Sample(record["metrics"], values)

    def add(self, point: Point, wanted: Wanted, seed: int, made: Sample) -> None:
        """Writes a run."""
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
) -> dict[Point, tuple[Sample, ...]]:
    """Makes the runs of each point, in the order of seeds; a trace is recorded only for a measure that needs one.

    Args:
        wanted: What to run, and which numbers are wanted of it.
        tick: Called after each run, and for each that is stored.
        runner: What they run on.
        stored: Stores each run; what it has is not run.

    Raises:
        ScenarioError: When a scenario is refused.
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
    repeat(jobs, tick, runner, save)
    return {
        point: tuple(runs[seed] for seed in sorted(runs))
        for (point, _), runs in zip(points, known, strict=True)
    }


def level(setup: Setup, wanted: Wanted) -> str:
    """What has to be recorded of a setup's runs."""
    return setup.trace if any(name in TRACED for name, _ in wanted) else "off"
