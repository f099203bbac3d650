"""Tables of cells: for a terminal of 80 columns, and as Markdown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from fullpipe.runners import is_simulator
from fullpipe.study.verdicts.judged import Verdict
from fullpipe.study.verdicts.show import STYLES, row
from fullpipe.wings.real.validate.cells import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from fullpipe.runners import Runner
    from fullpipe.study.verdicts.estimate import Estimate
    from fullpipe.study.verdicts.judged import Judged
    from fullpipe.wings.real.validate.judge import CellOutcome

_COLUMNS = {"goodput": 10, "RTT": 10, "queue p95": 11, "resent": 11}
_NAME = 30


class Sides(NamedTuple):
    """Names of the two numbers of a cell."""

    kernel: str
    ours: str


SIMULATED = Sides("Linux", "fullpipe")


def sides(runner: Runner) -> Sides:
    """Returns the names for the recorded number and for that of a runner."""
    return SIMULATED if is_simulator(runner) else Sides("recorded", runner.name)


def show(outcomes: Sequence[CellOutcome], both: Sides, console: Console) -> None:
    """Prints a table per stack, with a line per cell and algorithm: the kernel's and our numbers; then the misses."""
    console.print(
        f"Each cell: {both.kernel}|{both.ours}. goodput: Mbit/s, sum of the flows;\n"
        "RTT: mean, ms; queue p95: queueing delay, ms; resent: retransmitted packets;\n"
        "share: of the first algorithm, or of the largest flow, in the goodput",
        style="dim",
    )
    heads = "".join(f"{name:>{width}}" for name, width in _COLUMNS.items())
    for stack, those in by_stack(outcomes).items():
        console.print(Text(f"\n{f'stack {stack}':<{_NAME}}{heads}", style="bold"))
        if SUFFIX[stack]:
            console.print(f"names end in {SUFFIX[stack]}", style="dim")
        for outcome in those:
            _show_cell(outcome, console)
    missed = [outcome for outcome in outcomes if outcome.verdict is Verdict.MISSED]
    if missed:
        console.print(Text("\nMissed", style="bold"))
    for outcome in missed:
        for judged in outcome.judged:
            if judged.verdict is Verdict.MISSED:
                text = f"{judged.metric} {interval(judged.ours)} instead of {interval(judged.subject)}, {judged.reason}"
                console.print(
                    Text(f"{outcome.cell.name}: ", style="bold").append(text, style="default")
                )
    _show_notes(
        "Skipped", [(each.cell.name, each.judged[0].reason) for each in _skipped(outcomes)], console
    )
    _show_notes("Disturbed runs", spoiled(outcomes), console)


def spoiled(outcomes: Sequence[CellOutcome]) -> list[tuple[str, str]]:
    """Returns the cells with disturbed runs, each with their number and the first one's warnings."""
    return [
        (each.cell.name, f"{len(each.spoiled)} of {each.runs} runs; first: {each.spoiled[0]}")
        for each in outcomes
        if each.spoiled
    ]


def by_stack(outcomes: Sequence[CellOutcome]) -> dict[str, list[CellOutcome]]:
    """Returns the outcomes of each stack, by its name."""
    return {
        stack: those
        for stack in SUFFIX
        if (those := [each for each in outcomes if each.cell.stack == stack])
    }


def summaries(outcomes: Sequence[CellOutcome]) -> list[str]:
    """Returns a line per stack with the numbers of cells and quantities that are met."""
    return [f"stack {stack}: {_summary(those)}" for stack, those in by_stack(outcomes).items()]


def _summary(outcomes: Sequence[CellOutcome]) -> str:
    skipped = len(_skipped(outcomes))
    run = [outcome for outcome in outcomes if outcome.verdict is not Verdict.SKIPPED]
    met = sum(outcome.verdict is Verdict.MET for outcome in run)
    numbers = [judged.verdict for outcome in run for judged in outcome.judged]
    share = f", {met / len(run):.0%}" if run else ""
    left = f"; {skipped} skipped" if skipped else ""
    return f"{met} of {len(run)} cells met{share}; {numbers.count(Verdict.MET)} of {len(numbers)} numbers met{left}"


def markdown(outcomes: Sequence[CellOutcome], both: Sides) -> list[str]:
    """Returns the whole table as lines, with 95 % intervals of the means."""
    lines = [
        f"| cell | stack | number | {both.kernel} | {both.ours} | accepted range | verdict |",
        "|---|---|---|--:|--:|--:|---|",
    ]
    for outcome in outcomes:
        for number, judged in enumerate(outcome.judged):
            first = number == 0
            name, stack = (f"`{outcome.cell.name}`", outcome.cell.stack) if first else ("", "")
            allowed = " – ".join(digits(end) for end in judged.within)
            because = f"{judged.verdict.value}{f', {judged.reason}' if judged.reason else ''}"
            values = (interval(judged.subject), interval(judged.ours))
            lines.append(row((name, stack, judged.metric, *values, allowed, because)))
    return lines


def interval(estimate: Estimate) -> str:
    """Formats a mean ± half of its interval, without an interval of zero width."""
    half = (estimate.high - estimate.low) / 2
    return (
        digits(estimate.value)
        if math.isnan(half) or half == 0
        else f"{digits(estimate.value)} ± {digits(half)}"
    )


def digits(value: float) -> str:
    """Formats a number with three significant digits, fewer for small and more for large numbers."""
    if math.isnan(value):
        return "–"
    if abs(value) < 1:
        return f"{value:.2g}" if value == round(value, 2) else f"{value:.2f}"
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def _skipped(outcomes: Sequence[CellOutcome]) -> list[CellOutcome]:
    return [outcome for outcome in outcomes if outcome.verdict is Verdict.SKIPPED]


def _show_notes(head: str, notes: Sequence[tuple[str, str]], console: Console) -> None:
    if notes:
        console.print(Text(f"\n{head}", style="bold"))
    for cell, text in notes:
        console.print(Text(f"{cell}: ", style="bold").append(text, style="default"))


def _show_cell(outcome: CellOutcome, console: Console) -> None:
    by_name = {judged.metric: judged for judged in outcome.judged}
    algorithms = outcome.cell.algorithms
    share = next((judged for name, judged in by_name.items() if "share" in name), None)
    for number, algorithm in enumerate(algorithms):
        behind = f" {algorithm}" if len(algorithms) > 1 else ""
        first = by_name["goodput"] if number == 0 else share
        name = outcome.cell.name.removesuffix(SUFFIX[outcome.cell.stack])
        line = Text(f"{name if number == 0 else '  share':<{_NAME}}")
        for name, width in _COLUMNS.items():
            line.append_text(
                _pair(first if name == "goodput" else by_name[f"{name}{behind}"], width)
            )
        if number == 0:
            line.append(f" {outcome.verdict.value}", style=STYLES[outcome.verdict])
        console.print(line)
    if share is not None and len(algorithms) == 1:
        console.print(Text(f"{'  share':<{_NAME}}").append_text(_pair(share, _COLUMNS["goodput"])))


def _pair(judged: Judged[Estimate] | None, width: int) -> Text:
    if judged is None:
        return Text(" " * width)
    text = f"{digits(judged.subject.value)}|{digits(judged.ours.value)}"
    return Text(
        f"{text:>{width}}", style="" if judged.verdict is Verdict.MET else STYLES[judged.verdict]
    )
