"""Values of finished cells, kept by content: a record for each candidate and cell.

The name of a file follows from the suite and the build of this program, the key of a candidate from its parameters and
code. So a changed candidate, suite or program has no values yet, and an interrupted command resumes.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.base.build import build
from fullpipe.results import disk
from fullpipe.study.records import records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullpipe.study.records import Records
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
    """Values in a file to which records are added. One without values drops those of the candidate before it."""

    def __init__(self, there: Records) -> None:
        super().__init__()
        self._records = there
        for candidate, cell, values in there.there:
            if values is None:
                super().drop(candidate)
            else:
                super().add(candidate, cell, values)

    def add(self, candidate: str, cell: str, values: Values) -> None:
        """Keeps the values of a cell."""
        super().add(candidate, cell, values)
        self._records.add([candidate, cell, values])

    def drop(self, candidate: str) -> None:
        """Forgets the values of a candidate, in the file too."""
        super().drop(candidate)
        self._records.add([candidate, "", None])


@contextmanager
def opened(file: Path) -> Iterator[Kept]:
    """Opens the values of a file.

    Raises:
        OSError: When it can't be read or written.
    """
    disk.make_folder(file.parent)
    with records(file) as there:
        yield Kept(there)
