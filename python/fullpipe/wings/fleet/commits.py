"""`ingest.json` and `.progress/` of a fleet directory: its description, and the last commit of each host."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NotRequired, TypedDict

from fullpipe._core import __version__
from fullpipe.errors import DamagedError, refusal
from fullpipe.results import disk
from fullpipe.results.kept import read_sealed
from fullpipe.results.sums import write_json
from fullpipe.study.store import alone
from fullpipe.wings.fleet import store
from fullpipe.wings.fleet.records import INGESTED, INGESTED_FORMAT, PROGRESS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from fullpipe.wings.fleet.sources import Stream

_FIRST = {".lock", ".progress", ".ingest.json"}
"""Names that a process may have made when it was killed before the first description."""


class ReadFile(TypedDict):
    """A file that was read: its path and size, and the error if one occurred."""

    path: str
    bytes: int
    trouble: NotRequired[str]


class BadLine(TypedDict):
    """A line that could not be read."""

    file: str
    line: int
    why: str
    text: str


class OptionsAbout(TypedDict):
    """Options of reading, with a short hash of the key instead of the key."""

    samples: bool
    log_format: str
    keep: list[str]
    key: str | None


class Source(TypedDict):
    """A host's files of one kind, and their contents.

    `written` has the files of the tables, relative to the directory; `complete` tells whether all files were read.
    """

    kind: str
    arm: str
    host: str
    files: list[ReadFile]
    counts: dict[str, int]
    bad_lines: list[BadLine]
    written: NotRequired[list[str]]
    complete: NotRequired[bool]


class _About(TypedDict):
    """The contents of `ingest.json`."""

    format: int
    version: str
    command: str
    complete: bool
    options: OptionsAbout
    sources: list[Source]


class _Commit(TypedDict):
    """The contents of a file in `.progress`, with all that `ingest.json` needs."""

    format: int
    options: OptionsAbout
    kind: str
    arm: str
    host: str
    files: list[ReadFile]
    commit: int
    state: str
    bad: list[BadLine]
    counts: dict[str, int]
    written: list[str]


@dataclass
class Progress:
    """Progress of one host, saved at each commit.

    Attributes:
        files: Files read so far.
        commit: Number of the next commit, which is part of its files' names.
        state: State that the reader needs to resume.
        bad: Quoted bad lines.
        counts: Numbers of items read.
        written: Files of the tables, relative to the fleet directory.
    """

    files: list[ReadFile] = field(default_factory=list)
    commit: int = 0
    state: str = ""
    bad: list[BadLine] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)


@contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Makes a fleet directory, or opens it, and keeps other processes from adding to it.

    Raises:
        FileExistsError: When the directory holds something else.
        BlockingIOError: When another process adds to it.
        OSError: When it can't be made.
    """
    there = directory / INGESTED, directory / PROGRESS
    if not any(each.exists() for each in there):
        _refuse_taken(directory)
    disk.make_folder(directory)
    with alone(directory):
        yield


def _refuse_taken(there: Path) -> None:
    if there.exists() and (
        not there.is_dir() or any(each.name not in _FIRST for each in there.iterdir())
    ):
        raise FileExistsError(f"{there} exists and is not a fleet directory; name a new one")


