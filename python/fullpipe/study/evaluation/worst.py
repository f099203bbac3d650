"""The run of each criterion's worst cell over time, recorded once and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.algorithms.own import options, own
from fullpipe.report.panels import time
from fullpipe.results import disk, suited_interval
from fullpipe.results.objects import called
from fullpipe.results.single import load_run
from fullpipe.results.sums import is_whole_directory
from fullpipe.results.words import command_of
from fullpipe.run import run, unjudged
from fullpipe.runners import option
from fullpipe.study.evaluation.measure import variation_directory

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.report.model import Recorded
    from fullpipe.study.evaluation.judge import Outcome
    from fullpipe.study.question import Contender

_ROWS = 600
"""Rows per flow: a page shows the worst cells of some forty criteria."""


def record(outcome: Outcome, tested: Contender, place: Path, on: str) -> Path | None:
    """Runs the seed of the worst cell that is nearest to its mean, and saves it; None if nothing was run.

    In real time it is a further run of the cell.

    Raises:
        OSError: When the directory can't be written.
    """
    if outcome.worst is None:
        return None
    cell = outcome.worst
    directory = place / f"{outcome.criterion.name}-{cell.number}-{cell.seed}"
    if not is_whole_directory(directory):
        disk.remove_folder(directory)
        text = f"# {outcome.criterion.title}: {cell.label}\n"
        text += outcome.criterion.written(cell.words, tested.name, tested.params)
        scenario = unjudged(text, seed=cell.seed)
        run(scenario, trace=suited_interval(scenario, _ROWS), on=on).save(directory)
    return directory


def recorded(directory: Path) -> list[Recorded]:
    """Returns a saved run over time."""
    section = time.section(load_run(directory))
    return section.blocks[0].runs if section else []  # type: ignore[union-attr]


def replay(outcome: Outcome, tested: Contender, on: str) -> str:
    """Returns the command that repeats the run of the worst cell; empty if nothing was run."""
    cell, measured = outcome.worst, outcome.measured
    if cell is None or measured is None or measured.directory is None:
        return ""
    point = measured.points[(cell.number, tested.label)]
    place = measured.directory
    if outcome.criterion.is_recorded:
        place = variation_directory(place, cell.seed)
    again = options(own([tested.name]))
    words = [called(place), "--point", str(point), *option(on), *again, "--seed", str(cell.seed)]
    return command_of("run", words)
