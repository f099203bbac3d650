"""The control of a comparison of programs: how much two arms with the same program differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.report.control import ARMS, controls
from fullpipe.report.model import Number, Section, Table
from fullpipe.report.values import shown, titled
from fullpipe.runs.view.table import short
from fullpipe.stats.quantity import quantity
from fullpipe.stats.words import signed

if TYPE_CHECKING:
    from fullpipe.report.control import Control
    from fullpipe.report.model import Cell
    from fullpipe.results.model import Results

_NOTE = (
    "Each program ran alone in two arms, as if it were two. A difference between programs that is smaller than "
    "that of the arms is noise of this machine. p is corrected for the number of rows."
)


def section(results: Results) -> Section | None:
    """Returns the table of the control; None for results that have none."""
    found = controls(results.directory)
    if not found:
        return None
    columns = (
        "Program",
        "Metric",
        *(f"{arm} arm" for arm in ARMS),
        "Second against first [95 %]",
        "Alarm",
    )
    return Section(
        "Control: the same program twice",
        [Table("Arms compared", columns, [_row(each) for each in found])],
        _NOTE,
    )


def _row(each: Control) -> tuple[Cell, ...]:
    it, known = each.comparison, quantity(each.column)
    means = [Number(mean, shown(known, mean) if known else short(mean, 4)) for mean in (it.b, it.a)]
    value, low, high = (signed(end) for end in each.percent)
    change = Number(it.difference.value, f"{value} % [{low}, {high}]")
    alarm = (
        Number(None, "equal")
        if it.p != it.p
        else Number(it.p, f"{'yes' if each.is_alarm else 'no'}, p {it.p:.2g}")
    )
    return (each.program, titled(known) if known else each.column, *means, change, alarm)
