"""Specification of a population to simulate."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.base.build import build
from fullpipe.scenario.origin import read
from fullpipe.study.spec import Planned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.algorithms.classes import Given

FORMAT = 2
"""Version of `simulate.json`, raised when the meaning of the files changes."""


@dataclass(frozen=True)
class PopulationSpec(Planned):
    """The arguments of :meth:`fullpipe._core.PopulationPlan.make`, which can be sent to a process.

    Attributes:
        text: The population as TOML text.
        file: Name of the population in errors.
        arms: Arms of the population, or algorithms.
        paths: Number of paths.
        seed: Seed of all random numbers.
        changes: Overrides of the population's scenario keys, in all classes.
    """

    text: str
    file: str
    arms: Sequence[str]
    paths: int
    seed: int = 1
    changes: Sequence[tuple[str, str]] = ()

    @cached_property
    def plan(self) -> _core.PopulationPlan:
        """The plan, validated at both ends of every range.

        Raises:
            ScenarioError: When the population is invalid.
        """
        return _core.PopulationPlan.make(
            self.text,
            self.file,
            arms=self.arms,
            paths=self.paths,
            seed=self.seed,
            changes=self.changes,
        )

    @property
    def settings(self) -> Sequence[tuple[str, str]]:
        """All keys and values besides the text."""
        return self.changes

    @property
    def classes(self) -> Given:
        """No class: the algorithms of a population are built in."""
        return []

    @property
    def plugins(self) -> Sequence[_core.Plugin]:
        """No library: the algorithms of a population are built in."""
        return []

    @cached_property
    def identity(self) -> str:
        """A fingerprint of everything that a path's results depend on, the build of fullpipe included.

        The fingerprint has 16 hexadecimal digits, and does not depend on the number of paths.
        """
        digest = hashlib.sha256(f"{FORMAT} {build()} {self.seed}\n".encode())
        for part in (self.text, *self.arms, *(f"{key}={value}" for key, value in self.changes)):
            digest.update(f"{part}\0".encode())
        return digest.hexdigest()[:16]


def population(name: str) -> tuple[str, str]:
    """Returns the text and name of a population, built in or from a file.

    Raises:
        FileNotFoundError: When the name is neither; the message lists the built-in ones.
        OSError: When the file can't be read.
    """
    presets = dict(_core.populations())
    if name in presets:
        return presets[name], name
    path = Path(name)
    if path.is_file():
        return read(path)
    near = get_close_matches(name, presets, n=1)
    fix = (
        f"did you mean {near[0]}?" if near else f"name a TOML file, or one of {', '.join(presets)}"
    )
    raise FileNotFoundError(f"{name}: neither a built-in population nor a file\n  fix: {fix}")
