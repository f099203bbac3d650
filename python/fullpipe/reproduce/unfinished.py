"""What a study has run so far, beside the directory that it will be in: the same command goes on from there.

`DIR.unfinished` holds `study.json`, which says what is run, and `runs.jsonl`, a line a finished run. When `DIR` is
there, it vanishes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Lock
from typing import IO, TYPE_CHECKING, Any

from fullpipe._core import __version__
from fullpipe.reproduce.runner import Sample
from fullpipe.results import parents
from fullpipe.sweeps.plan import build
from fullpipe.sweeps.store import alone, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from fullpipe.reproduce.published import Published
    from fullpipe.reproduce.runner import Job
    from fullpipe.runners import Runner

_ABOUT, _RUNS = "study.json", "runs.jsonl"

_Key = tuple[str, str, str, int]
"""A part of the study, a job's name and fingerprint, a seed."""


def about(
    published: Published, seeds: int | None, cases: Sequence[str], variants: bool, runner: Runner
) -> dict[str, str]:
    """What is run, in words that an error can have: what differs in nothing of it has the same runs."""
    content = hashlib.sha256(published.file.read_bytes()).hexdigest()[:16]
    return {
        "the file": f"{published.name}, {content}",
        "fullpipe": f"{__version__}, {build()}",
        "--on": runner.name,
        "--seeds": str(seeds or "the file's"),
        "--case": ", ".join(cases) or "all",
        "--variants": "yes" if variants else "no",
    }


def directory(target: Path) -> Path:
    """Where it is kept what of the results in `target` is done."""
    return target.with_name(f"{target.name}.unfinished")


def begun(target: Path) -> Mapping[str, str] | None:
    """What was begun there, if anything."""
    try:
        return dict(json.loads((directory(target) / _ABOUT).read_text(encoding="utf-8")))
    except (OSError, ValueError):  # killed right at the beginning
        return None


class Unfinished:
    """Keeps the finished runs of a study while it goes on, and has those of before.

    As a context it keeps other processes from the same study. It vanishes when its block ends well,
    or before the first run is done.

    Raises:
        FileExistsError: When something else was begun there.
        BlockingIOError: When another process is at it.
    """

    def __init__(self, target: Path, about: Mapping[str, str], called: str) -> None:
        self._directory, self._about, self._called = directory(target), dict(about), called
        self._known: dict[_Key, Sample] = {}
        self._runs = 0
        self._lock = Lock()
        self._inside = ExitStack()
        self._file: IO[str]

    @property
    def kept(self) -> str:
        """What is kept when it is stopped, in words."""
        if not self._runs:
            return "nothing kept"
        return f"what is finished is kept in {self._directory}, and the same command goes on from there"

    def of(self, part: str) -> Part:
        """The keeper of a part of the study."""
        return Part(self, part)

    def get(self, key: _Key) -> Sample | None:
        """A run of before."""
        return self._known.get(key)

    def add(self, key: _Key, made: Sample) -> None:
        """Writes a run, from any thread."""
        values = [[measure, flow, value] for (measure, flow), value in made.values.items()]
        line = json.dumps({"key": key, "metrics": made.metrics, "values": values})
        with self._lock:
            self._file.write(f"{line}\n")
            self._file.flush()
            self._runs += 1

    def __enter__(self) -> Unfinished:
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
                f"{self._called}: {self._directory} holds runs of something else: {'; '.join(other)}\n"
                f"  fix: name a new directory, or remove that one"
            )

    def _load(self, runs: Path) -> None:
        whole, _, torn = _text(runs).rpartition("\n")
        if torn:  # of a process that was killed
            runs.write_text(f"{whole}\n" if whole else "", encoding="utf-8")
        for line in whole.splitlines():
            read: dict[str, Any] = json.loads(line)
            part, name, print_, seed = read["key"]
            values = {(measure, flow): value for measure, flow, value in read["values"]}
            self._known[part, name, print_, seed] = Sample(read["metrics"], values)
        self._runs = len(self._known)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


@dataclass(frozen=True)
class Part:
    """A :class:`fullpipe.reproduce.runner.Keeper` of the published tables, or of a variant of them."""

    whole: Unfinished
    name: str

    def get(self, job: Job, seed: int) -> Sample | None:
        """A run of before."""
        return self.whole.get(self._key(job, seed))

    def add(self, job: Job, seed: int, made: Sample) -> None:
        """Writes a run."""
        self.whole.add(self._key(job, seed), made)

    def _key(self, job: Job, seed: int) -> _Key:
        setup = job.setup
        what = repr((setup.text, setup.settings, setup.trace, sorted(job.wanted)))
        return self.name, job.name, hashlib.sha256(what.encode()).hexdigest()[:16], seed
