"""A directory that grows shard by shard: the names of shards say what is missing, each appears whole or not at all."""

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
    """A directory of one specification, opened to be filled.

    Attributes:
        directory: Where it is.
        about: What its JSON file said when it was opened.
    """

    ABOUT: ClassVar[str]
    """The JSON file that says what is run; with it the directory is one of these."""
    OTHER_BUILD: ClassVar[str]
    """What an error says that it holds when another build made it; {} is which."""
    OTHER_SPEC: ClassVar[str]
    """What an error says that it holds when something else was specified."""

    def __init__(self, directory: Path, identity: str, called: str) -> None:
        """Makes the directory, or opens the one that is there.

        Raises:
            FileExistsError: When there is something else.
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
        """Keeps other processes from filling the same directory.

        Raises:
            BlockingIOError: When one does so already.
        """
        with alone(self.directory):
            yield

    @abstractmethod
    def _make(self, aside: Path) -> None:
        """Puts into a new directory what is there before the first shard."""

    @abstractmethod
    def _description(self) -> Mapping[str, object]:
        """What the JSON file says: `identity`, `build` and `version` among it."""

    def _describe(self) -> None:
        """Writes the JSON file again, for more runs."""
        write_json(self.directory / self.ABOUT, self._description())


def header(identity: str, format_: int, command: str) -> dict[str, Any]:
    """What the JSON file of every store begins with."""
    return {
        "format": format_,
        "version": __version__,
        "build": build(),
        "identity": identity,
        "command": command,
    }


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Keeps other processes from filling the same directory.

    Raises:
        BlockingIOError: When one does so already.
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
                f"{directory}: another process is filling it; wait for that one"
            ) from error
        yield


def gaps(shards: Iterable[tuple[int, int]], runs: int) -> list[tuple[int, int]]:
    """The ranges of run numbers that no shard has, each with the number behind its last."""
    ranges, at = [], 0
    for first, end in sorted(shards):
        if first > at:
            ranges.append((at, first))
        at = max(at, end)
    ranges = [(first, min(end, runs)) for first, end in ranges if first < runs]
    return [*ranges, (at, runs)] if at < runs else ranges


def write_whole(frame: pl.DataFrame, file: Path) -> Path:
    """Writes a Parquet file that is there whole or not at all; one of the same name is replaced.

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
    """Writes a file that is the old one or the new one at any time."""
    aside = path.with_name(f".{path.name}")
    aside.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    os.replace(aside, path)  # noqa: PTH105  (also where it exists, on every system)


def read_json(path: Path) -> dict[str, Any]:
    """Reads one.

    Raises:
        OSError: When it can't be read.
        ValueError: When it is no JSON.
    """
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read
