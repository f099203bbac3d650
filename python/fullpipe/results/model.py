"""Saved results in one form, whatever saved them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl


RUNNER = "runner"
"""Among a point's settings, which else are keys of scenarios: what it was run on."""


class NoResultsError(ValueError):
    """A directory that no report can be made of; the text says why and what to do."""


@dataclass(frozen=True)
class Axis:
    """A key that was swept, with its values as written, in their order."""

    key: str
    values: tuple[str, ...]

    @property
    def cc_of(self) -> tuple[str, int] | None:
        """Which `[[flow]]` or `[[workload]]` it gives an algorithm; None for any other key."""
        found = re.fullmatch(r"(flow|workload)\.(\d+)\.cc", self.key)
        return (found[1], int(found[2])) if found else None

    @property
    def is_cc(self) -> bool:
        """Whether it says which algorithm a flow has, or flows that arrive."""
        return self.cc_of is not None


@dataclass(frozen=True)
class Point:
    """One combination of values."""

    number: int
    label: str
    settings: Mapping[str, str]
    seeds: tuple[int, ...]
    command: str
    """What replays its first seed."""
    runner: str = ""
    """What it was run on, where that is one of several; it is among the settings then, and not in the label."""

    @property
    def place(self) -> tuple[tuple[str, str], ...]:
        """The settings without the runner: points with the same are the same experiment."""
        return tuple((key, value) for key, value in self.settings.items() if key != RUNNER)


@dataclass(frozen=True)
class Series:
    """Where a run's trace is."""

    point: Point
    seed: int
    flows: Path
    links: Path | None


@dataclass(frozen=True)
class Results:
    """Results.

    Attributes:
        directory: Where they are.
        title: What they are about.
        about: The rest of the scenario's first comment lines.
        facts: Versions, command and sizes, in words.
        rows: One row a flow and run: `point`, `seed`, `flow`, `flow_index`, `cc` and metrics,
            nested ones with dots.
        axes: What was swept.
        points: Each combination, by its number.
        series: The traces that were saved.
        scenarios: The texts that were run, by name.
        published: The cells and claims of a reproduced study, as `table.json` has them.
    """

    directory: Path
    title: str
    about: str
    facts: list[tuple[str, str]]
    rows: pl.DataFrame
    axes: list[Axis] = field(default_factory=list)
    points: dict[int, Point] = field(default_factory=dict)
    series: list[Series] = field(default_factory=list)
    scenarios: dict[str, str] = field(default_factory=dict)
    published: list[dict[str, Any]] = field(default_factory=list)

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self.rows.select("point", "seed").n_unique()