class Commits:
    """The commits of a fleet directory, opened to add more.

    Attributes:
        progress: The progress of each host, by the key of its stream.
        repaired: A line about each damaged file.
    """

    def __init__(
        self, directory: Path, streams: Sequence[Stream], options: OptionsAbout, command: str
    ) -> None:
        """Opens a directory, or creates it.

        Raises:
            FileExistsError: When the directory holds something else, or was made with other options.
            DamagedError: When its `ingest.json` is damaged, and nothing was committed.
            ScenarioError: When a file has changed since it was read.
            OSError: When the directory can't be written.
        """
        self._directory, self._streams = directory, streams
        self._options, self._command = options, command
        self._folder = directory / PROGRESS
        self.repaired: list[str] = []
        commits = self._read()
        self._others = self._opened([*commits.values()])
        disk.make_folder(self._folder)
        self.progress = {stream.key: self._begun(stream, commits) for stream in streams}
        self.describe(complete=False)

    def commit(self, stream: Stream) -> None:
        """Saves the progress of a host."""
        about: _Commit = {
            "format": INGESTED_FORMAT,
            "options": self._options,
            "kind": stream.kind,
            "arm": stream.arm,
            "host": stream.host,
            **vars(self.progress[stream.key]),  # type: ignore[typeddict-item]
        }
        write_json(self._folder / f"{stream.key}.json", dict(about))

    def summary(self) -> list[Source]:
        """Returns files, counts and bad lines of each host."""
        return [
            {
                "kind": stream.kind,
                "arm": stream.arm,
                "host": stream.host,
                "files": progress.files,
                "counts": progress.counts,
                "bad_lines": progress.bad,
            }
            for stream in self._streams
            for progress in [self.progress[stream.key]]
        ]

    def describe(self, *, complete: bool) -> None:
        """Writes `ingest.json`; `complete` says whether the files of these streams have been read."""
        ours: list[Source] = [
            {**source, "written": self.progress[stream.key].written, "complete": complete}
            for stream, source in zip(self._streams, self.summary(), strict=True)
        ]
        sources = [*self._others, *ours]
        about: _About = {
            "format": INGESTED_FORMAT,
            "version": __version__,
            "command": self._command,
            "complete": all(source.get("complete") for source in sources),
            "options": self._options,
            "sources": sources,
        }
        write_json(self._directory / INGESTED, dict(about))

    def _read(self) -> dict[str, _Commit]:
        """Returns the last commit of each host, by the key of its stream, without damaged ones."""
        found = {}
        for file in sorted(self._folder.glob("[!.]*.json")) if self._folder.is_dir() else ():
            try:
                found[file.stem] = read_sealed(file, _Commit, INGESTED_FORMAT)
            except DamagedError as error:
                self.repaired.append(f"{str(error).splitlines()[0]}; its host is read again")
        return found

    def _opened(self, commits: Sequence[_Commit]) -> list[Source]:
        """Checks that the directory is free, or has the same options; returns the sources of other hosts."""
        options, known, complete = None, list[Source](), False
        try:
            about = read_sealed(self._directory / INGESTED, _About, INGESTED_FORMAT)
            options, known, complete = about["options"], about["sources"], about["complete"]
        except FileNotFoundError:
            if not commits:
                _refuse_taken(self._directory)
                return []
        except DamagedError as error:
            if not commits:
                raise
            self.repaired.append(f"{str(error).splitlines()[0]}; it is made again")
        self._refuse_other(options or commits[0]["options"])
        # The last commit of an interrupted host is newer than its source in `ingest.json`.
        found: dict[tuple[str, str, str], Source] = {
            _whose(each): {**each, "complete": each.get("complete", complete)} for each in known
        }
        for commit in commits:
            source = _source(commit)
            before = found.get(_whose(source))
            found[_whose(source)] = {**source, "complete": bool(before and before["complete"])}
        ours = {(stream.kind, stream.arm, stream.host) for stream in self._streams}
        return [source for whose, source in found.items() if whose not in ours]

    def _refuse_other(self, options: OptionsAbout) -> None:
        differ = [key for key, value in self._options.items() if options.get(key) != value]
        if differ:
            what = ", ".join(
                "--anonymize" if key == "key" else f"--{key.replace('_', '-')}" for key in differ
            )
            raise FileExistsError(
                f"{self._directory} was made with a different {what}; name a new directory, or use the same options"
            )

    def _begun(self, stream: Stream, commits: Mapping[str, _Commit]) -> Progress:
        commit = commits.get(stream.key)
        if commit is None:
            return Progress()
        if not store.are_whole(self._directory, commit["written"]):
            rows = f"{self._directory}: rows of {stream.name}"
            self.repaired.append(f"{rows} are damaged; its files are read again")
            return Progress()
        for read in commit["files"]:
            for file in stream.files:
                if str(file) == read["path"] and file.stat().st_size != read["bytes"]:
                    raise refusal(
                        f"the file had {read['bytes']:,} bytes when it was read, and has {file.stat().st_size:,} now",
                        "read only complete (rotated) files, or name a new directory",
                        place=str(file),
                    )
        return Progress(
            commit["files"],
            commit["commit"],
            commit["state"],
            commit["bad"],
            commit["counts"],
            commit["written"],
        )


def _whose(source: Source) -> tuple[str, str, str]:
    return source["kind"], source["arm"], source["host"]


def _source(commit: _Commit) -> Source:
    return {
        "kind": commit["kind"],
        "arm": commit["arm"],
        "host": commit["host"],
        "files": commit["files"],
        "counts": commit["counts"],
        "bad_lines": commit["bad"],
        "written": commit["written"],
    }


def arms_given(directory: Path) -> set[str]:
    """Returns the arms that `fleet ingest` was given files of; empty for a fleet that was made otherwise.

    Raises:
        DamagedError: When `ingest.json` is damaged.
    """
    try:
        about = read_sealed(directory / INGESTED, _About, INGESTED_FORMAT)
    except FileNotFoundError:
        return set()
    return {source["arm"] for source in about["sources"] if source["arm"]}
