"""Judges the repetitions of a scenario by its conditions."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.verdicts.estimate import Estimate
from fullpipe.verdicts.judged import Judged, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import polars as pl

    from fullpipe import _core

_HOLDS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


class Condition(NamedTuple):
    """A condition on one metric of one flow, workload or link."""

    text: str
    """The condition as it is written in the scenario."""
    of: str
    """Its subject: `flow a`, `workload web`, or empty if the condition names one."""
    quantile: float | None
    """The quantile of the repetitions that must meet it; None if every repetition must."""
    unit: str
    bound: float
    column: str
    """The column of the rows that it is about."""

    @property
    def name(self) -> str:
        """The condition with its subject."""
        return f"{self.text} ({self.of})" if self.of else self.text


def judged(scenario: _core.Scenario, rows: pl.DataFrame) -> Iterator[Judged[Condition]]:
    """Judges each condition by the worst repetition, or by the quantile of the repetitions that it names.

    Args:
        scenario: The scenario with the conditions.
        rows: A row per flow or workload and run, as in the data set of a sweep.
    """
    names = [
        *(f"flow {name}" for name, _ in scenario.flows),
        *(f"workload {name}" for name, _ in scenario.workloads),
    ]
    for text, quantile, comparison, measured in scenario.expectations():
        for flow, column, bound, unit in measured:
            # Name the smallest of the seeds that miss the bound equally, regardless of the order of
            # the runs.
            own = rows.filter(flow_index=flow or 0).sort("seed")
            # A workload without completed flows has no column of slowdowns.
            there = (
                own[column].cast(float).fill_null(math.nan)
                if column in own.columns
                else [math.nan] * own.height
            )
            values = dict(zip(own["seed"], there, strict=True))
            whose = names[flow] if flow is not None and len(measured) > 1 else ""
            condition = Condition(text, whose, quantile, unit, bound, column)
            yield _judge(condition, comparison, values)


def _judge(condition: Condition, comparison: str, values: Mapping[int, float]) -> Judged[Condition]:
    # A missing number meets no bound, so it is worse than any other.
    sign = 1 if comparison in (">=", ">") else -1
    worst_first = sorted(
        values, key=lambda seed: -math.inf if math.isnan(values[seed]) else sign * values[seed]
    )
    bound, quantile = condition.bound, condition.quantile
    failed = [seed for seed in worst_first if not _HOLDS[comparison](values[seed], bound)]
    if quantile is None:
        measured = values[worst_first[0]]
    else:
        ascending = [values[seed] for seed in (worst_first if sign > 0 else reversed(worst_first))]
        measured = ascending[max(math.ceil(round(quantile * len(ascending), 9)) - 1, 0)]
    there = [value for value in values.values() if not math.isnan(value)]
    met = _HOLDS[comparison](measured, bound)
    return Judged(
        condition,
        condition.of,
        condition.text,
        bound,
        Estimate(measured, min(there, default=math.nan), max(there, default=math.nan)),
        (bound, math.inf) if sign > 0 else (-math.inf, bound),
        Verdict.MET if met else Verdict.MISSED,
        met,
        runs=len(values),
        failed=failed,
    )
