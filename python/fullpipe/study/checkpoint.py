"""Finished parts of an interrupted command, in a directory next to the final one: the same command resumes there.

`DIR.unfinished` has `study.json`, which describes the work, `runs.jsonl`, a record of each finished run, and folders of
finished files. The directory is deleted when `DIR` is complete.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypedDict

from fullpipe.errors import DamagedError
from fullpipe.results import disk, parents
from fullpipe.results.kept import read_sealed
from fullpipe.results.sums import write_json
from fullpipe.study import kept_in
from fullpipe.study.records import Records, records
from fullpipe.study.store import alone

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

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
            return "nothing kept"
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
