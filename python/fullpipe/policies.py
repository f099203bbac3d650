"""Trained policies as algorithms: `policy:FILE` names one, in scenarios and on the command line.

A policy's file is data, JSON that `fullpipe.gym.save_policy` writes, and has no code. So a scenario may name one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX = "policy:"


def is_policy(name: str) -> bool:
    """Whether the name of an algorithm is that of a trained policy."""
    return name.startswith(PREFIX)


def load(name: str) -> _core.Policy:
    """Reads the policy that `policy:FILE` names.

    Raises:
        ScenarioError: When the file can't be read, or is no policy of this version.
    """
    return _core.load_policy(Path(name.removeprefix(PREFIX)), name)


def used(words: Iterable[str]) -> list[_core.Policy]:
    """Returns the policies whose names are in texts, sorted by name: results depend on them."""
    known = sorted(_core.policies(), key=lambda each: each.name)
    texts = list(words) if known else []
    return [each for each in known if any(each.name in text for text in texts)]
