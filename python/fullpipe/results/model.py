"""Saved results in one form, the same for every command that saves them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

    from fullpipe.base.metrics import Metrics
    from fullpipe.results.about import TestAbout

RUNNER = "runner"
"""The setting of a point with its runner; the other settings are keys of scenarios."""

RESULTS = "results"
"""The setting of a point with the name of its directory, for results side by side that no key tells apart."""

TABLES = tuple(dict.fromkeys(column["table"] for column in _core.trace_columns()))
"""The tables that a trace may have. A directory keeps each as a file of its name, that of flows as `trace.parquet`."""


def table_file(directory: Path, table: str) -> Path:
    """Returns the file of a run's table in the directory that `run --out` wrote."""
    return directory / f"{'trace' if table == 'flows' else table}.parquet"


class NoResultsError(UserError):
    """No report can be made of a directory; the text has the reason and the fix."""


@dataclass(frozen=True)
class Axis:
    """A key that was swept, with its values as written, in their order."""

    key: str
    values: tuple[str, ...]
    compared: bool = False
    """Whether its values are compared even if they are numbers: those of results side by side."""

    @property
    def cc_of(self) -> tuple[str, int] | None:
        """The `[[flow]]` or `[[workload]]` whose algorithm the key sets; None for any other key."""
        found = re.fullmatch(r"(flow|workload)\.(\d+)\.cc", self.key)
        return (found[1], int(found[2])) if found else None

    @property
    def is_cc(self) -> bool:
        """Whether it sets the algorithm of a flow or a workload."""
        return self.cc_of is not None

    @cached_property
    def numbers(self) -> tuple[float, ...] | None:
        """The values as numbers in one unit; None if they are words, or of several units."""
        found = [_core.quantity(value) for value in self.values]
        known = [each for each in found if each is not None]
        if len(known) < len(found) or len({unit for _, unit in known}) != 1:
            return None
        return tuple(number for number, _ in known)

    @property
    def unit(self) -> str:
        """The unit of the values as written, like `bdp` of `4bdp`, if all have the same one; else empty."""
        found = [re.fullmatch(r"[+-]?[\d.]+([a-zA-Z%]*)", value) for value in self.values]
        units = {each[1] if each else "" for each in found}
        return units.pop() if len(units) == 1 else ""

    @property
    def positions(self) -> dict[str, float]:
        """The numbers of the values, by value: in the unit in which they are written, else in SI units."""
        if self.unit:
            return {value: float(value.removesuffix(self.unit)) for value in self.values}
        return dict(zip(self.values, self.numbers or (), strict=True))

    @property
    def is_number(self) -> bool:
        """Whether it varies a quantity. The values of any other axis are compared with each other."""
        return not self.compared and self.numbers is not None


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
    scenario: str = ""
    """The complete scenario as TOML, with the first seed; empty if it was not kept."""
    source: str = ""
    """The scenario as written, whose tables the keys of a sweep name; empty if its keys are of `scenario`."""
    measured: bool = False
    """Whether it is a program's run, from `link` or another tool: it has no seed, and ends when it is done."""

    @property
    def place(self) -> tuple[tuple[str, str], ...]:
        """The settings without the runner: equal for points of the same experiment."""
        return tuple((key, value) for key, value in self.settings.items() if key != RUNNER)


@dataclass(frozen=True)
class Series:
    """The files of a run's trace, by the names of its tables; there is always one of `flows`."""

    point: Point
    seed: int
    files: Mapping[str, Path]


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
        metrics: The metrics of single runs by their points: one for each runner or directory; empty for a sweep.
        published: The cells and claims of a reproduced study, as `table.json` has them.
        overlay: Groups of points, by number, whose runs belong over each other in charts over time;
            a page begins with the first group.
        transfers: The files of the recorded transfers of runs, by point and seed.
        tested: The results of a canned test, whose first seed made the run; None for any other run.
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
    metrics: dict[int, Metrics] = field(default_factory=dict)
    published: list[dict[str, Any]] = field(default_factory=list)
    overlay: list[list[int]] = field(default_factory=list)
    tested: TestAbout | None = None
    transfers: dict[tuple[int, int], Path] = field(default_factory=dict)

    def transfers_from(self, first: int) -> dict[tuple[int, int], Path]:
        """Returns the files of transfers for results whose points follow `first` others."""
        return {(first + number, seed): file for (number, seed), file in self.transfers.items()}

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self.rows.select("point", "seed").n_unique()
