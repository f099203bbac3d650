"""Loads what `run --out`, `sweep`, `compare`, `reproduce` and `evaluate` saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.results.files import CHECKED, RUNNERS
from fullpipe.results.kept import computing
from fullpipe.results.model import NoResultsError
from fullpipe.results.single import load_run, load_runs
from fullpipe.results.study import load_study
from fullpipe.results.sums import is_there
from fullpipe.results.sweep import load_comparison, load_sweep

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fullpipe.results.model import Results

_SHOWN = 3
"""The number of directories that an error names."""


def load(directory: Path) -> Results:
    """Reads the results in a directory, of any kind.

    Raises:
        NoResultsError: When it has none, or they are incomplete.
        DamagedError: When a file is damaged, or of another version.
        OSError: When it can't be read.
    """
    if not directory.is_dir():
        what = "is a file, not a directory" if directory.exists() else "no such directory"
        raise NoResultsError(
            f"{directory}: {what}\n  fix: name a directory that run, sweep or reproduce wrote with --out"
        )
    readers: dict[str, Callable[[Path], Results]] = {
        "sweep.json": load_sweep,
        "compare.json": load_comparison,
        "table.json": load_study,
        RUNNERS: load_runs,
        "metrics.json": load_run,
    }
    for file, reader in readers.items():
        if is_there(directory / file):
            with computing(directory):
                return reader(directory)
    inside = [
        str(each)
        for each in sorted(directory.iterdir())
        if each.is_dir() and any(is_there(each / file) for file in readers)
    ]
    if inside:
        shown = ", ".join(inside[:_SHOWN]) + (", …" if len(inside) > _SHOWN else "")
        raise NoResultsError(
            f"{directory}: no results, but directories with results\n  fix: name them: {shown}"
        )
    if is_there(directory / CHECKED):
        raise NoResultsError(
            f"{directory}: kept by `fullpipe check`, which has no report\n"
            f"  fix: compare with it: fullpipe check PATH --against {directory}; or name what run or sweep wrote"
        )
    raise NoResultsError(
        f"{directory}: no results: there is no sweep.json, compare.json, table.json, runners.json or metrics.json,"
        " and no ingest.json of a fleet\n"
        "  fix: name a directory that run, sweep or reproduce wrote with --out, or a fleet directory"
    )
