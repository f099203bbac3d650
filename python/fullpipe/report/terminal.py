"""Tables of many runs for a terminal: a line per point and flow, a column per metric with its spread or interval."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from fullpipe.runs.view.table import (
    NONE,
    Spread,
    Trimmed,
    add_rows,
    make_table,
    narrow,
    number_columns,
    rate_unit,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from rich.table import Table

    from fullpipe.stats import Quantity

_HEADERS = {
    "goodput_bps": "goodput\n{unit}",
    "queue_delay_s.mean": "queue\nms",
    "queue_delay_s.p95": "queue ms\np95",
    "rtt_s.mean": "RTT ms\nmean",
    "response_s.p50": "response\nms p50",
    "response_s.p95": "response\nms p95",
    "frame_delay_s.p95": "frames\nms p95",
    "completion_s": "done\ns",
    "slowdown.all.flows.mean": "slowdown\nmean",
    "retransmits": "re-\nsent",
    "loss_fraction": "re-sent\n%",
    "jain": "Jain",
    "link.bottleneck.utilization": "utilization\n%",
}
_PLAIN = ("retransmits", "loss_fraction", "completion_s")
"""Columns that have a spread only in a wide table."""
_LEAST_NAME = 16
WIDE = 110
"""Width of a terminal that has room for more columns and spreads."""


class Column(NamedTuple):
    """A column of a table: its metric, header, and factor from the metric's SI unit."""

    quantity: Quantity
    header: str
    scale: float

    def cell(self, value: float | None, low: float | None, high: float | None) -> Spread | None:
        """Returns the cell of a value with its ends, in SI units; None without a value."""
        if value is None or value != value:
            return None
        whole = self.quantity.unit == "packets"  # a median of counts needs no fractions
        parts = [
            None
            if part is None or part != part
            else round(part * self.scale)
            if whole
            else part * self.scale
            for part in (value, low, high)
        ]
        return Spread(parts[0] or 0.0, parts[1], parts[2])


def columns(quantities: Iterable[Quantity], rates: Iterable[float]) -> list[Column]:
    """Returns the columns of metrics; rates have the unit of the largest."""
    name, unit_bps = rate_unit(rates)
    found = []
    for each in quantities:
        unit, scale = (name, 1 / unit_bps) if each.unit == "Mbit/s" else (each.unit, each.scale)
        header = _HEADERS.get(each.column, f"{each.words}\n{{unit}}").format(unit=unit)
        found.append(Column(each, header.strip(), scale))
    return found


class Printed(NamedTuple):
    """Result of printing a table."""

    narrowed: bool
    """Whether columns were left out."""
    spreads: bool
    """Whether any number has its spread."""


class Line(NamedTuple):
    """A line of a table: its names, and a cell for each column."""

    names: Sequence[str]
    cells: Sequence[Spread | None]


def print_table(
    console: Console,
    names: Sequence[str],
    shown: Sequence[Column],
    lines: Sequence[Line],
    *,
    keep: bool = False,
    sections: bool = False,
) -> Printed:
    """Prints a table that fits: the last columns lose their spreads first, then columns are left out.

    Args:
        console: The console.
        names: The headers of the names.
        shown: The columns.
        lines: The lines.
        keep: Whether to keep every column, even if lines get too long.
        sections: Whether a blank line separates lines with different first names.
    """
    spreads = [
        number
        for number, column in enumerate(shown)
        if console.width >= WIDE or column.quantity.column not in _PLAIN
    ]
    wide = console.options.update(max_width=10_000)
    for count in range(len(spreads), -1, -1):
        table = _made(names, shown, lines, set(spreads[:count]), sections=sections)
        if console.measure(table, options=wide).maximum <= console.width:
            break
    narrowed = False if keep else narrow(table, console)
    excess = console.measure(table, options=wide).maximum - console.width
    if (
        excess > 0 and not keep and len(names) > 1
    ):  # a long name, as of a measured connection, takes two lines
        column = table.columns[len(names) - 1]
        longest = max(cell_len(f"{cell}") for cell in column.cells)
        column.no_wrap, column.overflow = False, "fold"
        column.max_width = max(longest - excess, _LEAST_NAME)
    width = max(console.width, console.measure(table, options=wide).maximum) if keep else None
    console.print(Trimmed(table), crop=False, width=width)
    return Printed(narrowed, bool(spreads[:count]))


def _made(
    names: Sequence[str],
    shown: Sequence[Column],
    lines: Sequence[Line],
    spreads: set[int],
    *,
    sections: bool,
) -> Table:
    table = make_table(names[0])
    for name in names[1:]:
        table.add_column(name, vertical="bottom", no_wrap=True)
    number_columns(table, *(column.header for column in shown))
    ends = {
        number
        for number, (one, after) in enumerate(itertools.pairwise(lines))
        if sections and one.names[0] != after.names[0]
    }
    rows = [
        [
            *(Text(name or NONE) for name in _named(lines, number, sections=sections)),
            *(
                Spread(cell.value) if cell and place not in spreads else cell
                for place, cell in enumerate(line.cells)
            ),
        ]
        for number, line in enumerate(lines)
    ]
    add_rows(table, rows, ends)
    return table


def _named(lines: Sequence[Line], number: int, *, sections: bool) -> list[str]:
    """Returns the names of a line; in sections, the first one only where it changes."""
    names = list(lines[number].names)
    if sections and number and lines[number - 1].names[0] == names[0]:
        names[0] = " "
    return names
