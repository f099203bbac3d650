"""The directory of a differential test: drawn scenarios as files, and the kernel's results, kept as they come."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypedDict

from fullpipe.errors import DamagedError
from fullpipe.results import disk, fresh_directory, write_shard
from fullpipe.results.kept import read_parquet, read_sealed, shards
from fullpipe.results.sums import stem, write_json
from fullpipe.study.records import records
from fullpipe.study.store import alone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import polars as pl

    from fullpipe.study.records import Records
    from fullpipe.wings.real.validate.drawn.draw import Drawn
    from fullpipe.wings.real.validate.drawn.runs import KeptFlow

_ABOUT, _LINUX, _SCENARIOS, _ACKS = "random.json", "linux.jsonl", "scenarios", "acks"
_FORMAT = 1


class _About(TypedDict):
    format: int
    kernel: dict[str, str]


class Store:
    """The directory, opened to add results. The simulator's runs are quick and are not kept.

    The kernel's numbers are records. Damaged ones are run again, as are damaged rows of ACKs.
    """

    def __init__(self, directory: Path, linux: Records) -> None:
        self._directory, self._linux = directory, linux
        self._known: dict[str, list[list[KeptFlow]]] = {
            each["fingerprint"]: each["repeats"] for each in linux.there
        }

    def file(self, drawn: Drawn) -> Path:
        """Writes the file of a scenario, and returns it."""
        file = self._directory / _SCENARIOS / f"{drawn.name}.toml"
        disk.put(file, drawn.text())
        return file

    def linux(self, drawn: Drawn) -> list[list[KeptFlow]] | None:
        """Returns the kernel's numbers of a scenario; None if it has not run."""
        return self._known.get(drawn.fingerprint)

    def add(self, drawn: Drawn, repeats: list[list[KeptFlow]]) -> None:
        """Keeps the kernel's numbers."""
        row = {"scenario": drawn.name, "fingerprint": drawn.fingerprint, "repeats": repeats}
        self._linux.add(row)
        self._known[drawn.fingerprint] = repeats

    def acks(self, drawn: Drawn) -> pl.DataFrame | None:
        """Returns the kernel's rows of a scenario that is compared ACK by ACK; None if it has not run."""
        for shard in shards(self._directory / _ACKS):
            if stem(shard) == self._stem(drawn):
                try:
                    return read_parquet(shard)
                except DamagedError:
                    disk.remove(shard)
        return None

    def add_acks(self, drawn: Drawn, rows: pl.DataFrame) -> None:
        """Keeps the kernel's rows."""
        write_shard(rows, self._directory / _ACKS, self._stem(drawn))

    def _stem(self, drawn: Drawn) -> str:
        return f"{drawn.name}-{drawn.fingerprint}"


@contextmanager
def opened(directory: Path, kernel: Mapping[str, str]) -> Iterator[Store]:
    """Makes the directory of a kernel, or opens the existing one; keeps other processes from adding to it.

    Raises:
        FileExistsError: When the directory has other contents, or results of another kernel.
        DamagedError: When its description is damaged.
        BlockingIOError: When another process adds to it already.
        OSError: When it can't be written.
    """
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
    with alone(directory), records(directory / _LINUX) as linux:
        yield Store(directory, linux)
