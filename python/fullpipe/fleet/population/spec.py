"""What is to be simulated, from what a command or a program asks for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.batch.spec import build

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMAT = 1
"""Of `simulate.json`; another number when the files mean something else."""


@dataclass(frozen=True)
class PopulationSpec:
    """What :meth:`fullpipe._core.PopulationPlan.make` makes a plan of: it can be sent to another process.

    Attributes:
        text: The population, TOML.
        file: What errors call it.
        arms: Arms of the population, or algorithms.
        paths: How many.
        seed: Of all that is drawn.
        changes: Keys of the scenario with what is drawn instead, in all classes.
    """

    text: str
    file: str
    arms: Sequence[str]
    paths: int
    seed: int = 1
    changes: Sequence[tuple[str, str]] = ()

    @cached_property
    def plan(self) -> _core.PopulationPlan:
        """The plan; each end of each range has been tried.

        Raises:
            ScenarioError: When something is wrong.
        """
        return _core.PopulationPlan.make(
            self.text,
            self.file,
            arms=self.arms,
            paths=self.paths,
            seed=self.seed,
            changes=self.changes,
        )

    @cached_property
    def identity(self) -> str:
        """A fingerprint of all that decides what comes out of a path, the program among it, 16 hexadecimal digits.

        Specs that differ in nothing but the number of paths have the same.
        """
        digest = hashlib.sha256(f"{FORMAT} {build()} {self.seed}\n".encode())
        for part in (self.text, *self.arms, *(f"{key}={value}" for key, value in self.changes)):
            digest.update(f"{part}\0".encode())
        return digest.hexdigest()[:16]


def population(name: str) -> tuple[str, str]:
    """Text and name of a population: one that comes with the program, or a file's.

    Raises:
        FileNotFoundError: When it is neither; the message says what there is.
        OSError: When the file can't be read.
    """
    presets = dict(_core.populations())
    if name in presets:
        return presets[name], name
    path = Path(name)
    if path.is_file():
        return path.read_text(encoding="utf-8"), name
    near = get_close_matches(name, presets, n=1)
    fix = f"did you mean {near[0]}?" if near else f"name a TOML file, or {', '.join(presets)}"
    raise FileNotFoundError(
        f"{name}: neither a population that comes with the program nor a file\n  fix: {fix}"
    )
