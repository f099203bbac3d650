"""Results of a check in a directory, as `check --out` keeps them and `check --against` reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict

from fullpipe.base.build import Made, made
from fullpipe.errors import UserError
from fullpipe.results import read_parquet, write_parquet
from fullpipe.results.files import CHECKED
from fullpipe.results.kept import read_sealed
from fullpipe.results.sums import write_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from fullpipe.study.checks.run import Checked

FILE = CHECKED
FORMAT = 1
"""The version of `check.json`."""


class ScenarioAbout(TypedDict):
    """A scenario in `check.json`."""

    file: str
    runner: str
    resolved: str
    """The complete scenario as TOML."""
    met: int
    conditions: int
    rows: str
    """The file with a row per flow and run."""
    jitter: NotRequired[dict[str, str]]
    """The jitter that was added so that repetitions differ."""


class CheckAbout(Made):
    """The contents of `check.json`."""

    format: int
    scenarios: list[ScenarioAbout]


class Before(NamedTuple):
    """The kept results of a scenario on a runner."""

    about: ScenarioAbout
    rows: pl.DataFrame


class NoCheckError(UserError):
    """The directory has no results of a check; the text has the fix."""


def write(all_checked: Sequence[Checked], directory: Path) -> None:
    """Writes results into an existing directory.

    Raises:
        OSError: When a file can't be written.
    """
    scenarios: list[ScenarioAbout] = []
    for number, checked in enumerate(all_checked):
        name = f"{number}.parquet"
        write_parquet(checked.rows, directory / name)
        scenarios.append(
            {
                "file": checked.file,
                "runner": checked.runner,
                "resolved": checked.resolved,
                "met": sum(each.met for each in checked.judged),
                "conditions": len(checked.judged),
                "rows": name,
                "jitter": dict(each.split("=", 1) for each in checked.jitter),
            }
        )
    about: CheckAbout = {"format": FORMAT, **made(), "scenarios": scenarios}
    write_json(directory / FILE, {**about})


def read(directory: Path, called: str) -> list[Before]:
    """Reads kept results; `called` is the directory's name in errors.

    Raises:
        NoCheckError: When the directory has none.
        DamagedError: When a file is damaged, or of another version.
        OSError: When a file can't be read.
    """
    file = directory / FILE
    if not file.exists():
        raise NoCheckError(
            f"--against {called}: no results of a check: there is no {FILE}\n"
            f"  fix: make them with the other version: fullpipe check … --out {called}"
        )
    about = read_sealed(file, CheckAbout, FORMAT)
    needed = ["seed", "flow", "flow_index"]
    return [
        Before(each, read_parquet(directory / each["rows"], needed)) for each in about["scenarios"]
    ]
