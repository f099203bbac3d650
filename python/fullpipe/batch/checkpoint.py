"""Finished runs of an interrupted study, in a directory next to the final one: the same command resumes there.

`DIR.unfinished` has `study.json`, which describes the study, and `runs.jsonl`, one line per
finished run. The directory is deleted when `DIR` is complete.
"""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any

from fullpipe.batch import kept_in
from fullpipe.batch.store import alone, read_json, write_json
from fullpipe.results import parents

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

_ABOUT, _RUNS = "study.json", "runs.jsonl"

Key = tuple[str | int, ...]
"""Identifies a run."""


def directory(target: Path) -> Path:
    """Returns the directory for finished runs while `target` is incomplete."""
    return target.with_name(f"{target.name}.unfinished")


def begun(target: Path) -> Mapping[str, str] | None:
    """Returns the description of the incomplete study for `target`; None before the first run."""
    try:
        return read_json(directory(target) / _ABOUT)
    except (OSError, ValueError):  # no file, or its process was killed while writing it
        return None


class Checkpoint:
    """Stores finished runs while others execute, and has those of an interrupted process.

    As a context it keeps other processes from the same runs. The directory is deleted when the
    block succeeds, or when it fails before the first run is done.

    Raises:
        FileExistsError: When the directory has runs of a different study.
        BlockingIOError: When another process uses the directory.
    """

    def __init__(self, target: Path, about: Mapping[str, str], called: str) -> None:
        self._directory, self._about, self._called = directory(target), dict(about), called
        self._known: dict[Key, dict[str, Any]] = {}
        self._runs = 0
        self._inside = ExitStack()
        self._file: IO[str]

    @property
    def kept(self) -> str:
        """The message about finished runs for an interrupted command."""
        if not self._runs:
            return "nothing kept"
        return kept_in(self._directory)

    def get(self, key: Key) -> dict[str, Any] | None:
        """Returns the record of a finished run; None if it has not run."""
        return self._known.get(key)

    def add(self, key: Key, record: Mapping[str, object]) -> None:
        """Writes the record of a finished run."""
        line = json.dumps({"key": key, **record})
        self._file.write(f"{line}\n")
        self._file.flush()
        self._runs += 1

    def __enter__(self) -> Checkpoint:
        with ExitStack() as inside:
            inside.enter_context(parents(self._directory.resolve()))
            self._directory.mkdir(exist_ok=True)
            inside.enter_context(alone(self._directory))
            self._refuse_another()
            write_json(self._directory / _ABOUT, self._about)
            self._load(self._directory / _RUNS)
            self._file = inside.enter_context((self._directory / _RUNS).open("a", encoding="utf-8"))
            self._inside = inside.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None or not self._runs:
            shutil.rmtree(self._directory, ignore_errors=True)
        self._inside.__exit__(kind, error, trace)

    def _refuse_another(self) -> None:
        there = json.loads(text) if (text := _text(self._directory / _ABOUT)) else self._about
        other = [
            f"{name} was {there.get(name)}, not {now}"
            for name, now in self._about.items()
            if there.get(name) != now
        ]
        if other:
            raise FileExistsError(
                f"{self._called}: {self._directory} has runs of a different study: {'; '.join(other)}\n"
                f"  fix: name a new directory, or remove that one"
            )

    def _load(self, runs: Path) -> None:
        whole, _, torn = _text(runs).rpartition("\n")
        if torn:  # a process was killed while writing
            runs.write_text(f"{whole}\n" if whole else "", encoding="utf-8")
        for line in whole.splitlines():
            record: dict[str, Any] = json.loads(line)
            self._known[tuple(record.pop("key"))] = record
        self._runs = len(self._known)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""
