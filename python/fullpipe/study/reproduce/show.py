"""Shows the verdicts on the cells of tables: in a terminal of 80 columns, and as Markdown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.text import Text

from fullpipe.runs.view.path import by_stack, stack_of
from fullpipe.study.verdicts.judged import Verdict
from fullpipe.study.verdicts.show import line, row, sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from fullpipe.study.reproduce.study import CaseOutcome
    from fullpipe.study.reproduce.tables import Cell
    from fullpipe.study.verdicts.judged import Judged

_JUDGED = (Verdict.MET, Verdict.MISSED)
_COLUMNS = ("published", "ours", "min – max", "accepted", "verdict", "reason")


def show(outcomes: Sequence[CaseOutcome], console: Console) -> None:
    """Prints a block of lines per case, then the skipped cases, then the notes."""
    notes = _notes(outcomes)
    runs = runs_each(len(outcome.runs) for outcome in outcomes)
    console.print(
        f"{runs} per case; ours: their mean; rates in Mbit/s, RTTs in ms, losses in packets"
    )
    for name in dict.fromkeys(outcome.case.table for outcome in outcomes):
        ran = [
            outcome for outcome in outcomes if outcome.case.table == name and not outcome.skipped
        ]
        if ran:
            console.print(Text(f"\n{name}", style="bold"))
            console.print(Text(_line("", *_COLUMNS[:4], "verdict"), style="dim"))
        for outcome in ran:
            _show_case(outcome, notes, console)
    skipped = [outcome for outcome in outcomes if outcome.skipped]
    for reason in dict.fromkeys(outcome.cells[0].reason for outcome in skipped):
        console.print(Text(f"\nSkipped: {reason}", style="bold"))
        for outcome in (outcome for outcome in skipped if outcome.cells[0].reason == reason):
            values = "  ".join(
                f"{each.metric} {_digits(each.subject.published)}" for each in outcome.cells
            )
            console.print(Text(f"{outcome.case.name:<47} {values}", style="dim"))
    console.print()
    for number, reason in enumerate(notes, 1):
        console.print(f"[{number}] {reason}", markup=False)


def stacks(outcomes: Iterable[CaseOutcome]) -> str:
    """Returns how many cells of tables are met with each TCP, in words; empty without judged cells."""
    return by_stack(
        (stack, judged.verdict is Verdict.MET)
        for outcome in outcomes
        if any(judged.verdict in _JUDGED for judged in outcome.cells)
        for stack in [stack_of(outcome.case.point.setup.scenario(1).to_toml())]
        for judged in outcome.cells
        if judged.verdict in _JUDGED
    )


def runs_each(counts: Iterable[int]) -> str:
    """Formats the number of runs of the cases that were run: "10 runs", or "3 to 30 runs"."""
    some = sorted({count for count in counts if count})
    if not some:
        return "no runs"
    return (
        f"{some[0]} to {some[-1]} runs"
        if len(some) > 1
        else f"{some[0]} run{'s' if some[0] > 1 else ''}"
    )


def markdown(outcomes: Sequence[CaseOutcome]) -> list[str]:
    """Returns the whole table as lines, with skipped cells."""
    lines = [
        f"{runs_each(len(outcome.runs) for outcome in outcomes)} per case (seeds 1, 2 and so on). “Ours” is the mean "
        "over the runs, unless the metric says otherwise. Rates are in Mbit/s, RTTs in ms, losses in packets. Cells "
        "with the verdict “report” are compared but not judged.",
        *(f"\n{said[0].upper()}{said[1:]}." for said in [stacks(outcomes)] if said),
        "",
        "| case | metric | " + " | ".join(_COLUMNS) + " |",
        "|---|---|--:|--:|--:|--:|---|---|",
    ]
    for outcome in outcomes:
        for number, judged in enumerate(outcome.cells):
            case = f"`{outcome.case.name}`" if number == 0 else ""
            cells = (*_numbers(judged), judged.verdict.value, _because(judged))
            lines.append(row((case, judged.metric, *cells)))
        if outcome.jain is not None:
            lines.append(f"| | Jain | | {outcome.jain:.3f} | | | | for comparison |")
    return [*lines, ""]


def show_variants(rows: Sequence[tuple[str, Sequence[CaseOutcome]]], console: Console) -> None:
    """Prints the number of cells that each variant meets, and the cells that it misses."""
    console.print(Text("\nVariants", style="bold"))
    for name, outcomes in rows:
        said = sums(judged for outcome in outcomes for judged in outcome.cells).partition("; ")[0]
        console.print(Text(f"{name}: ", style="bold").append(said, style="default"))
        for outcome in outcomes:
            for judged in outcome.cells:
                if judged.verdict is Verdict.MISSED:
                    published, ours, spread, _ = _numbers(judged)
                    what = f"{judged.metric} {ours} ({spread}) instead of {published}"
                    console.print(Text(f"  {outcome.case.name}  {what}", style="dim"))


def _show_case(outcome: CaseOutcome, notes: Sequence[str], console: Console) -> None:
    """Prints a case's name, and a line per cell."""
    console.print(Text(outcome.case.name, style="bold"))
    for judged in outcome.cells:
        text = _line(judged.metric, *_numbers(judged))
        console.print(line(text, judged.verdict, _remark(judged, notes)))
    if outcome.jain is not None:
        console.print(
            Text(_line("Jain", "", f"{outcome.jain:.2f}", "", "", "for comparison"), style="dim")
        )


