"""Reads text files of many hosts into a fleet directory: hosts in parallel, each resumable."""

from __future__ import annotations

import os
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from fullpipe import _core
from fullpipe.results import disk
from fullpipe.wings.fleet import store
from fullpipe.wings.fleet.commits import Commits, alone_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from fullpipe.wings.fleet.commits import OptionsAbout, Progress, ReadFile
    from fullpipe.wings.fleet.sources import Stream

# Rows per Parquet file: a few seconds of reading, small enough to keep in memory for each thread.
_ROWS = 65_536
_BYTES = 8 << 20
# A commit waits until this much time has passed or this many bytes are read (or all files are), so
# that many small input files become few large output files.
_COMMIT_S = 10.0
_COMMIT_BYTES = 256 << 20
_NO_TIME = np.iinfo(np.int64).min
_NO_LABEL = 2**32 - 1
_QUOTED = 100


@dataclass(frozen=True)
class Options:
    """Options that decide how text becomes rows.

    Attributes:
        samples: Whether each sample of a connection becomes a row.
        log_format: The `log_format` of the nginx logs.
        keep: Further log variables to store.
        key: 16 bytes with which addresses are turned into tokens; `None` to store addresses.
    """

    samples: bool = False
    log_format: str = "combined"
    keep: tuple[str, ...] = ()
    key: bytes | None = None

    def described(self) -> OptionsAbout:
        """Returns the options for JSON, with a short hash of the key instead of the key."""
        key = blake2b(self.key, digest_size=4).hexdigest() if self.key else None
        return {
            "samples": self.samples,
            "log_format": self.log_format,
            "keep": list(self.keep),
            "key": key,
        }


