"""A directory that grows shard by shard: a shard's name has its runs, and its file appears complete or not at all.

Each file has a checksum. Damaged files are made again when the directory is opened to add shards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from fullpipe.base.build import build, made
from fullpipe.errors import DamagedError
from fullpipe.results import disk, fresh_directory, sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


class Store(ABC):
    """A directory for one specification, opened to add shards.

    Attributes:
        directory: Its path.
        about: The contents of its JSON file when it was opened.
    """

    ABOUT: ClassVar[str]
    """The name of the JSON file that describes the runs, and marks the directory as a store."""
    FILES: ClassVar[tuple[str, ...]]
    """The names of its other files that do not change."""
    OTHER_BUILD: ClassVar[str]
    """Its contents in an error message if a different build made it; {} is the build."""
    OTHER_SPEC: ClassVar[str]
    """Its contents in an error message if its specification is different."""

    def __init__(self, directory: Path, identity: str, called: str) -> None:
        """Makes the directory, or opens the existing one.

        Raises:
            FileExistsError: When the directory has other contents.
            DamagedError: When its JSON file is damaged, and it has no shards of this specification.
            OSError: When it can't be written.
        """
        self.directory = directory
        self.repaired: list[str] = []
        if not (directory / self.ABOUT).exists() and not self._has_shards():
            self._begin(called)
        try:
            self.about = self._read()
        except (DamagedError, FileNotFoundError) as error:
            if not self._has_shards():
                raise
            self.repaired.append(f"{str(error).splitlines()[0]}; it was made again")
            self._describe()
            self.about = self._read()
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

    def _begin(self, called: str) -> None:
        try:
            with fresh_directory(self.directory, called, changing=[self.ABOUT]) as aside:
                self._make(aside)
                sums.write_json(aside / self.ABOUT, dict(self._description()))
        except FileExistsError:
            # Another process may have begun the same one.
            if not (self.directory / self.ABOUT).exists():
                raise

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps other processes from adding to the same directory, and makes damaged files again.

        Raises:
            BlockingIOError: When another process does so already.
        """
        with alone(self.directory):
            self._repair()
            yield

    def _repair(self) -> None:
        files = [self.directory / name for name in self.FILES]
        damaged = [file for file in files if not sums.is_whole(file)]
        if not damaged and (self.directory / sums.SUMS).exists():
            return
        self.repaired += [f"{file}: damaged; it was made again" for file in damaged]
        with disk.scratch(self.directory / ".repair") as folder:
            self._make(folder)
            sums.write_sums(folder)
            for name in (*self.FILES, sums.SUMS):
                disk.place(folder / name, self.directory / name)

    @abstractmethod
    def _make(self, aside: Path) -> None:
        """Writes the files of a new directory, before the first shard."""

    @abstractmethod
    def _has_shards(self) -> bool:
        """Returns whether the directory has shards of the specification."""

    @abstractmethod
    def _read(self) -> Mapping[str, Any]:
        """Reads the JSON file."""

    @abstractmethod
    def _description(self) -> Mapping[str, object]:
        """Returns the contents of the JSON file, with `identity`, `build` and `version`."""

    def _describe(self) -> None:
        """Writes the JSON file again, for more runs."""
        sums.write_json(self.directory / self.ABOUT, dict(self._description()))


def header(identity: str, format_: int, command: str) -> dict[str, Any]:
    """Returns the first entries of the JSON file of every store."""
    return {
        "format": format_,
        **made(),
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
