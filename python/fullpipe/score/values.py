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

from fullpipe.batch.spec import build
from fullpipe.results import disk
from fullpipe.results.kept import read_lines
from fullpipe.results.sums import in_name

if TYPE_CHECKING:
    from types import TracebackType

    from fullpipe.score.points import Values
    from fullpipe.score.suite import Suite


def cache() -> Path:
    """Returns the folder of kept values."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "fullpipe" / "score"


def file_of(folder: Path, suite: Suite) -> Path:
    """Returns the file of a suite's values in a folder."""
    return folder / f"{suite.name}-{suite.identity[:8]}-{build()[:8]}.jsonl"


class Kept:
    """Values of cells by candidate, in a file to which lines are added.

    Raises:
        OSError: When it can't be read or written.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[tuple[str, str], Values] = {}
        self._inside = ExitStack()
        self._lines: disk.Lines

    def get(self, candidate: str, cell: str) -> Values | None:
        """Returns the values of a cell; None if it has not run."""
        return self._known.get((candidate, cell))

    def add(self, candidate: str, cell: str, values: Values) -> None:
        """Keeps the values of a cell."""
        self._known[candidate, cell] = values
        line = json.dumps([candidate, cell, values])
        self._lines.add(f"{in_name(line.encode())} {line}")

    def __enter__(self) -> Kept:
        disk.make_folder(self._file.parent)
        if self._file.exists():
            lines, torn = read_lines(self._file)
            for each in lines:
                digest, _, line = each.partition(" ")
                if digest == in_name(line.encode()):
                    candidate, cell, values = json.loads(line)
                    self._known[candidate, cell] = values
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