def _line(
    metric: str, published: str, ours: str, spread: str, close: str, verdict: str = ""
) -> str:
    return f"  {metric:<8}{published:>9} {ours:>6} {spread:>13} {close:>13}  {verdict}"


def _numbers(judged: Judged[Cell]) -> tuple[str, str, str, str]:
    """Formats the published value, ours, its range over the runs, and the accepted range."""
    ours, (low, high), skipped = judged.ours, judged.within, judged.verdict is Verdict.SKIPPED
    return (
        _digits(judged.subject.published),
        "–" if skipped else _digits(ours.value),
        "–" if skipped else f"{_digits(ours.least)} – {_digits(ours.most)}",
        f"{_digits(low)} – {_digits(high)}",
    )


def _remark(judged: Judged[Cell], notes: Sequence[str]) -> str:
    """Returns the short remark that follows the verdict in a terminal."""
    note = _note(judged)
    number = f" [{notes.index(note) + 1}]" if note else ""
    if judged.verdict is Verdict.REPORT:
        return f", {'inside' if judged.inside else 'outside'}{number}"
    return f", {judged.reason}{number}" if judged.reason else ""


def _because(judged: Judged[Cell]) -> str:
    if judged.verdict is Verdict.REPORT:
        return f"{'inside' if judged.inside else 'outside'} the accepted range, but not judged: {judged.reason}"
    note = f": {_note(judged)}" if _note(judged) else ""
    return f"{judged.reason}{note}" if judged.reason else "inside the accepted range"


def _note(judged: Judged[Cell]) -> str:
    """Returns why a cell is not judged, or a known reason for a miss; else an empty text."""
    if judged.verdict is Verdict.REPORT:
        return judged.reason
    return judged.subject.note if judged.verdict is Verdict.MISSED else ""


def _notes(outcomes: Iterable[CaseOutcome]) -> list[str]:
    """Returns the distinct notes."""
    notes = (_note(judged) for outcome in outcomes for judged in outcome.cells)
    return list(dict.fromkeys(note for note in notes if note))


def _digits(value: float) -> str:
    """Formats a number: whole numbers unchanged, others with one decimal below 100 and two below 1; a dash for NaN."""
    if not math.isfinite(value):
        return "–"
    if value == int(value):
        return f"{value:.0f}"
    if abs(value) < 1:
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < 99.95 else f"{value:.0f}"
