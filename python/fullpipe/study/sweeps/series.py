"""Recorded traces of a sweep: one run of each point, that of the first seed."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from fullpipe.results import disk, suited_interval, write_shard
from fullpipe.results.sweep import series_files, series_folder, series_name
from fullpipe.run import run, unjudged
from fullpipe.runners import SIMULATOR
from fullpipe.study.execute import on_threads

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fullpipe.run import Run
    from fullpipe.runners import Progress
    from fullpipe.study.engine import Engine
    from fullpipe.study.spec import SweepSpec

FEW = 12
"""Largest number of points whose first seed is traced by default."""


def record(
    spec: SweepSpec, directory: Path, level: str, engine: Engine, tick: Callable[[], object]
) -> None:
    """Records the missing traces; `level` is that of :func:`fullpipe.run`, or `auto`.

    Raises:
        ScenarioError: When `level` is not a trace level.
        OSError: When it can't be written.
    """
    seed, _ = spec.plan.seeds

    def one(point: int, progress: Progress) -> None:
        scenario = unjudged(spec.plan.scenarios(point, point + 1)[0], controllers=spec.controllers)
        wanted = suited_interval(scenario) if level == "auto" else level
        save(run(scenario, trace=wanted, progress=progress), directory, point)

    there = series_files(directory, SIMULATOR)
    missing = [point for point in range(spec.plan.points) if f"{point}-{seed}" not in there]
    with closing(on_threads([partial(one, point) for point in missing], engine.at_once)) as done:
        for _ in done:
            tick()


def save(run: Run, directory: Path, point: int) -> None:
    """Writes the trace of a run.

    Raises:
        OSError: When it can't be written.
    """
    folder = series_folder(directory, run.runner)
    disk.make_folder(folder)
    # That of flows comes last: a trace is complete when it has one.
    for table in sorted(run.tables, key="flows".__eq__):
        write_shard(
            run.trace(table),
            folder,
            series_name(f"{point}-{run.seed}", table),
            {"trace": run.level, "trace_hash": run.trace_hash},
        )
