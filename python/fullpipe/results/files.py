"""Directories of results: they appear complete or not at all, and nothing is ever overwritten."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

RUNNERS = "runners.json"
"""File with the names of the runners of one scenario, in their order; each runner has a directory of its name."""


@contextmanager
def fresh_directory(path: str | os.PathLike[str], called: str | None = None) -> Iterator[Path]:
    """Yields a temporary directory that is renamed to `path` when the block succeeds, and deleted when it fails.

    Entering the block checks that `path` is free and can be written, before any work is done.
    Missing parents are made. On failure, missing parents are deleted again if they are empty.

    Args:
        path: The final name of the directory.
        called: The directory's name in errors; None for `path` itself.

    Raises:
        FileExistsError: When `path` is anything but an empty directory.
        OSError: When its parent can't be written, or the disk is full.
    """
    target = Path(path)
    called = called or str(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(
            f"{called} exists already; name a new directory, results are never overwritten"
        )
    final = target.resolve()
    aside = final.with_name(f".{final.name}.{os.urandom(4).hex()}")
    try:
        with parents(aside):
            try:
                aside.mkdir()
                yield aside
                # The rename fails if another process has created the directory meanwhile.
                aside.rename(final)
            except BaseException:
                shutil.rmtree(aside, ignore_errors=True)
                raise
    except OSError as error:
        raise OSError(
            f"{called} can't be written: {error.strerror or error}; name a writable directory"
        ) from error


@contextmanager
def parents(path: Path) -> Iterator[None]:
    """Makes the missing parents of a path. When the block fails, those that are empty are deleted."""
    made: list[Path] = []
    try:
        for parent in reversed([each for each in path.parents if not each.exists()]):
            with suppress(FileExistsError):  # another process has created the directory
                parent.mkdir()
                made.append(parent)
        yield
    except BaseException:
        for parent in reversed(made):
            with suppress(OSError):  # another process uses the directory
                parent.rmdir()
        raise


@contextmanager
def fresh_file(path: str | os.PathLike[str], called: str | None = None) -> Iterator[Path]:
    """Yields a temporary file that is renamed to `path` when the block succeeds, and deleted when it fails.

    Args:
        path: The final name of the file; its directory is made if missing.
        called: The file's name in errors; None for `path` itself.

    Raises:
        FileExistsError: When `path` exists.
        OSError: When it can't be written.
    """
    target = Path(path)
    called = called or str(target)
    if target.exists():
        raise FileExistsError(
            f"{called} exists already; name a new file, results are never overwritten"
        )
    aside = target.with_name(f".{target.name}.{os.urandom(4).hex()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        aside.touch()
        yield aside
        aside.rename(target)
    except BaseException as error:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(f"{called} can't be written: {error.strerror or error}") from error
        raise


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Writes a frame as Parquet.

    Raises:
        OSError: When it can't be written.
    """
    from polars.exceptions import ComputeError

    try:
        frame.write_parquet(plain_path(path))
    except ComputeError as error:  # polars raises ComputeError for a full disk
        raise OSError(str(error).rpartition("IO error: ")[2]) from error


def read_parquet(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Reads one Parquet file, with any characters in its path.

    Raises:
        FileNotFoundError: When it does not exist.
        polars.exceptions.PolarsError: When it is not a Parquet file.
    """
    import polars as pl

    return pl.read_parquet(plain_path(path), glob=False, hive_partitioning=False)


def scan_parquet(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> pl.LazyFrame:
    """Returns the rows of one Parquet file, or of several with the same columns, without reading them yet.

    Raises:
        FileNotFoundError: When a file does not exist; raised when the rows are collected.
    """
    import polars as pl

    several = paths if isinstance(paths, Sequence) and not isinstance(paths, str) else [paths]
    return pl.scan_parquet(
        [plain_path(path) for path in several], glob=False, hive_partitioning=False
    )


def plain_path(path: str | os.PathLike[str]) -> str:
    """Returns the absolute path, since polars would take a relative one that begins with `~` or `s3:` for another."""
    return os.path.abspath(path)  # noqa: PTH100  (resolve() would follow links)
