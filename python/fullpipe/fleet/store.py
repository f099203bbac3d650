"""A fleet directory: tables of Parquet files, a folder an arm and a day, beside `ingest.json`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from fullpipe.batch.store import write_whole
from fullpipe.fleet.derive import conform, types
from fullpipe.fleet.schema import DAY_OF
from fullpipe.results import scan_parquet

if TYPE_CHECKING:
    from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
NO_DAY = "unknown"
NO_ARM = "unassigned"
"""Of a line of a log whose host is in no arm, or in several."""


def is_name(text: str) -> bool:
    """Whether it can be an arm's name, which is a folder's, too."""
    return _NAME.fullmatch(text) is not None


def write(directory: Path, table: str, frame: pl.DataFrame, part: str) -> list[Path]:
    """Adds rows to a table: a file `PART.parquet` in the folder of each arm and day, that appears whole or not at all.

    Args:
        directory: Of the fleet.
        table: Of :data:`fullpipe.fleet.schema.TABLES`.
        frame: As :func:`fullpipe.fleet.derive.conform` takes it.
        part: What the files are called; those of the same name are replaced.

    Returns:
        The files.

    Raises:
        ValueError: When the frame has a column that the table has not.
        OSError: When it can't be written.
    """
    day = pl.col(DAY_OF[table]).dt.strftime("%Y-%m-%d").fill_null(NO_DAY).alias("_day")
    whole = conform(frame, table).with_columns(day)
    files = []
    for (arm, of_day), rows in whole.partition_by(
        "arm", "_day", as_dict=True, include_key=True
    ).items():
        folder = directory / table / f"arm={arm}" / f"day={of_day}"
        folder.mkdir(parents=True, exist_ok=True)
        files.append(write_whole(rows.drop("_day"), folder / f"{part}.parquet"))
    return files


def scan(directory: Path, table: str) -> pl.LazyFrame:
    """A table, lazily; empty, with all its columns, when the directory has not got it."""
    files = sorted((directory / table).glob("arm=*/day=*/[!.]*.parquet"))
    if not files:
        return pl.LazyFrame(schema=types(table))
    return scan_parquet(files)
