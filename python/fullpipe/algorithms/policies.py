"""Trained policies as algorithms, which scenarios and the command line name by their file.

A policy's file is data, JSON that `fullpipe.gym.save_policy` writes, and has no code. So a scenario may name one.
The package has policies of its own in `trained/`: `power` names one wherever it is installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.algorithms.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

TRAINED = Path(_core.__file__).parent / "trained"
"""The folder of the package's policies."""

SENT: dict[str, Path] = {}
"""The files of policies that were sent to this process, by their names."""


def load(file: str, name: str) -> _core.Policy:
    """Reads a policy's file, or that of the package with this name, as the algorithm `name`; a file comes first.

    Raises:
        ScenarioError: When the file can't be read, or is no policy of this version.
    """
    path = SENT.get(name) or Path(file)
    own = TRAINED / f"{path}.json"
    packaged = path.parent == Path() and not path.exists() and own.is_file()
    return _core.load_policy(own if packaged else path, name)


def used(names: Iterable[str]) -> list[_core.Policy]:
    """Returns the policies of this process among names, sorted by name."""
    of = {*names}
    return sorted((each for each in _core.policies() if each.name in of), key=lambda it: it.name)


def source(name: str, file: str) -> Source | None:
    """Returns the file of a policy as it was read; None if it was not."""
    return next((Source(file, each.text.encode()) for each in used([name])), None)
