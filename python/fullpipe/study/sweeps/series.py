"""Recorded traces of a sweep: one run of each point, that of the first seed; on request the transfers of every run."""

from __future__ import annotations

import json
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from fullpipe import _core
from fullpipe.base.frame import table
from fullpipe.errors import UnrepeatableError
from fullpipe.results import disk, suited_interval, write_shard
from fullpipe.results.sweep import series_files, series_folder, series_name
from fullpipe.run import run, unjudged
from fullpipe.runners import SIMULATOR
from fullpipe.study.execute import first_of, on_threads, unrepeatable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fullpipe.run import Run
    from fullpipe.runners import Progress
    from fullpipe.study.engine import Engine, Shard
    from fullpipe.study.spec import SweepSpec

TRANSFERS = "transfers"
"""Word of a trace level, and table, of the transfers of every run."""
FEW = 12
"""Largest number of points whose first seed is traced by default."""


class First:
    """The first run of a class, whose trace is recorded after all runs: so it runs twice, with the same result.

    Attributes:
        point: Its point; its seed is the first.
    """

    def __init__(self, spec: SweepSpec, number: int, name: str) -> None:
        self.point = number
        self._spec, self._name = spec, name
        self._row: pl.DataFrame | None = None

    @staticmethod
    def of(spec: SweepSpec, directory: Path, missing: Sequence[tuple[int, int]]) -> First | None:
        """Returns it; None if the sweep has no class, or if its first run is not one to record."""
        found = first_of(spec, missing) if spec.classes and not spec.plugins else None
        if found is None or found[0] >= spec.plan.points:
            return None
        seed, _ = spec.plan.seeds
        there = f"{found[0]}-{seed}" in series_files(directory, SIMULATOR)
        return None if there else First(spec, *found)

    def take(self, shard: Shard) -> None:
        """Notes its row, if the shard has it."""
        if self._row is None and shard.first <= self.point < shard.end:
            seed, _ = self._spec.plan.seeds
            mine = (pl.col("point") == self.point) & (pl.col("seed") == seed)
            self._row = table(shard.rows).filter(mine)

    def compare(self, run: Run) -> None:
        """Compares its second run with its row.

        Raises:
            UnrepeatableError: When they differ.
        """
        if self._row is None:
            return
        from polars.testing import assert_frame_equal  # late: most sweeps have no class

        rows = table(_core.rows([(self.point, json.dumps(run.metrics))]))
        # The rows of a trace are events, too.
        rows = rows.select(sorted((set(self._row.columns) & set(rows.columns)) - {"events"}))
        try:
            # Numbers of a text may differ in the last bit.
            expected = self._row.select(rows.columns)
            assert_frame_equal(rows, expected, check_dtypes=False, rel_tol=1e-12, abs_tol=0)
        except AssertionError:
            raise UnrepeatableError(unrepeatable(self._name, self._spec.file)) from None


def record(
    spec: SweepSpec,
    directory: Path,
    level: str,
    engine: Engine,
    tick: Callable[[], object],
    once: First | None = None,
) -> None:
    """Records the missing traces; `level` is that of :func:`fullpipe.run`, or `auto`.

    Raises:
        ScenarioError: When `level` is not a trace level.
        UnrepeatableError: When the run of `once` has another result.
        OSError: When it can't be written.
    """
    seed, _ = spec.plan.seeds

    def one(point: int, progress: Progress) -> None:
        scenario = unjudged(spec.plan.scenarios(point, point + 1)[0], controllers=spec.controllers)
        wanted = suited_interval(scenario) if level == "auto" else level
        made = run(scenario, trace=wanted, progress=progress)
        if once and point == once.point:
            once.compare(made)
        save(made, directory, point)

    there = series_files(directory, SIMULATOR)
    missing = [point for point in range(spec.plan.points) if f"{point}-{seed}" not in there]
    jobs = [partial(one, point) for point in missing]
    with closing(on_threads(jobs, _threads(spec, engine))) as done:
        for _ in done:
            tick()


def without_transfers(level: str) -> tuple[str, bool]:
    """Returns a trace level without the word `transfers`, and whether it has the word."""
    words = level.split()
    rest = " ".join(word for word in words if word != TRANSFERS)
    return rest or "off", TRANSFERS in words


def record_transfers(
    spec: SweepSpec, directory: Path, engine: Engine, tick: Callable[[], object]
) -> None:
    """Records the missing transfers of every run, which is repeated for them.

    Raises:
        OSError: When they can't be written.
    """
    folder = series_folder(directory, SIMULATOR)
    first, count = spec.plan.seeds

    def one(point: int, seed: int, progress: Progress) -> None:
        scenario = unjudged(spec.plan.scenarios(point, point + 1)[0], controllers=spec.controllers)
        level = f"{max(scenario.duration_s, 1e-3):g}s"  # transfers do not depend on it
        made = run(scenario, seed=seed, trace=level, progress=progress)
        disk.make_folder(folder)
        _write(made, TRANSFERS, folder, point)

    there = series_files(directory, SIMULATOR)
    missing = [
        (point, seed)
        for seed in range(first, first + count)
        for point in range(spec.plan.points)
        if series_name(f"{point}-{seed}", TRANSFERS) not in there
    ]
    jobs = [partial(one, *each) for each in missing]
    with closing(on_threads(jobs, _threads(spec, engine))) as done:
        for _ in done:
            tick()


def _threads(spec: SweepSpec, engine: Engine) -> int:
    """Returns the number of threads for runs to record; those of classes would wait for each other in Python."""
    return 1 if spec.classes else engine.at_once


def save(run: Run, directory: Path, point: int) -> None:
    """Writes the trace of a run.

    Raises:
        OSError: When it can't be written.
    """
    folder = series_folder(directory, run.runner)
    disk.make_folder(folder)
    # That of flows comes last: a trace is complete when it has one.
    for each in sorted(run.tables, key="flows".__eq__):
        _write(run, each, folder, point)


def _write(run: Run, name: str, folder: Path, point: int) -> None:
    """Writes a table of a trace, with what repeats it."""
    about = {"trace": run.level, "trace_hash": run.trace_hash}
    write_shard(run.trace(name), folder, series_name(f"{point}-{run.seed}", name), about)
