"""The result of a differential test in a terminal of 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from fullpipe.base import terminal
from fullpipe.study.verdicts.show import wrapped
from fullpipe.wings.real.validate.drawn import factors, words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from fullpipe.wings.real.validate.drawn.command import Outcome

_WIDTHS = (17, 14, 9, 7, 11, 11, 11)
_SHOWN = 8


def show(outcome: Outcome, page: Path) -> None:
    """Prints the result."""
    console = terminal.console()
    wrapped(f"{words.kernel(outcome)}, seed {outcome.seed}", 0, console, "dim")
    _head("Differences, fullpipe minus Linux", console)
    heads = ("metric", "tolerance", "compared", "met", "5th pct.", "median", "95th pct.")
    _row(heads, console, "dim")
    for each in words.metrics(outcome.compared):
        _row(each, console)
    _worst(outcome, console)
    _factors(outcome, console)
    _acks(outcome, console)
    if outcome.impossible:
        names = ", ".join(each.name for each in outcome.impossible)
        _head("Draws with more packets than the budget", console)
        wrapped(f"{len(outcome.impossible)}, which a larger --hours takes: {names}", 0, console)
    if outcome.failed:
        _head("Failed", console)
        for name, error in outcome.failed:
            console.print(Text(f"{name}: {error}"))
    console.print(Text(f"\n{words.sums(outcome)}", style="bold"))
    console.print(f"every number: {page}", markup=False, soft_wrap=True)


def _worst(outcome: Outcome, console: Console) -> None:
    found = words.worst(outcome.compared)
    if found:
        _head("The worst", console)
    for each in found:
        console.print(Text(f"{each.drawn.name}: {each.drawn.about}"))
        wrapped(words.missed(each), 4, console)
        command = Text(f"    {outcome.command(each.drawn.name)}", style="dim")
        console.print(command, soft_wrap=True)


def _factors(outcome: Outcome, console: Console) -> None:
    rows = [row for row in factors.table(outcome.compared) if row.lift][:_SHOWN]
    if not rows:
        return
    _head("Missed scenarios by factor", console)
    for row in rows:
        console.print(
            Text(
                f"{row.name:<20} with {row.missed_with:3} of {row.with_:3}, "
                f"without {row.missed_without:3} of {row.without:3}"
            )
        )
    for line in words.split(factors.tree(outcome.compared)):
        console.print(Text(line, style="dim"))


def _acks(outcome: Outcome, console: Console) -> None:
    if not outcome.acks:
        return
    _head("Windows ACK by ACK", console)
    for each in outcome.acks:
        console.print(
            Text(f"{each.drawn.name}: equal after {each.equal:.1%} of {each.acks:,} ACKs, ").append(
                f"within a segment after {each.near:.1%}", style="dim"
            )
        )
        wrapped(f"first difference: {words.first(each)}", 4, console)


def _head(text: str, console: Console) -> None:
    console.print(Text(f"\n{text}", style="bold"))


def _row(cells: Sequence[str], console: Console, style: str = "") -> None:
    texts = [
        f"{cell:<{width}}" if place < 2 else f"{cell:>{width}}"
        for place, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    ]
    console.print(Text("".join(texts), style=style))
