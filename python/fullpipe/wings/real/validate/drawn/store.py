"""The directory of a differential test: drawn scenarios as files, and the kernel's results, kept as they come."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypedDict

from fullpipe.errors import DamagedError
from fullpipe.results import disk, fresh_directory, write_shard
from fullpipe.results.kept import read_lines, read_parquet, read_sealed, shards
from fullpipe.results.sums import in_name, stem, write_json
from fullpipe.study.store import alone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import polars as pl

    from fullpipe.wings.real.validate.drawn.draw import Drawn
    from fullpipe.wings.real.validate.drawn.runs import KeptFlow

_ABOUT, _LINUX, _SCENARIOS, _ACKS = "random.json", "linux.jsonl", "scenarios", "acks"
_FORMAT = 1


class _About(TypedDict):
    format: int
    kernel: dict[str, str]


class Store:
    """The directory, opened to add results. The simulator's runs are quick and are not kept.

    Each line of the kernel's numbers begins with its checksum. A damaged or unfinished one is run again, as are damaged
    rows of ACKs.

    Raises:
        FileExistsError: When the directory has other contents, or results of another kernel.
        DamagedError: When its description is damaged.
        OSError: When it can't be written.
    """

    def __init__(self, directory: Path, kernel: Mapping[str, str]) -> None:
        self.directory = directory
        called = f"--out {directory}"
        if not (directory / _ABOUT).exists():
            with fresh_directory(directory, called) as aside:
                disk.make_folder(aside / _SCENARIOS)
                disk.make_folder(aside / _ACKS)
                write_json(aside / _ABOUT, {"format": _FORMAT, "kernel": dict(kernel)})
        there = read_sealed(directory / _ABOUT, _About, _FORMAT)["kernel"]
        if there != dict(kernel):
            raise FileExistsError(
                f"{called}: it holds results of another kernel, {there}\n  fix: name a new directory"
            )
        self._known: dict[str, list[list[KeptFlow]]] = {}
        self._torn = self._load(directory / _LINUX)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps other processes from adding to the directory.

        Raises:
            BlockingIOError: When another process does so already.
        """
        with alone(self.directory):
            yield

    def file(self, drawn: Drawn) -> Path:
        """Writes the file of a scenario, and returns it."""
        file = self.directory / _SCENARIOS / f"{drawn.name}.toml"
        disk.put(file, drawn.text())
        return file

    def linux(self, drawn: Drawn) -> list[list[KeptFlow]] | None:
        """Returns the kernel's numbers of a scenario; None if it has not run."""
        return self._known.get(drawn.fingerprint)

    def add(self, drawn: Drawn, repeats: list[list[KeptFlow]]) -> None:
        """Keeps the kernel's numbers."""
        row = {"scenario": drawn.name, "fingerprint": drawn.fingerprint, "repeats": repeats}
        line = json.dumps(row)
        begin = "\n" if self._torn else ""
        with disk.Lines(self.directory / _LINUX) as file:
            file.add(f"{begin}{in_name(line.encode())} {line}")
        self._torn = False
        self._known[drawn.fingerprint] = repeats

    def acks(self, drawn: Drawn) -> pl.DataFrame | None:
        """Returns the kernel's rows of a scenario that is compared ACK by ACK; None if it has not run."""
        for shard in shards(self.directory / _ACKS):
            if stem(shard) == self._stem(drawn):
                try:
                    return read_parquet(shard)
                except DamagedError:
                    disk.remove(shard)
        return None

    def add_acks(self, drawn: Drawn, rows: pl.DataFrame) -> None:
        """Keeps the kernel's rows."""
        write_shard(rows, self.directory / _ACKS, self._stem(drawn))

    def _stem(self, drawn: Drawn) -> str:
        return f"{drawn.name}-{drawn.fingerprint}"

    def _load(self, file: Path) -> bool:
        """Reads the kernel's numbers; returns whether the last line has no end, since a process was killed."""
        lines, torn = read_lines(file)
        for each in lines:
            digest, _, line = each.partition(" ")
            if digest == in_name(line.encode()):
                row = json.loads(line)
                self._known[row["fingerprint"]] = row["repeats"]
        return torn