class Ingest:
    """Fills a fleet directory: a context, in which no other process adds to it.

    Attributes:
        done: Bytes of input read so far, by this or an earlier run.
        total: Bytes of all input files.
        skipped: Bytes of input that an earlier run had read.
        commits: The description and the commits of the directory.
    """

    commits: Commits

    def __init__(
        self, directory: Path, streams: Sequence[Stream], options: Options, command: str
    ) -> None:
        self.directory, self.streams, self.options = directory, streams, options
        self._command = command
        self._stop = Event()
        self._lock = Lock()
        self.total = sum(file.stat().st_size for stream in streams for file in stream.files)
        self.done = self.skipped = 0

    def __enter__(self) -> Self:
        """Opens the directory, or creates it.

        Raises:
            FileExistsError: When the directory holds something else, or was made with other options.
            BlockingIOError: When another process adds to it.
            DamagedError: When its `ingest.json` is damaged, and nothing was committed.
            ScenarioError: When a file has changed since it was read.
            OSError: When the directory can't be written.
        """
        with ExitStack() as inside:
            inside.enter_context(alone_in(self.directory))
            self.commits = Commits(
                self.directory, self.streams, self.options.described(), self._command
            )
            self._inside = inside.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._inside.close()

    def run(self, show: Callable[[], None] = lambda: None, threads: int | None = None) -> None:
        """Reads all files that have not been read yet.

        Args:
            show: Called a few times a second.
            threads: Number of hosts read in parallel; `None` for the number of cores.

        Raises:
            OSError: When something can't be read or written.
        """
        with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
            waiting = {pool.submit(self._read, stream) for stream in self.streams}
            try:
                while waiting:
                    ended, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                    for future in ended:
                        future.result()
                    show()
            finally:
                self._stop.set()
                for future in waiting:
                    future.cancel()
        self.commits.describe(complete=True)

    def _read(self, stream: Stream) -> None:
        progress = self.commits.progress[stream.key]
        read = {file["path"] for file in progress.files}
        files = [file for file in stream.files if str(file) not in read]
        before = sum(file.stat().st_size for file in stream.files if str(file) in read)
        with self._lock:
            self.done += before
            self.skipped += before
        if not files:
            return
        reader = self._reader(stream)
        if progress.state and not reader.resume(progress.state):
            raise FileExistsError(
                f"{self.directory} was made by another version of fullpipe; name a new directory"
            )
        # An interrupted run may have left rows after its last commit, and rows of open connections.
        progress.written = self._remove(stream, progress)

        def write(tables: _core._FleetTables, part: str) -> None:
            progress.written += self._write(stream, tables, part)

        with _Behind(write) as writing:
            self._read_files(progress, reader, files, stream, writing)

    def _read_files(
        self,
        progress: Progress,
        reader: _core.FleetReader,
        files: Sequence[Path],
        stream: Stream,
        writing: _Behind,
    ) -> None:
        part = size = 0
        since = time.monotonic()
        for number, file in enumerate(files):
            trouble = ""
            reader.begin(file)
            at = 0
            more = True
            while more:
                if self._stop.is_set():
                    return
                try:
                    more = reader.read(_ROWS, _BYTES)
                except OSError as error:  # a truncated file; all data before the cut was read
                    trouble, more = str(error), False
                # The reader's position excludes bytes appended since the end was reached. A
                # damaged file has no such position: its size counts.
                position = file.stat().st_size if trouble else reader.position
                with self._lock:
                    self.done += position - at
                size, at = size + position - at, position
                if reader.rows >= _ROWS:
                    writing.write(reader.take(), f"{progress.commit:05}-{part:04}")
                    part += 1
            done: ReadFile = {"path": str(file), "bytes": at}
            progress.files.append({**done, "trouble": trouble} if trouble else done)
            self._quote(progress, reader, file)
            last = number == len(files) - 1
            if last or size >= _COMMIT_BYTES or time.monotonic() - since >= _COMMIT_S:
                writing.write(reader.take(), f"{progress.commit:05}-{part:04}")
                if last:
                    writing.write(reader.open(), "open")
                writing.wait()
                progress.commit += 1
                progress.state, progress.counts = reader.state(), dict(reader.counts)
                self.commits.commit(stream)
                part = size = 0
                since = time.monotonic()

    def _reader(self, stream: Stream) -> _core.FleetReader:
        options = self.options
        match stream.kind:
            case "ss":
                return _core.FleetReader.ss(stream.host, options.samples, options.key)
            case "nginx":
                return _core.FleetReader.nginx(options.log_format, options.keep, options.key)
            case "snmp":
                return _core.FleetReader.counters(options.key is not None)
            case "hist":
                return _core.FleetReader.histograms(options.key is not None)

    def _remove(self, stream: Stream, progress: Progress) -> list[str]:
        """Removes files of a host that are not part of a commit, and those of open connections; returns the others."""
        kept = []
        for file in self.directory.glob(f"*/arm=*/day=*/.{stream.key}-*"):
            disk.remove(file)  # of a killed process
        for file in self.directory.glob(f"*/arm=*/day=*/{stream.key}-*.parquet"):
            number = file.name.split("-")[1]
            name = str(file.relative_to(self.directory))
            if number == "open" or name not in progress.written:
                disk.remove(file)
            else:
                kept.append(name)
        return kept

    def _write(self, stream: Stream, tables: _core._FleetTables, part: str) -> list[str]:
        files = []
        for table, columns in tables:
            if not columns:
                continue
            frame = pl.DataFrame([_series(name, column) for name, column in columns.items()])
            if stream.arm:
                whose = {"arm": pl.lit(stream.arm), "host": pl.lit(stream.host)}
                if "host" in frame.columns:  # a log line may name its host
                    whose["host"] = pl.coalesce("host", pl.lit(stream.host))
                frame = frame.with_columns(**whose)
            else:
                arms = {other.host: other.arm for other in self.streams if other.arm}
                frame = frame.with_columns(
                    arm=pl.col("host").replace_strict(arms, default=store.NO_ARM)
                )
            files += store.write(self.directory, table, frame, f"{stream.key}-{part}")
        return files

    def _quote(self, progress: Progress, reader: _core.FleetReader, file: Path) -> None:
        for line, why, text in reader.take_bad():
            if len(progress.bad) < _QUOTED:
                progress.bad.append({"file": str(file), "line": line, "why": why, "text": text})


class _Behind:
    """Writes on a separate thread while the caller reads on; a write waits for the one before it."""

    def __init__(self, write: Callable[[_core._FleetTables, str], None]) -> None:
        self._do = write
        self._pool = ThreadPoolExecutor(1)
        self._doing: Future[None] | None = None

    def write(self, tables: _core._FleetTables, part: str) -> None:
        """Starts writing; raises what the previous write raised."""
        self.wait()
        self._doing = self._pool.submit(self._do, tables, part)

    def wait(self) -> None:
        """Waits until all is written; raises what writing raised."""
        doing, self._doing = self._doing, None
        if doing:
            doing.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()


def _series(name: str, column: Any) -> pl.Series:  # noqa: ANN401  (a column of _FleetTables)
    if isinstance(column, tuple):
        codes, labels = column
        numbers = pl.Series(codes).replace(_NO_LABEL, None)
        return pl.Series(name, labels, dtype=pl.String).gather(numbers)
    if isinstance(column, list):
        series = pl.Series(name, column, dtype=pl.String)
        return series.replace("", None)
    series = pl.Series(name, column)
    if series.dtype == pl.Float64:
        return series.fill_nan(None)
    if name.endswith("_seen") or name == "time":
        return series.replace(_NO_TIME, None).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    return series
