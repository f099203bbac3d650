"""Families of paths and their cells, from the files of the package."""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.toml import as_set

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Words = Mapping[str, Mapping[str, str]]

HERE = "{cc}"
"""The place of the tested algorithm in the scenario of a cell."""
FIRST_SEED = 1
SMALL_SEEDS = 3
SEEDS = 30


@dataclass(frozen=True)
class Family:
    """Cells of one kind: a scenario, and axes with the values of each.

    Attributes:
        name: The name of its file, without the number.
        title: The kind of path, and the other flows.
        question: The question that its numbers answer.
        metrics: Names of metrics as `--show` takes them, and `harm`; the first is shown at first.
        scenario: A scenario with axes and words in braces.
        axes: The values of each axis.
        words: Further words of the scenario, by axis and value.
        harm: The axis that names the algorithm of the flow `other`, if harm to it is measured.
    """

    name: str
    title: str
    question: str
    metrics: Sequence[str]
    scenario: str
    axes: Mapping[str, Sequence[str]]
    words: Mapping[str, Words]
    harm: str | None = None

    @cached_property
    def cells(self) -> list[dict[str, str]]:
        """The values of the axes of each cell; the last axis varies first."""
        return [
            dict(zip(self.axes, values, strict=True))
            for values in itertools.product(*self.axes.values())
        ]

    def text(self, cell: Mapping[str, str], algorithm: str = HERE) -> str:
        """Returns the scenario of a cell with an algorithm, for the first seed."""
        words = dict(cell)
        for axis, by_value in self.words.items():
            words |= by_value.get(cell.get(axis, ""), {})
        return self.scenario.format_map({**words, "cc": algorithm})

    def points(self, algorithms: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
        """Yields the settings of each cell with each algorithm; the algorithms vary first."""
        for cell in self.cells:
            for algorithm in algorithms:
                yield list(_flat(tomllib.loads(self.text(cell, algorithm))))

    def base(self, algorithms: Sequence[str]) -> str:
        """Returns the scenario to which :meth:`points` belong."""
        return self.text(self.cells[0], algorithms[0])


def _flat(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yields each key of a scenario with its value, both as `--set` takes them."""
    if isinstance(value, dict):
        for name, of in value.items():
            yield from _flat(of, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for number, of in enumerate(value):
            yield from _flat(of, f"{key}.{number}")
    else:
        yield key, as_set(value)


def families(*, small: bool = False) -> list[Family]:
    """Returns the families of the package.

    Args:
        small: Keep the first and the last value of each axis only.
    """
    shared: dict[str, Any] = tomllib.loads(_read("common.toml"))
    found = []
    for file in sorted(files("fullpipe.observatory").joinpath("families").iterdir(), key=str):
        about: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        own = about.pop("with", {})
        words = {
            axis: _merged(shared.get(axis, {}), own.get(axis, {})) for axis in {**shared, **own}
        }
        axes = {
            axis: [values[0], values[-1]] if small and len(values) > 1 else values
            for axis, values in about.pop("axes").items()
        }
        name = file.name.partition("-")[2].removesuffix(".toml")
        found.append(Family(name, axes=axes, words=words, **about))
    return found


def algorithms() -> list[str]:
    """Returns the names of all built-in algorithms; those of loaded libraries are not among them."""
    loaded = {each.name for each in _core.plugins()}
    return [each["name"] for each in _core.algorithms() if each["name"] not in loaded]


def _merged(one: Words, other: Words) -> Words:
    return {value: {**one.get(value, {}), **other.get(value, {})} for value in {**one, **other}}


def _read(name: str) -> str:
    return files("fullpipe.observatory").joinpath(name).read_text(encoding="utf-8")
