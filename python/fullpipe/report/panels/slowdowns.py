"""Slowdowns of workload flows by size, compared with those of two ideal servers."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.base.metrics import decade_text
from fullpipe.report import values
from fullpipe.report.model import Line, Lines, Number, Section, Table
from fullpipe.report.values import ALL
from fullpipe.results.words import short
from fullpipe.runs.view.left import left_out
from fullpipe.stats import mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.model import Block, Cell
    from fullpipe.report.values import Group
    from fullpipe.results.model import Results
    from fullpipe.stats import Interval

_NOTE = (
    "Slowdown is a flow's completion time divided by the time that it would take alone. Both times include handshake "
    "and pauses; the latter excludes slow start."
)
_OF_SERVERS = (
    "SRPT (shortest remaining processing time) knows all sizes and serves the flow with the least left to send. "
    "Processor sharing (PS) gives all flows equal shares."
)
_NO_SERVERS = (
    " ideal servers SRPT and processor sharing (PS) have no values: the rate of the link changes, or workloads have "
    "different routes."
)
_TITLE = "Slowdown by size"
_STATISTICS = ("mean", "p50", "p95", "p99")
_SERVERS = {"srpt": "SRPT, mean", "ps": "processor sharing, mean"}
_SERVERS_STYLE = 4
"""Index of the dashes of the first ideal server; a contender's lines have those before it."""
_MOST_CONTENDERS = 5
_MOST_CHARTS = 12


def section(results: Results) -> Section | None:
    """Returns a chart per setting, and a table of all slowdowns."""
    columns = [name for name in results.rows.columns if name.startswith("slowdown.")]
    decades = sorted(
        {
            int(found[1])
            for name in columns
            if (found := re.match(r"slowdown\.decades\.(\d+)\.", name))
        }
    )
    arrived = (
        [group for group in values.groups(results, columns) if group.of("slowdown.all.unfinished")]
        if columns
        else []
    )
    if not arrived:
        return None
    charts: dict[tuple[str, object], list[Group]] = defaultdict(list)
    for group in arrived:
        charts[group.place, group.role].append(group)
    alike = len({group.algorithm for group in arrived}) == 1
    drawn = [
        _chart(
            those[first : first + _MOST_CONTENDERS],
            decades,
            alone=len(those) == 1,
            named=len(charts) == 1 or not alike,
            which=f"from {those[first].contender}" if len(those) > _MOST_CONTENDERS else "",
        )
        for those in charts.values()
        for first in range(0, len(those), _MOST_CONTENDERS)
    ]
    if len(drawn) > 1:
        drawn = [replace(each, row=_TITLE) for each in drawn]
    blocks: list[Block] = [*drawn[:_MOST_CHARTS]]
    served = {
        bool(group.of(f"slowdown.all.{server}.mean"))
        for group in arrived
        for server in _SERVERS
        if group.of("slowdown.all.flows.mean")
    }
    seeds = max(len(group.of("slowdown.all.unfinished")) for group in arrived)
    note = [_NOTE, *([_OF_SERVERS] if True in served else [])]
    if False in served:
        where = "Where a table has –, the" if True in served else "The"
        note.append(f"{where}{_NO_SERVERS}")
    if seeds > 1:
        note.append("Values are means over the seeds; the shaded band is the 95 % interval.")
    if more := left_out([each.title for each in drawn[_MOST_CHARTS:]], len(drawn)):
        note.append(f"Charts: {more} The report's table has all.")
    return Section(_TITLE, [*blocks, _table(arrived, decades)], " ".join(note))


def _chart(
    groups: Sequence[Group], decades: Sequence[int], *, alone: bool, named: bool, which: str = ""
) -> Lines:
    """Draws mean and 99 % of one contender, or the means of several, and those of the ideal servers.

    All contenders get the same flows, so the ideal servers' slowdowns are taken from the first.
    """
    first = groups[0]
    lines = [
        _line(group.contender, group, "flows.mean", decades, number)
        for number, group in enumerate(groups)
    ]
    if alone:
        name = f"{first.contender}, " if named else ""  # the title has it
        lines = [
            _line(f"{name}mean", first, "flows.mean", decades, 0),
            _line(f"{name}99 %", first, "flows.p99", decades, 1),
        ]
    lines += [
        replace(
            _line(called, first, f"{server}.mean", decades, _SERVERS_STYLE + number), algorithm=ALL
        )
        for number, (server, called) in enumerate(_SERVERS.items())
    ]
    whose = first.contender if alone else ""
    title = ", ".join(part for part in (whose, first.place, which) if part) or "Mean slowdown"
    known = [line for line in lines if not np.isnan(line.y).all()]
    return Lines(
        title,
        "flow size, kB",
        "slowdown",
        known,
        stepped=True,
        log_x=True,
        log_y=True,
    )


def _line(label: str, group: Group, what: str, decades: Sequence[int], style: int) -> Line:
    """Returns a step for each decade of sizes: its value holds from its first size to that of the next."""
    steps: list[tuple[float, float, float, float]] = []
    decade, last = decades[0], (math.nan,) * 3
    while decade <= 10 * decades[-1]:
        found = _mean(group.of(f"slowdown.decades.{decade}.{what}"))
        if math.isnan(found[0]) and not math.isnan(last[0]):
            # The last step ends here, and a gap follows.
            steps += [(decade, *last), (decade * (1 + 1e-9), *found)]
        else:
            steps.append((decade, *found))
        decade, last = 10 * decade, found
    while len(steps) > 1 and math.isnan(steps[-1][1]):
        steps.pop()
    x, value, low, high = (np.array(each) for each in zip(*steps, strict=True))
    x = x / 1e3
    line = Line(label, x, value, algorithm=group.algorithm, style=style)
    if what.startswith("flows.") and np.isfinite(low).any():
        return replace(line, low=low, high=high)
    return line


def _mean(of: list[float]) -> tuple[float, float, float]:
    interval: Interval | None = mean(of) if of else None
    return (
        (interval.value, interval.low, interval.high)
        if interval
        else (math.nan, math.nan, math.nan)
    )


def _table(groups: Sequence[Group], decades: Sequence[int]) -> Table:
    keys = list(dict.fromkeys(key for group in groups for key in group.settings))
    columns = ("flow size", "completed", "unfinished", *_STATISTICS, "SRPT, mean", "PS, mean")
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        head = [*(group.settings.get(key, "–") for key in keys), group.contender]
        rows += [
            (
                *head,
                Number(decade, decade_text(decade)),
                *_cells(group, f"slowdown.decades.{decade}"),
            )
            for decade in decades
            if group.of(f"slowdown.decades.{decade}.unfinished")
        ]
        rows.append((*head, Number(None, "all sizes"), *_cells(group, "slowdown.all")))
    return Table("Slowdowns", (*map(short, keys), "contender", *columns), rows)


def _cells(group: Group, where: str) -> tuple[Cell, ...]:
    counts = (f"{where}.flows.count", f"{where}.unfinished")
    measures = (
        *(f"{where}.flows.{each}" for each in _STATISTICS),
        *(f"{where}.{server}.mean" for server in _SERVERS),
    )
    return (
        *(_number(group, each, ",.0f") for each in counts),
        *(_number(group, each, ".2f") for each in measures),
    )


def _number(group: Group, column: str, form: str) -> Number:
    known = group.of(column)
    value = sum(known) / len(known) if known else None
    return Number(value, "–" if value is None else format(value, form))
