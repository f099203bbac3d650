"""A fleet directory: `ingest.json`, and tables of Parquet files with a folder per arm and day."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from fullpipe.errors import DamagedError
from fullpipe.results import disk, scan_parquet, write_shard
from fullpipe.results.kept import shards
from fullpipe.results.sums import AGAIN, is_shard, is_whole, stem
from fullpipe.wings.fleet.derive import conform, types
from fullpipe.wings.fleet.records import record
from fullpipe.wings.fleet.schema import DAY_OF

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
NO_DAY = "unknown"
NO_ARM = "unassigned"
"""Arm of a log line whose host belongs to no arm, or to several."""


def is_name(text: str) -> bool:
    """Returns whether a text can be the name of an arm, which is also a folder's name."""
    return _NAME.fullmatch(text) is not None


def write(directory: Path, table: str, frame: pl.DataFrame, part: str) -> list[str]:
    """Adds rows to a table: a file `PART-CHECKSUM.parquet` per arm and day, each written atomically.

    Args:
        directory: The fleet directory.
        table: A name in :data:`fullpipe.wings.fleet.schema.TABLES`.
        frame: Rows, as :func:`fullpipe.wings.fleet.derive.conform` accepts them.
        part: Name of the files without checksum and suffix; no table may have files of that name yet.

    Returns:
        The files, relative to the directory.

    Raises:
        ValueError: When the frame has a column that the table lacks.
        OSError: When a file can't be written.
    """
    day = pl.col(DAY_OF[table]).dt.strftime("%Y-%m-%d").fill_null(NO_DAY).alias("_day")
    whole = conform(frame, table).with_columns(day)
    files = []
    for (arm, of_day), rows in whole.partition_by(
        "arm", "_day", as_dict=True, include_key=True
    ).items():
        folder = directory / table / f"arm={arm}" / f"day={of_day}"
        disk.make_folder(folder)
        written = write_shard(rows.drop("_day"), folder, part)
        files.append(str(written.relative_to(directory)))
    return files


def remove(directory: Path, table: str, part: str) -> None:
    """Removes the files of a part of a table, if there are any."""
    for file in _there(directory, table):
        if is_shard(file) and stem(file) == part:
            disk.remove(file)


def files_of(directory: Path, table: str) -> list[Path]:
    """Returns the files of a table, in the order of arms, days and names: those that the directory's record lists.

    Raises:
        DamagedError: When one of these is missing, or the record is damaged.
        OSError: When the record can't be read.
    """
    listed = record(directory)
    if listed is None:
        return _there(directory, table)
    files = sorted(directory / name for name in listed.files if name.startswith(f"{table}/"))
    for file in files:
        if not file.exists():
            raise DamagedError(f"{file}: missing\n  fix: {AGAIN}")
    return files


def _there(directory: Path, table: str) -> list[Path]:
    days = sorted((directory / table).glob("arm=*/day=*/"))
    return [file for day in days for file in shards(day)]


def are_whole(directory: Path, files: Iterable[str]) -> bool:
    """Returns whether files that :func:`write` returned are all there, and undamaged."""
    return all(is_whole(directory / file) for file in files)


def scan(directory: Path, table: str) -> pl.LazyFrame:
    """Returns a table lazily; if the directory lacks it, an empty one with all columns.

    Raises:
        DamagedError: When a file is damaged or missing.
        OSError: When a file can't be read.
    """
    files = files_of(directory, table)
    if not files:
        return pl.LazyFrame(schema=types(table))
    return scan_parquet(files)
