"""Directories of results: they appear complete or not at all, and nothing is ever overwritten."""

from __future__ import annotations

import errno
import json
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.errors import of_disk
from fullpipe.results import disk, sums
from fullpipe.runs.view.pgf import measured

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping

    import polars as pl
    from matplotlib.figure import Figure

KEY = "fullpipe"
"""The key of the metadata of a Parquet file."""
RUNNERS = "runners.json"
"""File with the names of the runners of one scenario, in their order; each runner has a directory of its name."""
CHECKED = "check.json"
"""File with the conditions and verdicts that `fullpipe check` keeps."""


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
    try:
        with parents(final), disk.hidden(final, folder=True) as aside:
            yield aside
            sums.write_sums(aside, changing)
            _appear(aside, final, called)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno is None:  # of a part, which has its own words
            raise
        raise OSError(
            f"{called} can't be written: {error.strerror or error}\n"
            f"  fix: {of_disk(error) or 'name a writable directory'}"
        ) from error


def _appear(aside: Path, final: Path, called: str) -> None:
    try:
        disk.place(aside, final)
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
            made += [parent] if disk.make_folder(parent) else []
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
    try:
        with parents(target), disk.hidden(target, folder=False) as aside:
            yield aside
            disk.place(aside, target)
    except OSError as error:
        if error.errno is None:  # of a part, which has its own words
            raise
        raise OSError(
            f"{called} can't be written: {error.strerror or error}\n"
            f"  fix: {of_disk(error) or 'name a file in a writable directory'}"
        ) from error


def write_picture(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Writes a figure to a file, and replaces an existing one; the suffix selects the format, PNG without one.

    Returns:
        The file, with its suffix.

    Raises:
        OSError: When it can't be written.
    """
    file = Path(path)
    named = file if file.suffix else file.with_suffix(".png")
    with disk.replacing(named) as out, measured(named.suffix[1:]):
        figure.savefig(out, format=named.suffix[1:])
    return named


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Writes a frame as Parquet.

    Raises:
        OSError: When it can't be written.
    """
    with disk.NewFile(path) as file:
        frame.write_parquet(file)


def write_shard(
    frame: pl.DataFrame, folder: Path, stem: str, about: Mapping[str, object] | None = None
) -> Path:
    """Writes a frame as the Parquet file `STEM-CHECKSUM.parquet`, which appears complete or not at all.

    Args:
        frame: The frame.
        folder: The folder.
        stem: The beginning of the file's name.
        about: A JSON object for the file's metadata, which :func:`fullpipe.results.kept.parquet_about` reads.

    Returns:
        The file.

    Raises:
        OSError: When it can't be written.
    """
    content = BytesIO()
    frame.write_parquet(content, metadata={KEY: json.dumps(about)} if about else None)
    file = folder / f"{stem}-{sums.in_name(content.getbuffer())}.parquet"
    disk.put(file, content.getbuffer())
    return file
