"""The verdicts on the cells of tables: for a terminal of 80 columns, and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from fullpipe.verdicts.judged import Verdict
from fullpipe.verdicts.show import line, row, sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from fullpipe.reproduce.study import CaseOutcome
    from fullpipe.reproduce.tables import Cell
    from fullpipe.verdicts.judged import Judged

_COLUMNS = ("published", "ours", "least – most", "close enough", "verdict", "because")


def show(outcomes: Sequence[CaseOutcome], console: Console) -> None:
    """Prints a block of lines a case, then the cases that were skipped, then the notes."""
    notes = _notes(outcomes)
    runs = runs_each(len(outcome.runs) for outcome in outcomes)
    console.print(
        f"{runs} a case, ours is their mean; rates in Mbit/s, RTTs in ms, losses in packets"
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


def runs_each(counts: Iterable[int]) -> str:
    """How many runs cases have, of those that have any: "10 runs", or "3 to 30 runs"."""
    some = sorted({count for count in counts if count})
    if not some:
        return "no runs"
    return (
        f"{some[0]} to {some[-1]} runs"
        if len(some) > 1
        else f"{some[0]} run{'s' if some[0] > 1 else ''}"
    )


def markdown(outcomes: Sequence[CaseOutcome]) -> list[str]:
    """The whole table as lines, skipped cells and all."""
    lines = [
        f"{runs_each(len(outcome.runs) for outcome in outcomes)} a case (seeds 1, 2 and so on); ours is the mean over "
        "them, unless the metric says otherwise. Rates in Mbit/s, RTTs in ms, losses in packets. A cell that is "
        "reported is printed and not judged.",
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
    """Prints how many cells each variant meets, and which it misses."""
    console.print(Text("\nVariants", style="bold"))
    for name, outcomes in rows:
        said = sums(judged for outcome in outcomes for judged in outcome.cells).partition("; ")[0]
        console.print(Text(f"{name}: ", style="bold").append(said, style="default"))
        for outcome in outcomes:
            for judged in outcome.cells:
                if judged.verdict is Verdict.MISSED:
                    published, ours, spread, _ = _numbers(judged)
                    what = f"{judged.metric} {ours} ({spread}) for {published}"
                    console.print(Text(f"  {outcome.case.name}  {what}", style="dim"))


def _show_case(outcome: CaseOutcome, notes: Sequence[str], console: Console) -> None:
    """A case's name, and a line a cell."""
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
    """Published, ours, its range over the runs, and what is close enough."""
    ours, (low, high), skipped = judged.ours, judged.within, judged.verdict is Verdict.SKIPPED
    return (
        _digits(judged.subject.published),
        "–" if skipped else _digits(ours.value),
        "–" if skipped else f"{_digits(ours.least)} – {_digits(ours.most)}",
        f"{_digits(low)} – {_digits(high)}",
    )


def _remark(judged: Judged[Cell], notes: Sequence[str]) -> str:
    """What stands behind the verdict in a terminal, short."""
    note = _note(judged)
    number = f" [{notes.index(note) + 1}]" if note else ""
    if judged.verdict is Verdict.REPORT:
        return f", {'close' if judged.inside else 'off'}{number}"
    return f", {judged.reason}{number}" if judged.reason else ""


def _because(judged: Judged[Cell]) -> str:
    if judged.verdict is Verdict.REPORT:
        return f"{'close enough' if judged.inside else 'off'}, but {judged.reason}"
    note = f": {_note(judged)}" if _note(judged) else ""
    return f"{judged.reason}{note}" if judged.reason else "close enough"


def _note(judged: Judged[Cell]) -> str:
    """Why a cell is only reported, or what is known of why it was missed; else empty."""
    if judged.verdict is Verdict.REPORT:
        return judged.reason
    return judged.subject.note if judged.verdict is Verdict.MISSED else ""


def _notes(outcomes: Iterable[CaseOutcome]) -> list[str]:
    """All notes, each once."""
    notes = (_note(judged) for outcome in outcomes for judged in outcome.cells)
    return list(dict.fromkeys(note for note in notes if note))


def _digits(value: float) -> str:
    """Whole numbers as they are, others with one digit after the point below 100, and with two below 1."""
    if value == int(value):
        return f"{value:.0f}"
    if abs(value) < 1:
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < 99.95 else f"{value:.0f}"
