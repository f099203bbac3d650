"""Values of finished cells, kept by content: a line for each candidate and cell, with its checksum.

The name of a file follows from the suite and the build of this program, the key of a candidate from its parameters and
code. So a changed candidate, suite or program has no values yet, and an interrupted command resumes.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.results import disk
from fullpipe.results.kept import read_lines
from fullpipe.results.sums import in_name
from fullpipe.study.spec import build

if TYPE_CHECKING:
    from types import TracebackType

    from fullpipe.wings.search.score.points import Values
    from fullpipe.wings.search.score.suite import Suite


def cache() -> Path:
    """Returns the folder of kept values."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "fullpipe" / "score"


def file_of(folder: Path, suite: Suite) -> Path:
    """Returns the file of a suite's values in a folder."""
    return folder / f"{suite.name}-{suite.identity[:8]}-{build()[:8]}.jsonl"


class Found:
    """Values of cells by candidate."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Values] = {}

    def get(self, candidate: str, cell: str) -> Values | None:
        """Returns the values of a cell; None if it has not run."""
        return self._known.get((candidate, cell))

    def add(self, candidate: str, cell: str, values: Values) -> None:
        """Adds the values of a cell."""
        self._known[candidate, cell] = values

    def drop(self, candidate: str) -> None:
        """Forgets the values of a candidate."""
        self._known = {at: values for at, values in self._known.items() if at[0] != candidate}


class Kept(Found):
    """Values in a file to which lines are added. A line without values drops those of the candidate before it.

    Raises:
        OSError: When it can't be read or written.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        self._inside = ExitStack()
        self._lines: disk.Lines

    def add(self, candidate: str, cell: str, values: Values) -> None:
        """Keeps the values of a cell."""
        super().add(candidate, cell, values)
        self._write([candidate, cell, values])

    def drop(self, candidate: str) -> None:
        """Forgets the values of a candidate, in the file too."""
        super().drop(candidate)
        self._write([candidate, "", None])

    def _write(self, entry: list[object]) -> None:
        line = json.dumps(entry)
        self._lines.add(f"{in_name(line.encode())} {line}")

    def __enter__(self) -> Kept:
        disk.make_folder(self._file.parent)
        if self._file.exists():
            lines, torn = read_lines(self._file)
            for each in lines:
                digest, _, line = each.partition(" ")
                if digest == in_name(line.encode()):
                    candidate, cell, values = json.loads(line)
                    if values is None:
                        super().drop(candidate)
                    else:
                        super().add(candidate, cell, values)
        else:
            torn = False
        self._lines = self._inside.enter_context(disk.Lines(self._file))
        if torn:
            self._lines.add("")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._inside.__exit__(kind, error, trace)
