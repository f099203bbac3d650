"""Maps of a quantity over two parameters: the columns are the parameter with fewer values, so that a map is narrow."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.report.model import DECADES, Heat, Section
from fullpipe.report.values import several_have
from fullpipe.results.overlay import factors
from fullpipe.results.words import short
from fullpipe.runs.view.left import left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.model import Block
    from fullpipe.report.values import Group, Measures
    from fullpipe.results.model import Axis, Results
    from fullpipe.stats import Quantity

_MOST_VALUES = 24
_FEW_VALUES = 4
_MOST_CONTENDERS = 24
_LEAST_FILLED = 0.5


def section(results: Results, groups: Sequence[Group], measures: Measures) -> Section | None:
    """Returns a map per metric and contender over the first two swept numbers, or else words.

    One number is a curve (`curves.py`). One word with many values makes a map over these and the
    contenders.
    """
    compared, numbers = factors(results.axes, results.points)
    over = numbers if len(numbers) > 1 else [] if numbers else compared
    known = {axis.key: axis for axis in results.axes}
    varied = [
        axis
        for factor in over
        for axis in [known[factor[0]]]
        if not axis.is_cc and len(axis.values) > 1
    ]
    axes = [axis for axis in varied if len(axis.values) <= _MOST_VALUES]
    long = [axis for axis in varied if axis not in axes]
    wanted = measures.at("maps")
    if len(axes) >= 2:
        down, across = sorted(axes[:2], key=lambda axis: -len(axis.values))
        blocks = [heat for metric in wanted for heat in _over_two(groups, metric, down, across)]
        rest = [short(axis.key) for axis in [*axes[2:], *long]]
        note = (
            f"Mean over the seeds, and over all values of {', '.join(rest)}."
            if rest
            else "Mean over the seeds."
        )
    elif axes and len(axes[0].values) > _FEW_VALUES and len({each.named for each in groups}) > 1:
        blocks = [heat for metric in wanted for heat in _over_contenders(groups, metric, axes[0])]
        note = "Mean over the seeds."
    elif long and len(varied) > 1:
        blocks = []
        keys = " and ".join(short(axis.key) for axis in long)
        note = f"No maps: a map has room for {_MOST_VALUES} values, and not for those of {keys}."
    else:
        return None
    return Section("Maps", blocks, note) if blocks or long else None


def _over_two(groups: Sequence[Group], metric: Quantity, first: Axis, second: Axis) -> list[Block]:
    cells: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    swept = several_have(groups, metric.column)
    order = list(dict.fromkeys(group.contender for group in groups))
    for group in sorted(groups, key=lambda each: order.index(each.contender)):
        where = group.settings[first.key], group.settings[second.key]
        label = group.label_of(metric.column, swept=swept)
        cells[label if first.is_number else group.named][where] += group.of(metric.column)
    grids = {
        contender: _grid(those, first.values, second.values) for contender, those in cells.items()
    }
    grids = {name: grid for name, grid in grids.items() if np.isfinite(grid).any()}
    filled = {
        name: grid for name, grid in grids.items() if np.isfinite(grid).mean() >= _LEAST_FILLED
    }
    found = dict(list(filled.items())[:_MOST_CONTENDERS])
    empty = [name for name in grids if name not in filled]
    note = left_out(empty, len(grids), "less than half of the settings have a value")
    more = left_out(list(filled)[_MOST_CONTENDERS:], len(grids))
    return _maps(
        {
            f"{metric.words}, {name}" if len(cells) > 1 else metric.words: grid
            for name, grid in found.items()
        },
        metric,
        _side(first),
        _side(second),
        " ".join(filter(None, (note, more))),
    )


def _side(axis: Axis) -> tuple[str, Sequence[str]]:
    """Returns the name of a side of a map and its values, whose unit the name has."""
    if not axis.unit:
        return short(axis.key), axis.values
    return f"{short(axis.key)}, {axis.unit}", [each.removesuffix(axis.unit) for each in axis.values]


def _over_contenders(groups: Sequence[Group], metric: Quantity, axis: Axis) -> list[Block]:
    cells: dict[tuple[str, str], list[float]] = defaultdict(list)
    for group in groups:
        cells[group.named, group.settings[axis.key]] += group.of(metric.column)
    contenders = tuple(dict.fromkeys(group.named for group in groups))
    grid = _grid(cells, contenders, axis.values)
    known = np.isfinite(grid).any(axis=1)
    rows = tuple(name for name, there in zip(contenders, known, strict=True) if there)
    return _maps({metric.words: grid[known]}, metric, ("contender", rows), _side(axis))


def _grid(
    cells: dict[tuple[str, str], list[float]], rows: Sequence[str], columns: Sequence[str]
) -> np.ndarray:
    return np.array(
        [
            [
                np.mean(cells[row, column]) if cells.get((row, column)) else np.nan
                for column in columns
            ]
            for row in rows
        ]
    )


def _maps(
    grids: dict[str, np.ndarray],
    metric: Quantity,
    rows: tuple[str, Sequence[str]],
    columns: tuple[str, Sequence[str]],
    note: str = "",
) -> list[Block]:
    known = (
        np.concatenate([grid[np.isfinite(grid)] for grid in grids.values()])
        if grids
        else np.array([])
    )
    if not len(known):
        return []
    least, most = float(known.min()) * metric.scale, float(known.max()) * metric.scale
    above = known[known > 0] * metric.scale
    log = len(above) > 0 and least >= 0 and most / float(above.min()) >= DECADES
    if log:
        least = float(above.min())
    return [
        Heat(
            title[0].upper() + title[1:],
            metric.unit,
            rows[0],
            columns[0],
            tuple(rows[1]),
            tuple(columns[1]),
            grid * metric.scale,
            least,
            most,
            metric.column,
            note,
            log,
        )
        for title, grid in grids.items()
    ]
