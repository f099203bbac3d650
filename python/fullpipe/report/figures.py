"""One figure or table of results that are not over time: curves, maps, scatter plots, distributions, numbers."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from io import StringIO
from typing import TYPE_CHECKING

from fullpipe.report import values
from fullpipe.report.model import Clouds, Heat, Lines, Section, Table
from fullpipe.report.panels import (
    completions,
    curves,
    differences,
    maps,
    numbers,
    slowdowns,
    spread,
    steady,
)
from fullpipe.report.panels.declared import PANELS
from fullpipe.report.panels.drawn import PanelError
from fullpipe.results.overlay import factors
from fullpipe.results.words import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fullpipe.report.model import Block
    from fullpipe.report.values import Group, Measures
    from fullpipe.results.model import Results
    from fullpipe.stats import Quantity

_INCH = 25.4
_MM = {"mm": 1.0, "cm": 10.0, "in": _INCH, "pt": _INCH / 72.27}
_NARROWEST, _WIDEST = 38, 1000
"""Least and most width of a figure, mm."""
_MOST_OVER = 2


@dataclass(frozen=True)
class Kind:
    """A figure, or a table.

    Attributes:
        key: Its name in options and files.
        lacks: The reason why results have none, unless the section has words on it.
        make: Makes the section that has it.
        blocks: The blocks of the section that belong to it.
        judged: The metrics that it shows and whose drift it tells.
    """

    key: str
    lacks: str
    make: Callable[[Results, Sequence[Group], Measures, Sequence[str]], Section | None]
    blocks: type[Lines | Heat | Clouds | Table]
    judged: Callable[[Sequence[Group], Measures], Sequence[Quantity]]

    @property
    def is_table(self) -> bool:
        """Whether it is a table."""
        return self.blocks is Table


def _scatter(
    _results: Results, groups: Sequence[Group], measures: Measures, _over: Sequence[str]
) -> Section:
    for what, found in (("delay", spread.across(groups, measures)), ("rate", spread.up(measures))):
        if found is None:
            whose = "--show has" if measures.asked else "the runs have"
            fix = f"add a {what}: --show goodput,rtt.p95" if measures.asked else _OTHER
            raise PanelError(f"--panel scatter: {whose} no {what}\n  fix: {fix}")
    return spread.scatter(groups, measures).section()


def _completions(
    results: Results, _groups: Sequence[Group], _measures: Measures, _over: Sequence[str]
) -> Section | None:
    if not results.transfers and slowdowns.section(results):
        raise PanelError(
            "--panel completion: the transfers of the runs were not recorded\n"
            "  fix: record them: fullpipe sweep --trace transfers"
        )
    return completions.section(results)


def _none(_groups: Sequence[Group], _measures: Measures) -> Sequence[Quantity]:
    """Returns no metrics: the course of completion times within a run is not tested."""
    return ()


KINDS = (
    Kind(
        "curves",
        "no number was swept",
        curves.section,
        Lines,
        lambda _, measures: measures.at("maps"),
    ),
    Kind(
        "maps",
        "a map needs two swept numbers, or without any two swept words",
        lambda results, groups, measures, _: maps.section(results, groups, measures),
        Heat,
        lambda _, measures: measures.at("maps"),
    ),
    Kind(
        "scatter",
        "there are no runs",
        _scatter,
        Clouds,
        spread.both,
    ),
    Kind(
        "shares",
        "there are no runs",
        lambda _, groups, measures, __: spread.shares(groups, measures).section(),
        Lines,
        lambda _, measures: measures.at("spread"),
    ),
    Kind(
        "slowdown",
        "the runs have no arriving flows",
        lambda results, _, __, ___: slowdowns.section(results),
        Lines,
        _none,
    ),
    Kind(
        "completion",
        "the runs have no arriving flows",
        _completions,
        Lines,
        _none,
    ),
    Kind(
        "results",
        "there are no numbers",
        lambda _, groups, measures, __: numbers.section(groups, measures.every),
        Table,
        lambda _, measures: measures.every,
    ),
    Kind(
        "differences",
        "nothing is compared",
        lambda results, groups, measures, _: differences.section(
            results, differences.compared(results, groups, measures.at("differences"))
        ),
        Table,
        lambda _, measures: measures.at("differences"),
    ),
)
"""Figures and tables of results; `panels.declared.FIGURES` has their purposes."""
_OTHER = f"choose another one: {', '.join(each.key for each in (*KINDS, *PANELS))}"


def kind_of(key: str) -> Kind | None:
    """Returns the figure or table of a key; None for that of a panel over time."""
    return next((each for each in KINDS if each.key == key), None)


def section(
    kind: Kind, results: Results, show: Sequence[str] = (), over: Sequence[str] = ()
) -> tuple[Section, str]:
    """Returns the section that has a figure, with the blocks that belong to it; and words if its numbers drift.

    Raises:
        PanelError: When the results have none, or a key of `over` is no swept number.
        MetricError: When a metric is unknown, or the runs have no value of it.
    """
    if over and kind.key != "curves":
        raise PanelError(
            f"--over: the axes of curves, and {kind.key} has its own\n  fix: leave out --over, or write --panel curves"
        )
    if show and kind.judged is _none:
        raise PanelError(
            f"--show: {kind.key} has one metric, which it always shows\n  fix: leave out --show"
        )
    measures = values.measures(results, show)
    groups = values.groups(results, [each.column for each in measures.every])
    made = kind.make(results, groups, measures, keys(results, over))
    blocks: list[Block] = (
        [each for each in made.blocks if isinstance(each, kind.blocks)] if made else []
    )
    judged = kind.judged(groups, measures)
    if not blocks and not judged and kind.judged is not _none:
        raise PanelError(
            f"--panel {kind.key}: it has none of the usual metrics of these runs\n"
            "  fix: name metrics with --show, like --show goodput"
        )
    if made is None or not blocks:
        reason = (made.note if made else "").rstrip(".") or kind.lacks
        raise PanelError(f"--panel {kind.key}: {reason[0].lower()}{reason[1:]}\n  fix: {_OTHER}")
    drift = steady.brief(results, judged) if judged else ""
    return replace(made, blocks=blocks), drift


def notes(found: Section) -> list[str]:
    """Returns the words about a section and its blocks, which its numbers alone do not have."""
    said = [found.note]
    for block in found.blocks:
        match block:
            case Clouds():
                said.append(block.left)
            case Lines() if block.row and block.note:
                said.append(f"{block.title}: {block.note}")
            case Lines() | Heat() | Table():
                said.append(block.note)
    return [*dict.fromkeys(filter(None, said))]


def keys(results: Results, over: Sequence[str]) -> list[str]:
    """Returns the keys of swept numbers that a user names, like `buffer`.

    Raises:
        PanelError: When one of them is another key.
    """
    _, there = factors(results.axes, results.points)
    of = {key: factor for factor in there for key in factor}
    named = {short(key): key for key in of} | {key: key for key in of}
    numbers_ = ", ".join(map(short, of))
    for name in over:
        if name not in named:
            near = get_close_matches(name, named, n=1)
            said = f"; did you mean {near[0]}?" if near else ""
            fix = f"write one of these: {numbers_}" if of else "leave out --over"
            raise PanelError(f"--over {name}: not a swept number{said}\n  fix: {fix}")
    text = f"--over {','.join(over)}"
    if len(over) > _MOST_OVER:
        raise PanelError(
            f"{text}: {len(over)} numbers, and curves have one for x and one for the lines\n"
            f"  fix: write --over {','.join(over[:_MOST_OVER])}; the others make charts"
        )
    found = [named[name] for name in over]
    if len({of[key] for key in found}) < len(found):
        problem = "named twice" if len({*found}) < len(found) else "they vary in step, on one axis"
        raise PanelError(f"{text}: {problem}\n  fix: write --over {over[0]}")
    return found


def inches(text: str) -> float:
    """Returns a width like 84mm in inches.

    Raises:
        PanelError: When it is no width of a figure.
    """
    found = re.fullmatch(r"([\d.]+)\s*(mm|cm|in|pt)", text.strip())
    try:
        wide = float(found[1]) * _MM[found[2]] if found else 0.0
    except ValueError:
        wide = 0.0
    if not _NARROWEST <= wide <= _WIDEST:
        limits = f"a figure is between {_NARROWEST}mm and {_WIDEST}mm wide"
        problem = limits if wide else "not a width"
        raise PanelError(
            f"--width {text}: {problem}\n  fix: write a number with a unit, like 84mm, 3.5in or 252pt"
        )
    return wide / _INCH


def table(found: Section) -> str:
    """Returns the numbers of a figure as CSV."""
    text = StringIO()
    csv.writer(text).writerows(_rows(found))  # lines end as in RFC 4180
    return text.getvalue()


def _rows(found: Section) -> Iterator[tuple[object, ...]]:
    head: tuple[object, ...] = ()
    rows = {block.row for block in found.blocks if isinstance(block, Lines | Clouds)}
    for block in found.blocks:
        for each in _of(_named(block) if len(rows) > 1 else block):
            if each[0] != head:
                head = each[0]
                yield head
            yield from each[1]


def _named(block: Block) -> Block:
    """Returns a chart with the title of its row in its own."""
    if not isinstance(block, Lines | Clouds) or not block.row:
        return block
    return replace(block, title=f"{block.row}: {block.title}")


def _of(
    block: Block,
) -> Iterator[tuple[tuple[object, ...], list[tuple[object, ...]]]]:
    """Yields a header and its rows."""
    match block:
        case Lines():
            rows: list[tuple[object, ...]] = []
            for line in block.lines:
                low = line.y * float("nan") if line.low is None else line.low
                high = line.y * float("nan") if line.high is None else line.high
                rows += [
                    (block.title, line.label, *map(_number, each))
                    for each in zip(line.x, line.y, low, high, strict=True)
                ]
            yield ("chart", "line", block.x, block.y, "low", "high"), rows
        case Heat():
            unit = f", {block.unit}" if block.unit else ""
            head = ("map", block.row_key, block.column_key, f"value{unit}")
            rows = [
                (block.title, down, across, _number(block.values[row, column]))
                for row, down in enumerate(block.rows)
                for column, across in enumerate(block.columns)
            ]
            yield head, rows
        case Clouds():
            rows = [
                (block.title, cloud.label, _number(x), _number(y))
                for cloud in block.clouds
                for x, y in zip(cloud.x, cloud.y, strict=True)
            ]
            yield ("chart", "contender", block.x, block.y), rows
        case Table():
            yield (
                tuple(block.columns),
                [
                    tuple(cell.text if hasattr(cell, "text") else cell for cell in row)
                    for row in block.rows
                ],
            )
        case _:
            pass


def _number(value: float) -> float | str:
    return float(f"{value:.6g}") if value == value else ""
