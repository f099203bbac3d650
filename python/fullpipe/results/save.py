"""Saves runs: their scenario, metrics, trace and picture, in a directory."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.algorithms.own import FILE, own
from fullpipe.algorithms.programs import left
from fullpipe.results import code, disk
from fullpipe.results.files import RUNNERS, write_parquet
from fullpipe.results.made import write_made
from fullpipe.results.model import TABLES, table_file
from fullpipe.runners import SIMULATOR

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe._core import Scenario
    from fullpipe.runs.data import RunData


PROGRAMS = "programs"
"""The directory of the files that programs left, in that of a run or a sweep."""


def save_run(run: RunData, directory: Path, *, picture: bool = True) -> None:
    """Writes a run into an existing directory, with its picture unless `picture` is False."""
    disk.write(directory / "scenario.toml", run.scenario.source)
    disk.write(directory / "resolved.toml", run.scenario.to_toml())
    names = _core.algorithm_names(run.scenario.to_toml())
    code.keep(names, directory)
    if found := own(names):
        disk.write(directory / FILE, json.dumps({"algorithms": found}, indent=1) + "\n")
    changed = [list(each) for each in run.scenario.settings]
    write_made(directory, trace=run.level, settings=None if run.runner == SIMULATOR else changed)
    disk.write(directory / "metrics.json", json.dumps(run.metrics, indent=2) + "\n")
    if run.files is not None:
        left.save(run.files, directory / PROGRAMS)
    if run.has_trace:
        for table in TABLES:
            if table in run.tables:
                write_parquet(run.trace(table), table_file(directory, table))
        if picture:
            from fullpipe.runs.view.plot import picture as drawn

            with disk.NewFile(directory / "picture.png") as file:
                drawn(run).savefig(file, format="png")


def save_runs(runs: Sequence[RunData], directory: Path) -> None:
    """Writes runs of one scenario on several runners into an existing directory."""
    for run in runs:
        disk.make_folder(directory / run.runner)
        save_run(run, directory / run.runner)
    about = {"runners": [run.runner for run in runs]}
    disk.write(directory / RUNNERS, json.dumps(about) + "\n")


def suited_interval(scenario: Scenario, most_rows: int = 6_000) -> str:
    """Returns a trace interval that suits a scenario, from one with a duration of seconds to one of hours.

    The interval makes about `most_rows` rows per flow and at most about 3 million in all, and is 1, 2 or 5
    times a power of ten.
    """
    rows = min(most_rows, 3_000_000 / max(len(scenario.flows), 1))
    exact = max(scenario.duration_s / rows, 1e-6)
    power = 10 ** math.floor(math.log10(exact))
    step = next(step for step in (1, 2, 5, 10) if step * power >= exact * 0.999)
    return f"{round(step * power * 1e6)}us"
