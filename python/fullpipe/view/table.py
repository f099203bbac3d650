"""Tables for a terminal of 80 columns: their columns, and the format of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

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


def rate_text(bps: float) -> str:
    """Formats a rate: 2.5 Mbit/s."""
    unit, scale = rate_unit([bps])
    return f"{bps / scale:.3g} {unit}"


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


def ms(seconds: float | None) -> str:
    """Formats a time in milliseconds."""
    return NONE if seconds is None else digits(seconds * 1e3)


def percent(share: float) -> str:
    """Formats a share as a percentage."""
    return "0" if share == 0 else f"{share * 100:.2g}" if share < 0.01 else f"{share * 100:.1f}"
