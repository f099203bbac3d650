"""One traced run of each cell on the simulator and on Linux, with a page that shows both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.base.progress import counting
from fullpipe.errors import stoppable
from fullpipe.report import write_report
from fullpipe.results import disk, fresh_directory, save_runs
from fullpipe.run import Run
from fullpipe.runners import SIMULATOR, chosen

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.runners import Runner
    from fullpipe.wings.real.validate.cells import Cell


_BOTH = (SIMULATOR, "uml")


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
    with (
        stoppable(lambda: "while tracing"),
        fresh_directory(directory, called=f"--traces {directory}") as aside,
        bar,
    ):
        for cell in cells:
            scenario = cell.setup.scenario(1)
            done = []
            for each in runners:
                done.append(Run(scenario, each.execute(scenario, cell.setup.trace, None)))
                bar.advance(running)
            disk.make_folder(aside / cell.name)
            save_runs(done, aside / cell.name)
    return [write_report(directory / cell.name) for cell in cells]
