"""Directories of results: they appear complete or not at all, and nothing is ever overwritten."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.results import sums
from fullpipe.results.kept import plain_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import polars as pl

RUNNERS = "runners.json"
"""File with the names of the runners of one scenario, in their order; each runner has a directory of its name."""


@contextmanager
def fresh_directory(
    path: str | os.PathLike[str], called: str | None = None, changing: Collection[str] = ()
) -> Iterator[Path]:
    """Yields a temporary directory that is renamed to `path` when the block succeeds, and deleted when it fails.

    In the end it has the checksums of its files, see :mod:`fullpipe.results.sums`.

    Entering the block checks that `path` is free and can be written, before any work is done.
    Missing parents are made. On failure, missing parents are deleted again if they are empty.

    Args:
        path: The final name of the directory.
        called: The directory's name in errors; None for `path` itself.
        changing: Names of files that will change, and have their own checksums.

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
                sums.write_sums(aside, changing)
                _appear(aside, final, called)
            except BaseException:
                shutil.rmtree(aside, ignore_errors=True)
                raise
    except FileExistsError:
        raise
    except OSError as error:
        raise OSError(
            f"{called} can't be written: {error.strerror or error}; name a writable directory"
        ) from error


def _appear(aside: Path, final: Path, called: str) -> None:
    try:
        aside.rename(final)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise FileExistsError(
            f"{called} has been made by another process meanwhile; wait until that has finished, or "
            "name a new directory"
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
        with parents(aside):
            try:
                aside.touch()
                yield aside
                aside.rename(target)
            except BaseException:
                with suppress(OSError):
                    aside.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise OSError(f"{called} can't be written: {error.strerror or error}") from error


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


def write_shard(frame: pl.DataFrame, folder: Path, stem: str) -> Path:
    """Writes a frame as the Parquet file `STEM-CHECKSUM.parquet`, which appears complete or not at all.

    Returns:
        The file.

    Raises:
        OSError: When it can't be written.
    """
    content = BytesIO()
    frame.write_parquet(content)
    aside = folder / f".{stem}.{os.urandom(4).hex()}"
    try:
        aside.write_bytes(content.getbuffer())
        return aside.replace(folder / f"{stem}-{sums.in_name(content.getbuffer())}.parquet")
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
