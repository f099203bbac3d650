"""Finished parts of an interrupted command, in a directory next to the final one: the same command resumes there.

`DIR.unfinished` has `study.json`, which describes the work, `runs.jsonl`, a record of each finished run, and folders of
finished files. The directory is deleted when `DIR` is complete.
"""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar

from fullpipe.errors import DamagedError, stoppable
from fullpipe.results import disk, fresh_directory, objects, parents
from fullpipe.results.kept import read_sealed
from fullpipe.results.sums import write_json
from fullpipe.study import kept_in
from fullpipe.study.execute import NOTHING, telling
from fullpipe.study.records import Records, records
from fullpipe.study.store import alone

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

T = TypeVar("T")
_ABOUT, _RUNS = "study.json", "runs.jsonl"
_FORMAT = 1
_FINISHED = (".parquet", ".png")
"""Endings of files that are finished work, unlike descriptions of it."""

Key = tuple[str | int, ...]
"""Identifies a run."""


def directory(target: Path) -> Path:
    """Returns the directory for finished parts while `target` is incomplete."""
    return target.with_name(f"{target.name}.unfinished")


class _About(TypedDict):
    format: int
    study: dict[str, str]


def begun(target: Path) -> Mapping[str, str] | None:
    """Returns the description of the incomplete work for `target`; None before it has begun.

    Raises:
        DamagedError: When the description is damaged.
    """
    try:
        return read_sealed(directory(target) / _ABOUT, _About, _FORMAT)["study"]
    except OSError:
        return None


class Checkpoint:
    """Stores finished parts while others execute, and has those of an interrupted process.

    As a context it keeps other processes from the same parts. The directory is deleted when the
    block succeeds, or when it fails before the first part is finished.

    Raises:
        FileExistsError: When the directory has parts of different work.
        DamagedError: When its description is damaged, and its runs may be of different work.
        BlockingIOError: When another process uses the directory.
    """

    def __init__(self, target: Path, about: Mapping[str, str], called: str) -> None:
        self._target, self._directory = target, directory(target)
        self._about, self._called = dict(about), called
        self._known: dict[Key, dict[str, Any]] = {}
        self._runs = 0
        self._inside = ExitStack()
        self._records: Records

    @property
    def kept(self) -> str:
        """The message about finished runs for an interrupted command."""
        if not self._has_parts():
            return NOTHING
        return kept_in(self._directory)

    def get(self, key: Key) -> dict[str, Any] | None:
        """Returns the record of a finished run; None if it has not run."""
        return self._known.get(key)

    def add(self, key: Key, record: Mapping[str, object]) -> None:
        """Writes the record of a finished run."""
        self._records.add({"key": key, **record})
        self._runs += 1

    def folder(self, name: str) -> Path:
        """Returns a folder for finished files, which appear there complete."""
        folder = self._directory / name
        disk.make_folder(folder)
        return folder

    def move(self, name: str, to: Path) -> None:
        """Puts the files of a folder into the directory that will be the final one.

        They are links, where the file system has them: the folder is whole until the final directory is.
        """
        disk.link_folder(self.folder(name), to)

    def discard(self) -> None:
        """Deletes all parts, which a wrong input made useless."""
        disk.remove_folder(self._directory)
        self._runs = 0

    def _has_parts(self) -> bool:
        """Returns whether there is something to resume."""
        return bool(self._runs) or any(
            file.suffix in _FINISHED and not file.name.startswith(".")
            for file in self._directory.glob("*/**/*")
        )

    def __enter__(self) -> Checkpoint:
        with ExitStack() as inside:
            inside.enter_context(parents(self._directory.resolve()))
            disk.make_folder(self._directory)
            inside.enter_context(alone(self._directory))
            runs = records(self._directory / _RUNS, json.dumps(self._about))
            self._records = inside.enter_context(runs)
            self._known = {tuple(each.pop("key")): each for each in self._records.there}
            self._runs = len(self._known)
            self._refuse_another()
            write_json(self._directory / _ABOUT, {"format": _FORMAT, "study": self._about})
            self._inside = inside.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None or not self._has_parts():
            disk.remove_folder(self._directory)
        self._inside.__exit__(kind, error, trace)

    def _refuse_another(self) -> None:
        try:
            there = begun(self._target) or self._about
        except DamagedError:
            if self._records.damaged and not self._known:
                raise  # they may be of other work
            return
        other = [
            f"{name} was {there.get(name)}, not {now}"
            for name, now in self._about.items()
            if there.get(name) != now
        ]
        if other and (self._records.damaged or self._has_parts()):
            raise FileExistsError(
                f"{self._called}: {self._directory} has finished parts of different work: {'; '.join(other)}\n"
                f"  fix: name another output, or remove that directory"
            )


@contextmanager
def resumable(so_far: Checkpoint | None, where: Callable[[], str]) -> Iterator[None]:
    """Keeps the finished parts of the block's work; if it is interrupted, or its cluster is lost, the command ends so.

    Args:
        so_far: The parts; None if the command keeps none.
        where: Returns the place of an interruption, in words.

    Raises:
        The errors of :class:`Checkpoint`.
    """

    def kept() -> str:
        return so_far.kept if so_far else NOTHING

    with telling(kept), stoppable(where, kept), so_far or nullcontext():
        yield


@contextmanager
def new_results(
    place: str | os.PathLike[str] | None, about: Mapping[str, str], where: Callable[[], str]
) -> Iterator[tuple[Path | None, Checkpoint | None]]:
    """Yields a temporary directory that becomes the directory or URL of `--out`, and the checkpoint next to it.

    Args:
        place: The value of `--out`; None without one: there is neither of them then.
        about: Describes the work.
        where: Returns the place of an interruption, in words.

    Raises:
        FileExistsError: When it has anything already, or the checkpoint has parts of different work.
        BlockingIOError: When another process makes it.
        ObjectsError: When the object store can't be read or written.
        OSError: When it can't be written.
    """
    if place is None:
        with resumable(None, where):
            yield None, None
        return
    with objects.writable(place) as (directory, _):
        option = f"--out {objects.called(place)}"
        so_far = Checkpoint(directory, about, option)
        with resumable(so_far, where), fresh_directory(directory, option) as aside:
            yield aside, so_far


class Runs(Generic[T]):
    """The reduced results of runs in a checkpoint, for :func:`fullpipe.study.execute.repeat`."""

    def __init__(
        self,
        so_far: Checkpoint,
        keys: Sequence[Key],
        write: Callable[[T], Mapping[str, object]],
        read: Callable[[dict[str, Any]], T],
    ) -> None:
        """Names the runs.

        Args:
            so_far: The checkpoint.
            keys: The key of each job; that of a run also has its seed.
            write: Returns the record of a result.
            read: Returns the result of a record.
        """
        self._so_far, self._keys, self._write, self._read = so_far, keys, write, read

    def get(self, number: int, seed: int) -> T | None:
        """Returns the result of a finished run of a job; None if it has not run."""
        record = self._so_far.get((*self._keys[number], seed))
        return None if record is None else self._read(record)

    def add(self, number: int, seed: int, made: T) -> None:
        """Keeps the result of a run."""
        self._so_far.add((*self._keys[number], seed), self._write(made))
