"""Points of a cell and the score: values of a candidate compared with those of the baseline, without units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fullpipe.stats.strata import Strata, strata

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fullpipe.wings.search.score.suite import Cell, Metric, Suite

    Values = Mapping[str, float | None]
    """The values of a cell by the metric's flow and column; None for a flow without a value."""


def name_of(metric: Metric) -> str:
    """Returns the key of a metric in the values of a cell."""
    return f"{metric.of} {metric.column}"


def term(metric: Metric, value: float | None, base: float | None, clip: float) -> float:
    """Returns the points of one metric: positive if the value is better than the baseline's.

    A flow without a value, such as a transfer that did not end, has the least points, or none if the baseline has no
    value either.
    """
    if value is None or base is None:
        return 0.0 if value is base else clip if base is None else -clip
    if metric.transform == "difference":
        points = metric.better * (value - base) / metric.scale
    elif value <= 0 or base <= 0:
        points = metric.better * (math.copysign(clip, value - base) if value != base else 0.0)
    else:
        points = metric.better * math.log2(value / base)
    return max(-clip, min(clip, points))


def terms(suite: Suite, cell: Cell, values: Values, base: Values) -> list[float]:
    """Returns the points of each metric of a cell."""
    return [
        term(each, values.get(name_of(each)), base.get(name_of(each)), suite.clip)
        for each in suite.parts[cell.part].metrics
    ]


def points(suite: Suite, cell: Cell, of: Sequence[float]) -> float:
    """Returns the points of a cell: the weighted mean of its metrics'."""
    metrics = suite.parts[cell.part].metrics
    total = sum(each.weight for each in metrics)
    return sum(each.weight / total * term for each, term in zip(metrics, of, strict=True))


def scored(suite: Suite, cells: Sequence[Cell], of: Mapping[str, float]) -> Strata:
    """Returns the score over the cells that have points: the weighted mean of the parts' means.

    Args:
        suite: The suite.
        cells: Cells.
        of: The points by the cells' keys.
    """
    values: dict[int, list[float]] = {number: [] for number in range(len(suite.parts))}
    for cell in cells:
        if cell.key in of:
            values[cell.part].append(of[cell.key])
    return strata(values, weights(suite))


def weights(suite: Suite) -> dict[int, float]:
    """Returns the weight of each part."""
    return {number: part.weight for number, part in enumerate(suite.parts)}
