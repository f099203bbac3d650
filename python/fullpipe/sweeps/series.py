"""What is recorded over time: a run of each point, the one of the first seed."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from fullpipe.results import suited_interval, write_parquet
from fullpipe.run import load, run
from fullpipe.sweeps.dataset import series_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fullpipe.run import Run
    from fullpipe.sweeps.spec import SweepSpec

FEW = 12
"""Of so many points at most a run each is recorded without being asked."""
_TABLES = ("links", "flows")


def record(
    spec: SweepSpec, directory: Path, level: str, threads: int, tick: Callable[[], object]
) -> None:
    """Records what is not there yet; `level` is that of :func:`fullpipe.run`, or `auto`.

    Raises:
        ScenarioError: When `level` is none.
        OSError: When it can't be written.
    """
    seed, _ = spec.plan.seeds

    def one(point: int) -> None:
        scenario = load(spec.plan.scenarios(point, point + 1)[0], controllers=spec.controllers)
        done = run(scenario, trace=suited_interval(scenario) if level == "auto" else level)
        save(done, directory, point)
        tick()

    missing = [
        point
        for point in range(spec.plan.points)
        if not series_file(directory, point, seed, "flows", "sim").exists()
    ]
    executor = ThreadPoolExecutor(max_workers=threads)
    try:
        pending = [executor.submit(one, point) for point in missing]
        for each in pending:
            each.result()
    finally:
        executor.shutdown(cancel_futures=True)


def save(run: Run, directory: Path, point: int) -> None:
    """Writes what was recorded of a run.

    Raises:
        OSError: When it can't be written.
    """
    for table in _TABLES:  # the flows last: with them the point is done
        final = series_file(directory, point, run.seed, table, run.runner)
        final.parent.mkdir(exist_ok=True, parents=True)
        aside = final.with_name(f".{final.name}")
        write_parquet(run.trace(table), aside)
        os.replace(aside, final)  # noqa: PTH105  (also where it exists, on every system)
