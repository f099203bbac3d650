"""Recorded traces of a sweep: one run of each point, that of the first seed."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from fullpipe.batch.executor import on_threads
from fullpipe.batch.store import write_whole
from fullpipe.results import suited_interval
from fullpipe.run import load, run
from fullpipe.runners import SIMULATOR
from fullpipe.sweeps.dataset import series_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fullpipe.batch.spec import SweepSpec
    from fullpipe.run import Run
    from fullpipe.runners import Progress

FEW = 12
"""Largest number of points whose first seed is traced by default."""
_TABLES = ("links", "flows")


def record(
    spec: SweepSpec, directory: Path, level: str, threads: int, tick: Callable[[], object]
) -> None:
    """Records the missing traces; `level` is that of :func:`fullpipe.run`, or `auto`.

    Raises:
        ScenarioError: When `level` is not a trace level.
        OSError: When it can't be written.
    """
    seed, _ = spec.plan.seeds

    def one(point: int, progress: Progress) -> None:
        scenario = load(spec.plan.scenarios(point, point + 1)[0], controllers=spec.controllers)
        wanted = suited_interval(scenario) if level == "auto" else level
        save(run(scenario, trace=wanted, progress=progress), directory, point)

    missing = [
        point
        for point in range(spec.plan.points)
        if not series_file(directory, point, seed, "flows", SIMULATOR).exists()
    ]
    with closing(on_threads([partial(one, point) for point in missing], threads)) as done:
        for _ in done:
            tick()


def save(run: Run, directory: Path, point: int) -> None:
    """Writes the trace of a run.

    Raises:
        OSError: When it can't be written.
    """
    for table in _TABLES:  # the flows last: they mark the point as finished
        final = series_file(directory, point, run.seed, table, run.runner)
        final.parent.mkdir(exist_ok=True, parents=True)
        write_whole(run.trace(table), final)
