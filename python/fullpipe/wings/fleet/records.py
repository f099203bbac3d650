"""The record of a fleet directory: the files of its tables, and the rows that are missing.

`fleet ingest` keeps it in `ingest.json`, and until all is read in `.progress/`; `fleet simulate` in `shards/`. A file
that no record lists is of a killed process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict

from fullpipe.errors import DamagedError, OtherVersionError
from fullpipe.results.kept import read_sealed
from fullpipe.results.sums import AGAIN
from fullpipe.wings.fleet.population.spec import FORMAT as SIMULATED_FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

INGESTED, PROGRESS = "ingest.json", ".progress"
INGESTED_FORMAT = 2
SIMULATED, SHARDS = "simulate.json", "shards"
COUNTED = "counted"
"""The shard of the counters, which cover all paths."""


class Record(NamedTuple):
    """The record of a directory.

    Attributes:
        files: Files of the tables and of the simulated paths, relative to the directory.
        missing: Rows that are not there yet, and how to make them; empty if all are there.
    """

    files: frozenset[str]
    missing: str


class _Source(TypedDict):
    kind: str
    arm: str
    host: str
    written: NotRequired[list[str]]
    complete: NotRequired[bool]


class _Ingested(TypedDict):
    complete: bool
    sources: list[_Source]


class _Simulated(TypedDict):
    identity: str
    command: str
    paths: int


class Shard(TypedDict):
    """A shard of simulated paths: the identity of its population, and its files."""

    identity: str
    files: list[str]


def record(directory: Path) -> Record | None:
    """Returns the record of a directory; None if it has none: another program made it, or a fullpipe before records.

    Raises:
        DamagedError: When the record is damaged.
        OSError: When it can't be read.
    """
    try:
        if (directory / SIMULATED).exists() or (directory / SHARDS).is_dir():
            return _simulated(directory)
        if (directory / INGESTED).exists() or (directory / PROGRESS).is_dir():
            return _ingested(directory)
    except OtherVersionError:
        pass
    return None


def _ingested(directory: Path) -> Record | None:
    """Returns the record of `ingest.json`; if it is not complete, with the last commits, which are newer."""
    try:
        about = read_sealed(directory / INGESTED, _Ingested, INGESTED_FORMAT)
    except FileNotFoundError:
        raise DamagedError(f"{directory / INGESTED}: missing\n  fix: {AGAIN}") from None
    sources = {(each["kind"], each["arm"], each["host"]): each for each in about["sources"]}
    if not about["complete"]:
        for file in _names(directory / PROGRESS):
            commit = read_sealed(file, _Source, INGESTED_FORMAT)
            whose = commit["kind"], commit["arm"], commit["host"]
            before = sources.get(whose)
            sources[whose] = {**commit, "complete": bool(before and before.get("complete"))}
    if not all("written" in each for each in sources.values()):
        return None
    files = frozenset(name for each in sources.values() for name in each.get("written", ()))
    open_ = [whose for whose, each in sources.items() if not each.get("complete")]
    if about["complete"] or not open_:
        return Record(files, "")
    kind, arm, host = open_[0]
    others = f" and {len(open_) - 1} more" if len(open_) > 1 else ""
    return Record(
        files,
        f"not all rows of {arm or '?'}/{host}, {kind}{others} are there, since `fleet ingest` was interrupted: "
        "run the same command again",
    )


def _simulated(directory: Path) -> Record:
    try:
        about = read_sealed(directory / SIMULATED, _Simulated, SIMULATED_FORMAT)
    except FileNotFoundError:
        raise DamagedError(f"{directory / SIMULATED}: missing\n  fix: {AGAIN}") from None
    shards = {
        file.stem: shard["files"]
        for file in _names(directory / SHARDS)
        if (shard := read_sealed(file, Shard, SIMULATED_FORMAT))["identity"] == about["identity"]
    }
    ranges = [name.split("-") for name in shards if name != COUNTED]
    done = sum(int(end) - int(first) for first, end in ranges)
    files = frozenset(name for each in shards.values() for name in each)
    missing = ""
    if done < about["paths"]:
        missing = f"{done:,} of {about['paths']:,} paths are there"
    elif COUNTED not in shards:
        missing = "the counters are not there"
    return Record(files, f"{missing}: run {about['command']} again" if missing else "")


def _names(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(folder.glob("[!.]*.json"))
