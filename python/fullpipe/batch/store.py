"""A directory that grows shard by shard: a shard's name has its runs, and its file appears complete or not at all."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from fullpipe._core import __version__
from fullpipe.batch.spec import build
from fullpipe.results import fresh_directory, write_parquet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import polars as pl


class Store(ABC):
    """A directory for one specification, opened to add shards.

    Attributes:
        directory: Its path.
        about: The contents of its JSON file when it was opened.
    """

    ABOUT: ClassVar[str]
    """The name of the JSON file that describes the runs, and marks the directory as a store."""
    OTHER_BUILD: ClassVar[str]
    """Its contents in an error message if a different build made it; {} is the build."""
    OTHER_SPEC: ClassVar[str]
    """Its contents in an error message if its specification is different."""

    def __init__(self, directory: Path, identity: str, called: str) -> None:
        """Makes the directory, or opens the existing one.

        Raises:
            FileExistsError: When the directory has other contents.
            OSError: When it can't be written.
        """
        self.directory = directory
        if not (directory / self.ABOUT).exists():
            with fresh_directory(directory, called) as aside:
                self._make(aside)
                write_json(aside / self.ABOUT, self._description())
        self.about: dict[str, Any] = read_json(directory / self.ABOUT)
        if self.about.get("identity") != identity:
            made_by = f"{self.about.get('version')}, {self.about.get('build')}"
            what = (
                self.OTHER_BUILD.format(made_by)
                if self.about.get("build") != build()
                else self.OTHER_SPEC
            )
            raise FileExistsError(
                f"{called} holds {what}; name a new directory, results are never overwritten"
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps other processes from adding to the same directory.

        Raises:
            BlockingIOError: When another process does so already.
        """
        with alone(self.directory):
            yield

    @abstractmethod
    def _make(self, aside: Path) -> None:
        """Writes the files of a new directory, before the first shard."""

    @abstractmethod
    def _description(self) -> Mapping[str, object]:
        """Returns the contents of the JSON file, with `identity`, `build` and `version`."""

    def _describe(self) -> None:
        """Writes the JSON file again, for more runs."""
        write_json(self.directory / self.ABOUT, self._description())


def header(identity: str, format_: int, command: str) -> dict[str, Any]:
    """Returns the first entries of the JSON file of every store."""
    return {
        "format": format_,
        "version": __version__,
        "build": build(),
        "identity": identity,
        "command": command,
    }


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Keeps other processes from adding to the same directory.

    Raises:
        BlockingIOError: When another process does so already.
    """
    try:
        import fcntl
    except ImportError:  # not on this system
        yield
        return
    with (directory / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BlockingIOError(
                f"{directory}: another process is adding to it; wait until that has finished"
            ) from error
        yield


def gaps(shards: Iterable[tuple[int, int]], runs: int) -> list[tuple[int, int]]:
    """Returns the ranges of run numbers that no shard has, each with the number after its last."""
    ranges, at = [], 0
    for first, end in sorted(shards):
        if first > at:
            ranges.append((at, first))
        at = max(at, end)
    ranges = [(first, min(end, runs)) for first, end in ranges if first < runs]
    return [*ranges, (at, runs)] if at < runs else ranges


def write_whole(frame: pl.DataFrame, file: Path) -> Path:
    """Writes a Parquet file, which appears complete or not at all; an existing one is replaced.

    Raises:
        OSError: When it can't be written.
    """
    aside = file.with_name(f".{file.name}")
    try:
        write_parquet(frame, aside)
        return aside.replace(file)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: object) -> None:
    """Replaces a file atomically: at any time it has its old or its new contents."""
    aside = path.with_name(f".{path.name}")
    aside.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    os.replace(aside, path)  # noqa: PTH105  (also where it exists, on every system)


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON file.

    Raises:
        OSError: When it can't be read.
        ValueError: When it is not JSON.
    """
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read
