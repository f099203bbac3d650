"""Families of paths and their cells, from the files of the package."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.algorithms.plugins import built_in
from fullpipe.study.cells import Cells, merged, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FIRST_SEED = 1
SMALL_SEEDS = 3
SEEDS = 30


@dataclass(frozen=True, kw_only=True)
class Family(Cells):
    """Cells of one kind.

    Attributes:
        name: The name of its file, without the number.
        title: The kind of path, and the other flows.
        question: The question that its numbers answer.
        metrics: Names of metrics as `--show` takes them, and `harm`; the first is shown at first.
        harm: The axis that names the algorithm of the flow `other`, if harm to it is measured.
    """

    name: str
    title: str
    question: str
    metrics: Sequence[str]
    harm: str | None = None

    def points(self, algorithms: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
        """Yields the settings of each cell with each algorithm; the algorithms vary first."""
        for cell in self.cells:
            for algorithm in algorithms:
                yield self.settings(cell, algorithm)

    def base(self, algorithms: Sequence[str]) -> str:
        """Returns the scenario to which :meth:`points` belong."""
        return self.text(self.cells[0], algorithms[0])


def families(*, small: bool = False) -> list[Family]:
    """Returns the families of the package.

    Args:
        small: Keep the first and the last value of each axis only.
    """
    shared: dict[str, Any] = tomllib.loads(_read("common.toml"))
    found = []
    for file in sorted(
        files("fullpipe.wings.search.observatory").joinpath("families").iterdir(), key=str
    ):
        about: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        own = about.pop("with", {})
        words = {
            axis: merged(shared.get(axis, {}), own.get(axis, {})) for axis in {**shared, **own}
        }
        axes = about.pop("axes")
        name = file.name.partition("-")[2].removesuffix(".toml")
        found.append(
            Family(name=name, axes=shortened(axes) if small else axes, words=words, **about)
        )
    return found


def algorithms() -> list[str]:
    """Returns the names of all built-in algorithms."""
    own = built_in()
    return [each["name"] for each in _core.algorithms() if each["name"] in own]


def _read(name: str) -> str:
    return files("fullpipe.wings.search.observatory").joinpath(name).read_text(encoding="utf-8")
