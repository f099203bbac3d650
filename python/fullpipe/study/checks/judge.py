"""Judges the repetitions of a scenario by its conditions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core
from fullpipe.study.verdicts.judged import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


class JudgedCondition(NamedTuple):
    """The verdict of a condition on one metric of one flow, workload or link.

    Values are in SI units, and None if they are missing.
    """

    name: str
    """The condition with its subject."""
    condition: str
    """The condition as it is written in the scenario."""
    quantile: float | None
    """The quantile of the repetitions that must meet it; None if every repetition must."""
    flow: int | None
    of: str
    """Its subject: `flow a`, `workload web`, or empty if the condition names one."""
    column: str
    """The column of the rows that it is about."""
    bound: float
    unit: str
    measured: float | None
    """The value of the worst repetition, or the quantile."""
    least: float | None
    most: float | None
    repetitions: int
    met: bool
    failed_seeds: Sequence[int]
    """The seeds of the repetitions that miss it, the worst first."""
    shown: str
    """The range of the repetitions, or their quantile, in words."""

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return Verdict.MET if self.met else Verdict.MISSED


def judged(scenario: _core.Scenario, rows: pl.DataFrame) -> list[JudgedCondition]:
    """Judges each condition by the worst repetition, or by the quantile of the repetitions that it names.

    Args:
        scenario: The scenario with the conditions.
        rows: A row per flow or workload and run, as in the data set of a sweep.
    """

    def values(flow: int | None, column: str) -> list[tuple[int, float | None]]:
        own = rows.filter(flow_index=flow or 0)
        # A workload without completed flows has no column of slowdowns.
        there = own[column] if column in own.columns else [None] * own.height
        return list(zip(own["seed"], there, strict=True))

    return [JudgedCondition(**each) for each in json.loads(_core.judged(scenario, values))]
