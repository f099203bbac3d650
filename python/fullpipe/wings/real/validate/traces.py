"""One traced run of each cell on the simulator and on Linux, with a page that shows both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe._core import __version__
from fullpipe.base.build import build
from fullpipe.base.progress import counting
from fullpipe.report import write_report
from fullpipe.results import disk, fresh_directory, save_runs
from fullpipe.results.sums import is_whole_directory
from fullpipe.run import Run
from fullpipe.runners import SIMULATOR, chosen
from fullpipe.study.checkpoint import Checkpoint, resumable
from fullpipe.wings.real.validate.cells import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.runners import Runner
    from fullpipe.wings.real.validate.cells import Cell


_BOTH = (SIMULATOR, "uml")
_CELLS = "cells"
"""The folder of finished cells."""


def save_traces(cells: Sequence[Cell], runner: Runner, directory: Path) -> list[Path]:
    """Runs each cell with seed 1 on the simulator, on Linux in simulated time, and on `runner` if it is neither.

    Returns:
        A page per cell, in a directory like one of `fullpipe run --on sim,uml --out`.

    Raises:
        RunnerError: When there is no Linux in simulated time.
        FileExistsError: When the directory exists.
        OSError: When a file can't be written.
    """
    runners = [*chosen(_BOTH), *([runner] if runner.name not in _BOTH else [])]
    bar = counting()
    running = bar.add_task("tracing", total=len(cells) * len(runners))
    called = f"--traces {directory}"
    about = {
        "fullpipe": f"{__version__}, {build()}",
        "the set of cells": fingerprint(cells),
        "--on": runner.name,
    }
    so_far = Checkpoint(directory, about, called)
    with (
        resumable(so_far, lambda: "while tracing"),
        fresh_directory(directory, called) as aside,
        bar,
    ):
        for cell in cells:
            place = so_far.folder(_CELLS) / cell.name
            if is_whole_directory(place):
                bar.advance(running, len(runners))
                continue
            disk.remove_folder(place)
            scenario = cell.setup.scenario(1)
            done = []
            for each in runners:
                done.append(Run(scenario, each.execute(scenario, cell.setup.trace, None)))
                bar.advance(running)
            with fresh_directory(place) as folder:
                save_runs(done, folder)
        so_far.move(_CELLS, aside)
    return [write_report(directory / cell.name) for cell in cells]
