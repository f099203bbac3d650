"""Descriptions of kept directories: the JSON files that tell their kind, and the form of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

from fullpipe.algorithms.own import Own  # noqa: TC001  (read at run time)
from fullpipe.base.build import Made
from fullpipe.results.kept import read_sealed

if TYPE_CHECKING:
    from pathlib import Path

SWEEP = "sweep.json"
COMPARISON = "compare.json"
TEST = "test.json"
SWEEP_FORMAT = 2
"""The version of a sweep's directory; it changes with the meaning of its files."""


class AxisAbout(TypedDict):
    """A key that varies, its values as written, and their common unit."""

    key: str
    values: list[str]
    unit: str | None


class SweepAbout(Made):
    """The contents of `sweep.json`."""

    format: int
    identity: str
    command: str
    file: str
    scenario: str
    mode: str
    axes: list[AxisAbout]
    zip: list[str]
    seeds: list[int]
    points: int
    runners: list[str]
    runs: int
    added_jitter: dict[str, str | list[str]]
    algorithms: NotRequired[list[Own]]
    trace: NotRequired[str]
    """The trace level as the user chose it, or the number of points (`auto`, `off`); there from the beginning."""
    fingerprint: NotRequired[str]
    """The fingerprint of all rows; without it a run is missing, or only real clocks ran."""


class ComparisonAbout(Made):
    """The contents of `compare.json`."""

    command: str
    algorithms: list[str]


class FleetComparisonAbout(TypedDict):
    """The contents of `compare.json` of a fleet."""

    directory: str
    arms: list[str]


class CellRecord(TypedDict):
    """A judged number in `table.json`, see :class:`fullpipe.study.verdicts.judged.Record`."""

    case: str
    metric: str
    published: float | str
    ours: float | None
    tolerance: list[float | None]
    verdict: str


class ConditionRecord(TypedDict):
    """A judged condition in `table.json`, see :class:`fullpipe.study.evaluation.conformance.ConditionRecord`."""

    case: str
    condition: str
    unit: str
    measured: float | None
    tolerance: list[float | None]
    verdict: str
    because: str


class RunnersAbout(TypedDict):
    """The contents of `runners.json`."""

    runners: list[str]


def sweep(directory: Path) -> SweepAbout:
    """Reads `sweep.json`.

    Raises:
        DamagedError: When it is damaged, or of another version.
        OSError: When it can't be read.
    """
    return read_sealed(directory / SWEEP, SweepAbout, SWEEP_FORMAT)


class Measured(TypedDict):
    """`measured.json`: a run that no runner made, but `link` or `trace import`."""

    command: str
    """The command that makes it again."""


class TestTable(TypedDict):
    """A table of a canned test, with its cells as text; a line break in a column's name is that of a terminal."""

    title: str
    columns: list[str]
    rows: list[list[str]]


class TestAbout(TypedDict):
    """`test.json`: the results of a canned test, next to the run of its first seed."""

    test: str
    runner: str
    seeds: list[int]
    roles: dict[str, str]
    """By flow: `download` or `upload` for the load, and `probe` or `voice` for the flows that measure it."""
    tables: list[TestTable]
    sentences: list[str]
    notes: list[str]
    method: str
    """The definitions of the numbers, in words."""
