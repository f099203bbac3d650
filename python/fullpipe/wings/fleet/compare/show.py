"""Prints a comparison for a terminal of 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fullpipe.runs.view.table import Trimmed, digits, make_table
from fullpipe.wings.fleet.compare.decide import said

if TYPE_CHECKING:
    from rich.console import Console

    from fullpipe.wings.fleet.compare.analysis import Analysis
    from fullpipe.wings.fleet.compare.decide import Compared

_COLORS = {"better": "green", "worse": "red", "undecided": "dim", "unknown": "dim", "same": "dim"}
_WIDE = 1000
_WORDS = {"slight": "negligible", "unknown": "–"}


def show(analysis: Analysis, console: Console) -> None:
    """Prints the amount of data, the decision on each arm relative to the first, and the checks."""
    plan = analysis.plan
    console.print(f"{plan.options.directory}: {', '.join(plan.arms)}", style="bold", markup=False)
    for table, numbers in analysis.numbers().items():
        counts = ", ".join(
            f"{arm} {number:,}" for arm, number in zip(plan.arms, numbers, strict=True)
        )
        least = (
            f" of at least {plan.options.min_bytes:,} bytes"
            if table != "counters" and plan.options.min_bytes
            else ""
        )
        what = "counter readings" if table == "counters" else table
        console.print(f"{what}{least}: {counts}", soft_wrap=True, markup=False)
    for arm in plan.arms[1:]:
        rows = [each for each in analysis.compared if (each.a, each.b) == (arm, plan.arms[0])]
        console.print("")
        if rows:
            decision = _decision(arm, plan.arms[0], rows)
            if (
                console.measure(decision, options=console.options.update(width=_WIDE)).maximum
                > console.width
            ):
                decision = _decision(arm, plan.arms[0], rows, "\n(")
            console.print(Trimmed(decision))
        else:
            console.print(f"{arm}: no metric in common with {plan.arms[0]}")
    if any(each.alone for each in analysis.compared):
        console.print(
            "* the verdict changes without one of the hosts; see “one host” below", style="dim"
        )
    for label, each in analysis.apart:
        words = f"{each.a} vs. {each.b}, {each.metric.quantity.words} {said(each)} {each.verdict}"
        console.print(f"Minimum RTT {label}: {words}", markup=False)
    console.print("")
    for check in analysis.checks:
        mark, style = {True: ("fine", "green"), False: ("WARN", "yellow"), None: ("–   ", "dim")}[
            check.fine
        ]
        grid = Table.grid(padding=(0, 1))
        grid.add_row(
            Text(mark, style=style), Text.assemble((check.name, "bold"), f": {check.text}")
        )
        console.print(Trimmed(grid))
    console.print("")
    console.print(analysis.note, style="dim", markup=False)
    for arm in plan.arms[1:]:
        if advice := analysis.advice(arm):
            console.print(f"Decision: {advice}.", style="bold", markup=False)


def _decision(arm: str, other: str, rows: list[Compared], before: str = " (") -> Table:
    """Builds a table with a line per metric, or two if intervals are put below effects."""
    table = make_table(f"{arm} vs. {other}")
    table.columns[0].max_width = 34
    table.columns[0].overflow = "fold"
    table.columns[0].vertical = "top"
    table.add_column(other, justify="right", no_wrap=True)
    table.add_column(arm, justify="right", no_wrap=True)
    table.add_column(f"effect{before}95 % CI)", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for each in rows:
        quantity = each.metric.quantity
        unit = f", {quantity.unit}" if quantity.unit else ""
        verdict = Text(_WORDS.get(each.verdict, each.verdict) + ("*" if each.alone else ""))
        verdict.stylize(_COLORS.get(each.verdict, "yellow"))
        values = (digits(spread.value * quantity.scale) for spread in (each.value_b, each.value_a))
        table.add_row(quantity.words + unit, *values, said(each).replace(" (", before), verdict)
        if each.shifted or each.changed:
            beside = each.standard_verdict or ""
            table.add_row(
                "  with the same mix of RTTs",
                "",
                "",
                said(each, each.standard).replace(" (", before),
                Text(_WORDS.get(beside, beside), _COLORS.get(beside, "yellow")),
            )
    return table
