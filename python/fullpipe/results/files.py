"""Directories of results: they appear whole or not at all, and nothing is ever overwritten."""

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
"""In a directory of one scenario on several runners: which they are, in their order; each has a folder of its name."""


@contextmanager
def fresh_directory(path: str | os.PathLike[str], called: str | None = None) -> Iterator[Path]:
    """Gives a directory beside `path` that becomes `path` when the block ends well, and vanishes when it doesn't.

    Entering the block shows that `path` is free and can be written, before any work is done. Missing parents are made;
    they vanish, too, if nothing else has been put into them.

    Args:
        path: What the directory shall be called in the end.
        called: What errors call it; None for `path` itself.

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
                # refused by the system if something has been put there meanwhile
                aside.rename(final)
            except BaseException:
                shutil.rmtree(aside, ignore_errors=True)
                raise
    except OSError as error:
        raise OSError(
            f"{called} can't be written: {error.strerror or error}; name a directory that can"
        ) from error


@contextmanager
def parents(path: Path) -> Iterator[None]:
    """Makes the missing parents of a path. When the block fails, those vanish in which there is nothing."""
    made: list[Path] = []
    try:
        for parent in reversed([each for each in path.parents if not each.exists()]):
            with suppress(FileExistsError):  # made by somebody else meanwhile
                parent.mkdir()
                made.append(parent)
        yield
    except BaseException:
        for parent in reversed(made):
            with suppress(OSError):  # used by somebody else
                parent.rmdir()
        raise


@contextmanager
def fresh_file(path: str | os.PathLike[str], called: str | None = None) -> Iterator[Path]:
    """Gives a name beside `path`: what the block writes there is at `path` when it ends well, else nothing is.

    Args:
        path: What the file shall be called in the end; its directory is made if there is none.
        called: What errors call it; None for `path` itself.

    Raises:
        FileExistsError: When there is something at `path`.
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
    except ComputeError as error:  # what polars makes of a full disk
        raise OSError(str(error).rpartition("IO error: ")[2]) from error


def read_parquet(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Reads one file of Parquet, whatever its path is called.

    Raises:
        FileNotFoundError: When it is not there.
        polars.exceptions.PolarsError: When it is no Parquet.
    """
    import polars as pl

    return pl.read_parquet(plain_path(path), glob=False, hive_partitioning=False)


def scan_parquet(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> pl.LazyFrame:
    """The rows of one file of Parquet, or of several with the same columns, without reading them yet.

    Raises:
        FileNotFoundError: When one is not there, raised when rows are collected.
    """
    import polars as pl

    several = paths if isinstance(paths, Sequence) and not isinstance(paths, str) else [paths]
    return pl.scan_parquet(
        [plain_path(path) for path in several], glob=False, hive_partitioning=False
    )


def plain_path(path: str | os.PathLike[str]) -> str:
    """A path that polars takes as it is: a relative one that begins with `~` or `s3:` would mean another place."""
    return os.path.abspath(path)  # noqa: PTH100  (resolve() would follow links)
