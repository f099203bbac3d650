"""Scenarios with axes: cells, the text of each, and the settings with which a sweep runs it."""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fullpipe.base.toml import as_set, document
from fullpipe.scenario.path_options import STACK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Words = Mapping[str, Mapping[str, str]]

HERE = "{cc}"
"""The place of the tested algorithm in the scenario of a cell."""
QUEUE_HERE = "{aqm}"
"""The place of the tested queue: `queue = "{aqm}"` in a path or a link."""


@dataclass(frozen=True, kw_only=True)
class Cells:
    """A scenario with the values of its axes.

    Attributes:
        scenario: A scenario with axes and words in braces, and :data:`HERE` or :data:`QUEUE_HERE`.
        axes: The values of each axis.
        words: Further words of the scenario, by axis and value.
    """

    scenario: str
    axes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    words: Mapping[str, Words] = field(default_factory=dict)

    @cached_property
    def cells(self) -> list[dict[str, str]]:
        """The values of the axes of each cell; the last axis varies first."""
        return [
            dict(zip(self.axes, values, strict=True))
            for values in itertools.product(*self.axes.values())
        ]

    def text(self, cell: Mapping[str, str], algorithm: str = HERE) -> str:
        """Returns the scenario of a cell with an algorithm, for the first seed.

        Raises:
            KeyError: When the scenario has a word in braces that neither an axis nor the words have.
        """
        words = dict(cell)
        for axis, by_value in self.words.items():
            words |= by_value.get(cell.get(axis, ""), {})
        return self.scenario.format_map({**words, "cc": algorithm, "aqm": QUEUE_HERE})

    def tables(
        self, cell: Mapping[str, str], tested: str, params: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        """Returns the scenario of a cell as tables, for an algorithm or a queue with parameters."""
        tables = tomllib.loads(self.text(cell))
        for each in [*tables.get("flow", []), *tables.get("workload", [])]:
            if each.get("cc") == HERE:
                each["cc"] = tested
                if params:
                    each["params"] = dict(params)
        for each in [tables.get("path", {}), *tables.get("link", [])]:
            if each.get("queue") == QUEUE_HERE:
                each["queue"] = {"kind": tested, **params} if params else tested
        return tables

    def written(
        self, cell: Mapping[str, str], tested: str, params: Mapping[str, object] | None = None
    ) -> str:
        """Returns the scenario of a cell as TOML, for an algorithm or a queue with parameters."""
        return document(self.tables(cell, tested, params))

    def settings(
        self, cell: Mapping[str, str], tested: str, params: Mapping[str, object] | None = None
    ) -> list[tuple[str, str]]:
        """Returns each key of a cell's scenario with its value, both as `--set` takes them."""
        return list(_flat(self.tables(cell, tested, params)))


def stack_of(scenarios: Iterable[Mapping[str, Any]]) -> str:
    """Returns the TCP of scenarios, like `rfc`: that of each, if they differ."""
    return ", ".join(dict.fromkeys(str(each.get(STACK.key, STACK.usual)) for each in scenarios))


def stack_of_cells(every: Iterable[Cells]) -> str:
    """Returns the TCP of the scenarios of cells, like `rfc`."""
    return stack_of(tomllib.loads(each.text(cell)) for each in every for cell in each.cells)


def shortened(axes: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Returns the first and the last value of each axis."""
    return {
        axis: [values[0], values[-1]] if len(values) > 1 else values
        for axis, values in axes.items()
    }


def merged(one: Words, other: Words) -> Words:
    """Returns the words of both by value; those of the second count where both have a word."""
    return {value: {**one.get(value, {}), **other.get(value, {})} for value in {**one, **other}}


def _flat(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, of in value.items():
            yield from _flat(of, f"{key}.{name}" if key else name)
    elif isinstance(value, list) and any(isinstance(of, dict) for of in value):
        for number, of in enumerate(value):
            yield from _flat(of, f"{key}.{number}")
    else:
        yield key, as_set(value)
