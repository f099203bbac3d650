"""Saved results in one form, the same for every command that saves them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fullpipe.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl


RUNNER = "runner"
"""The setting of a point with its runner; the other settings are keys of scenarios."""


class NoResultsError(UserError):
    """No report can be made of a directory; the text has the reason and the fix."""


@dataclass(frozen=True)
class Axis:
    """A key that was swept, with its values as written, in their order."""

    key: str
    values: tuple[str, ...]

    @property
    def cc_of(self) -> tuple[str, int] | None:
        """The `[[flow]]` or `[[workload]]` whose algorithm the key sets; None for any other key."""
        found = re.fullmatch(r"(flow|workload)\.(\d+)\.cc", self.key)
        return (found[1], int(found[2])) if found else None

    @property
    def is_cc(self) -> bool:
        """Whether it sets the algorithm of a flow or a workload."""
        return self.cc_of is not None


@dataclass(frozen=True)
class Point:
    """One combination of values."""

    number: int
    label: str
    settings: Mapping[str, str]
    seeds: tuple[int, ...]
    command: str
    """The command that replays its first seed."""
    runner: str = ""
    """Its runner, if there are several; then it is also one of the settings, and not in the label."""

    @property
    def place(self) -> tuple[tuple[str, str], ...]:
        """The settings without the runner: equal for points of the same experiment."""
        return tuple((key, value) for key, value in self.settings.items() if key != RUNNER)


@dataclass(frozen=True)
class Series:
    """The files of a run's trace."""

    point: Point
    seed: int
    flows: Path
    links: Path | None


@dataclass(frozen=True)
class Results:
    """The results of a run, a sweep, a comparison or a study.

    Attributes:
        directory: The directory that has them.
        title: Their title, from the scenario's first comment line.
        about: The rest of the scenario's first comment lines.
        facts: Versions, command and sizes, in words.
        rows: One row per flow and run: `point`, `seed`, `flow`, `flow_index`, `cc` and metrics,
            nested ones with dots.
        axes: The keys that were swept.
        points: Each combination of their values, by its number.
        series: The traces that were saved.
        scenarios: The texts of the scenarios, by name.
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
        """The number of runs."""
        return self.rows.select("point", "seed").n_unique()
