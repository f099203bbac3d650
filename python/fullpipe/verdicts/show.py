"""How verdicts look in a terminal and in Markdown."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.text import Text

from fullpipe.verdicts.judged import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from fullpipe.verdicts.estimate import Estimate
    from fullpipe.verdicts.judged import Judged, Within

STYLES = {
    Verdict.MET: "green",
    Verdict.MISSED: "bold red",
    Verdict.REPORT: "yellow",
    Verdict.SKIPPED: "dim",
}
_WIDTH = 80


def line(text: str, verdict: Verdict, behind: str = "") -> Text:
    """A line that ends with a verdict in its color, and what stands behind it."""
    return Text(text).append(verdict.value, style=STYLES[verdict]).append(behind)


def wrapped(text: str, indent: int, console: Console, style: str = "") -> None:
    """Prints a paragraph, indented, in 80 columns."""
    for each in textwrap.wrap(text, _WIDTH - indent):
        console.print(Text(" " * indent + each, style=style))


def row(cells: Iterable[str]) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def sums(judged: Iterable[Judged[Any]]) -> str:
    """One line: how many came to which verdict, and how many of those only reported are close enough."""
    judged = list(judged)
    count = Counter(each.verdict for each in judged)
    met, missed, reported, skipped = (count[verdict] for verdict in Verdict)
    said = f"{met} of {met + missed} judged cells met, {missed} missed"
    if reported:
        close = sum(each.verdict is Verdict.REPORT and each.inside is True for each in judged)
        said += f"; {reported} reported, {close} of them close enough"
    return f"{said}; {skipped} skipped" if skipped else said


def digits(value: float) -> str:
    """Three digits that count; – for none, and 0 for what is one in a million."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) < 1e-6:
        return "0"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}"


def interval(within: Within) -> str:
    """What is close enough; empty where nothing says what is."""
    low, high = within
    if math.isinf(low) and math.isinf(high):
        return ""
    if math.isinf(low):
        return f"≤ {high:g}"
    return f"≥ {low:g}" if math.isinf(high) else f"{low:g} – {high:g}"


def confidence(ours: Estimate) -> str:
    """The confidence interval in brackets; empty where there is none."""
    return "" if math.isnan(ours.low) else f"[{digits(ours.low)}, {digits(ours.high)}]"
