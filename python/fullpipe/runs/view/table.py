"""Tables for a terminal of 80 columns: their columns, and the format of numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from fullpipe.algorithms.resolve import recipe_of, short_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

NONE = "–"
# Greatest width of a column of names, and its least width on narrow terminals, if a word is that
# long.
_NAME, _SHORT_NAME = 14, 10
# Columns that narrow terminals leave out, in this order.
_SPARE = (
    *(
        "\np99",
        "\np95",
        "marks",
        "\nmarked",
        "random\nlosses",
        "re-\nsent",
        "\nmax",
        "queue\nms",
        "loss\n%",
        "done\ns",
    ),
    *("after\ns", "RTT\nms", "ended"),
)


def make_table(what: str) -> Table:
    """Returns a table whose first column has the header `what`, and shrinks on narrow terminals."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0, header_style="bold")
    table.add_column(what, vertical="bottom", overflow="fold", max_width=_NAME)
    return table


def narrow(table: Table, console: Console) -> bool:
    """Leaves out columns, the least important first, until the words of names fit; returns whether it left out any."""
    wide = console.options.update(max_width=1000)
    columns = {column.header: column for column in table.columns}
    spare = [columns[header] for header in _SPARE if header in columns]
    names, dropped = table.columns[0], False
    words = (len(word) for name in names.cells for word in f"{name}".split())
    names.max_width = min(max(words, default=1), _SHORT_NAME)
    while spare and console.measure(table, options=wide).maximum > console.width:
        table.columns.remove(spare.pop(0))
        dropped = True
    names.max_width = _NAME
    return dropped


def number_columns(table: Table, *headers: str) -> None:
    """Adds columns of numbers."""
    for header in headers:
        table.add_column(header, justify="right", vertical="bottom", no_wrap=True, min_width=6)


class Spread(NamedTuple):
    """A number with the ends of its interval or spread, if there is one."""

    value: float
    low: float | None = None
    high: float | None = None


Cell: TypeAlias = "str | Text | float | Spread | None"


def add_rows(table: Table, rows: Sequence[Sequence[Cell]], ends: Collection[int] = ()) -> None:
    """Adds rows; the numbers of a column all have the same number of decimal places.

    Args:
        table: The table, with its columns.
        rows: The rows; a number is a float or a spread, and None stands for an unknown one.
        ends: The indices of the rows at which a section ends.
    """
    columns = [formed(column) for column in zip(*rows, strict=True)]
    for number, (name, *cells) in enumerate(zip(*columns, strict=True)):
        table.add_row(_in_lines(name), *cells, end_section=number in ends)


def _in_lines(name: str | Text) -> str | Text:
    """Breaks the name of a class of the user's, `module:Class`, where its parts meet, not within one."""
    if len(name) <= _NAME:
        return name
    if isinstance(name, str):
        return name.replace(":", ":\n", 1)
    first, colon, second = name.plain.partition(":")
    return Text(f"{first}:\n{second}", name.style) if colon else name


def formed(column: Sequence[Cell]) -> list[str | Text]:
    """Formats the cells of a column: its numbers all have the same number of decimal places."""
    numbers = [part for cell in column for part in _parts(cell)]
    places = decimals(numbers)

    def form(cell: Cell) -> str | Text:
        if cell is None:
            return NONE
        if isinstance(cell, (str, Text)):
            return cell
        value, low, high = cell if isinstance(cell, Spread) else (cell, None, None)
        text = fixed(value, places)
        if low is None or high is None or low == high:
            return text
        return f"{text} [{fixed(low, places)}–{fixed(high, places)}]"

    return [form(cell) for cell in column]


def _parts(cell: Cell) -> list[float]:
    if isinstance(cell, Spread):
        return [part for part in cell if part is not None]
    return [cell] if isinstance(cell, (float, int)) else []


def decimals(values: Iterable[float]) -> int:
    """Returns the decimal places for a column: three digits of its largest value, and two of its least as fit."""
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if all(size == int(size) for size in sizes):
        return 0
    most = max(sizes)
    usual = 0 if most >= 1000 else 1 if most >= 100 else 2 if most >= 1 else 3
    least = 1 - math.floor(math.log10(min(sizes)))
    return max(usual, min(least, 1 if most >= 100 else 2 if most >= 1 else 3))


def fixed(value: float, places: int) -> str:
    """Formats a number with decimal places: `0` for zero itself, `<0.01` for one that would look like zero."""
    if not value:
        return "0"
    text = f"{value:.{places}f}"
    return text if value <= 0 or float(text) else f"<{10**-places:.{places}f}"


class Trimmed:
    """A table without blanks at the ends of its lines.

    Attributes:
        table: The table itself.
    """

    def __init__(self, table: Table) -> None:
        self.table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yields the lines' segments."""
        for line in console.render_lines(self.table, options, pad=False):
            while line and not line[-1].text.strip():
                line.pop()
            if line:
                line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
            yield from line
            yield Segment.line()


def flow_name(name: str, cc: str) -> str:
    """Returns the name of a flow with its algorithm: `web (bbr3)`; a flow called after it has the algorithm's name.

    A flow of a recipe with a congestion control, `program:iperf3:bbr`, is `iperf3-bbr`, which fits the column, and
    `iperf3 (bbr)` if its name has none.
    """
    program, choice = recipe_of(cc) or ("", "")
    if choice and name.startswith(program):
        return name if name.startswith(f"{program}-{choice}") else f"{name} ({choice})"
    own = short_name(cc)
    return f"{cc}{name[len(own) :]}" if name.startswith(own) else f"{name} ({cc})"


def rate_text(bps: float) -> str:
    """Formats a rate: 2.5 Mbit/s."""
    unit, scale = rate_unit([bps])
    return f"{short(bps / scale)} {unit}"


def rate_unit(rates: Iterable[float]) -> tuple[str, float]:
    """Returns the unit for a column of rates in bit/s, and its value in bit/s."""
    most = max(rates, default=0.0)
    return next(
        (
            (unit, scale)
            for unit, scale in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3))
            if most >= scale
        ),
        ("bit/s", 1.0),
    )


def digits(value: float | None) -> str:
    """Formats a number with three significant digits, or all before the decimal point."""
    if value is None:
        return NONE
    if value == 0:
        return "0"
    return f"{value:.{0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 1 else 3}f}"


def short(value: float, count: int = 3) -> str:
    """Formats a number with at most `count` significant digits, or all before the decimal point.

    >>> [short(each) for each in (0.5, 12.34, 999.6, 1250.4)]
    ['0.5', '12.3', '1,000', '1,250']
    """
    return f"{value:,.0f}" if abs(value) >= 10**count - 0.5 else f"{value:.{count}g}"


def ms(seconds: float | None) -> str:
    """Formats a time in milliseconds."""
    return NONE if seconds is None else digits(seconds * 1e3)


def percent(share: float) -> str:
    """Formats a share as a percentage."""
    return "0" if share == 0 else f"{share * 100:.2g}" if share < 0.01 else f"{share * 100:.1f}"
