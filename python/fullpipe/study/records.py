"""A file of lines to which records are added, each with its checksum: finished work survives its process.

A line has the checksum's first digits, a space, and the record as JSON. A damaged line is a record to make again. A
process that was killed may have left a line without an end, which the next process ends.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fullpipe.results import disk
from fullpipe.results.kept import read_lines
from fullpipe.results.sums import in_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Records:
    """Records in a file, opened to add more.

    Attributes:
        there: The whole ones that it had when it was opened, in their order.
        damaged: The number of other lines that it had.
    """

    there: Sequence[Any]
    damaged: int
    _about: str
    _lines: disk.Lines

    def add(self, record: object) -> None:
        """Adds a record, which JSON can express.

        Raises:
            OSError: When it can't be written.
        """
        line = json.dumps(record)
        self._lines.add(f"{_sum(self._about, line)} {line}")


@contextmanager
def records(file: Path, about: str = "") -> Iterator[Records]:
    """Opens a file of records, or makes it in its directory.

    Several processes may add to a file at a time. :func:`fullpipe.study.store.alone` keeps others from a directory.

    Args:
        file: The file.
        about: What the records belong to, a part of the checksums: those of other work count as damaged.

    Raises:
        OSError: When it can't be read or written.
    """
    lines, torn = read_lines(file)
    parts = [line.partition(" ") for line in lines if line]
    there = [json.loads(line) for digest, _, line in parts if digest == _sum(about, line)]
    with disk.Lines(file) as out:
        if torn:
            out.add("")
        yield Records(there, len(parts) - len(there), about, out)


def _sum(about: str, line: str) -> str:
    return in_name((f"{about}\n{line}" if about else line).encode())
