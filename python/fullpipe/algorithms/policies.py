"""Trained policies as algorithms: `policy:FILE` names one, in scenarios and on the command line.

A policy's file is data, JSON that `fullpipe.gym.save_policy` writes, and has no code. So a scenario may name one.
The package has policies of its own in `trained/`: `policy:power` names one wherever it is installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX = "policy:"
TRAINED = Path(_core.__file__).parent / "trained"
"""The folder of the package's policies."""


def is_policy(name: str) -> bool:
    """Whether the name of an algorithm is that of a trained policy."""
    return name.startswith(PREFIX)


def load(name: str) -> _core.Policy:
    """Reads the policy that `policy:FILE` names, or `policy:NAME` in the package; a file comes first.

    Raises:
        ScenarioError: When the file can't be read, or is no policy of this version.
    """
    file = Path(name.removeprefix(PREFIX))
    own = TRAINED / f"{file}.json"
    packaged = file.parent == Path() and not file.exists() and own.is_file()
    return _core.load_policy(own if packaged else file, name)


def used(words: Iterable[str]) -> list[_core.Policy]:
    """Returns the policies whose names are in texts, sorted by name: results depend on them."""
    known = sorted(_core.policies(), key=lambda each: each.name)
    texts = list(words) if known else []
    return [each for each in known if any(each.name in text for text in texts)]
