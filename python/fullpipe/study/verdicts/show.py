"""Verdicts in a terminal and in Markdown."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.text import Text

from fullpipe.study.verdicts.judged import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from fullpipe.study.verdicts.estimate import Estimate
    from fullpipe.study.verdicts.judged import Judged, Within

STYLES = {
    Verdict.MET: "green",
    Verdict.MISSED: "bold red",
    Verdict.REPORT: "yellow",
    Verdict.SKIPPED: "dim",
}
_WIDTH = 80


def line(text: str, verdict: Verdict, behind: str = "") -> Text:
    """Returns a line with a verdict in its color, followed by `behind`."""
    return Text(text).append(verdict.value, style=STYLES[verdict]).append(behind)


def wrapped(text: str, indent: int, console: Console, style: str = "") -> None:
    """Prints a paragraph, indented, in 80 columns."""
    for each in textwrap.wrap(text, _WIDTH - indent):
        console.print(Text(" " * indent + each, style=style))


def row(cells: Iterable[str]) -> str:
    """Returns a row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def sums(judged: Iterable[Judged[Any]]) -> str:
    """Returns a line with the number of cells for each verdict, and of reported ones within their tolerance."""
    judged = list(judged)
    count = Counter(each.verdict for each in judged)
    met, missed, reported, skipped = (count[verdict] for verdict in Verdict)
    said = f"{met} of {met + missed} judged cells met, {missed} missed"
    if reported:
        close = sum(each.verdict is Verdict.REPORT and each.inside is True for each in judged)
        said += f"; {reported} reported, {close} of them close enough"
    return f"{said}; {skipped} skipped" if skipped else said


def digits(value: float) -> str:
    """Formats a number with three significant digits; – for NaN, and 0 below a millionth."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) < 1e-6:
        return "0"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}"


def interval(within: Within) -> str:
    """Formats the accepted range; empty without one."""
    low, high = within
    if math.isinf(low) and math.isinf(high):
        return ""
    if math.isinf(low):
        return f"≤ {high:g}"
    return f"≥ {low:g}" if math.isinf(high) else f"{low:g} – {high:g}"


def confidence(ours: Estimate) -> str:
    """Formats the confidence interval in brackets; empty without one."""
    return "" if math.isnan(ours.low) else f"[{digits(ours.low)}, {digits(ours.high)}]"
