"""The verdicts on claims: for a terminal of 80 columns, and as Markdown."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from rich.text import Text

from fullpipe.reproduce.show import STYLES, runs_each
from fullpipe.verdicts.judged import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from fullpipe.reproduce.claims import Claim, Judged

_INDENT = 2
_WIDTH = 80
_LABEL = 16


def show(judged: Sequence[Judged], console: Console) -> None:
    """Prints what a claim says, a line a verdict on it, and why ours misses where it is known."""
    runs = runs_each(point.seeds for each in judged for point in each.claim.points)
    console.print(f"{runs} a point; ours [95 % confidence], what is close enough, verdict")
    before: str | None = None
    for claim, verdicts in _by_claim(judged):
        if claim.case != before:
            console.print(Text(f"\n{claim.case}", style="bold"))
        before = claim.case
        for line in textwrap.wrap(
            f"{claim.metric}; published: {_text(claim.published)}", _WIDTH - _INDENT
        ):
            console.print(Text(" " * _INDENT + line))
        labels = [each.case.removeprefix(claim.case).strip() for each in verdicts]
        wide = max(_LABEL, *map(len, labels))
        for each, label in zip(verdicts, labels, strict=True):
            close = _interval(*claim.within) if _judging(claim) else ""
            row = Text(
                f"    {label:<{wide}} {digits(each.ours.value):>7} {_confidence(each):<18} {close:<12} "
            )
            console.print(row.append(each.verdict.value, style=STYLES[each.verdict]))
        if _note(verdicts):
            for line in textwrap.wrap(_note(verdicts), _WIDTH - 2 * _INDENT):
                console.print(Text(" " * 2 * _INDENT + line, style="dim"))
    console.print()


def markdown(judged: Sequence[Judged]) -> list[str]:
    """A table of all claims as lines."""
    lines = [
        f"{runs_each(point.seeds for each in judged for point in each.claim.points)} a point (seeds 1, 2 and so on). "
        "In brackets the 95 % confidence interval of ours over the seeds.",
        "",
        "| case | metric | published | ours | close enough | verdict | because |",
        "|---|---|---|--:|--:|---|---|",
    ]
    for claim, verdicts in _by_claim(judged):
        for number, each in enumerate(verdicts):
            said = (claim.metric, _text(claim.published)) if number == 0 else ("", "")
            ours = f"{digits(each.ours.value)} {_confidence(each)}".strip()
            close = _interval(*claim.within) if _judging(claim) else ""
            cells = (each.case, *said, ours, close, each.verdict.value, _because(each))
            lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def digits(value: float) -> str:
    """Three digits that count; – for none, and 0 for what is one in a million."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) < 1e-6:
        return "0"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}"


def _by_claim(judged: Sequence[Judged]) -> list[tuple[Claim, list[Judged]]]:
    claims = dict.fromkeys(each.claim for each in judged)
    return [(claim, [each for each in judged if each.claim == claim]) for claim in claims]


def _text(published: float | str) -> str:
    return published if isinstance(published, str) else f"{published:g}"


def _judging(claim: Claim) -> bool:
    """Whether it says what is close enough."""
    return any(map(math.isfinite, claim.within))


def _interval(low: float, high: float) -> str:
    if math.isinf(low):
        return f"≤ {high:g}"
    return f"≥ {low:g}" if math.isinf(high) else f"{low:g} – {high:g}"


def _confidence(judged: Judged) -> str:
    ours = judged.ours
    return "" if math.isnan(ours.low) else f"[{digits(ours.low)}, {digits(ours.high)}]"


def _note(verdicts: Sequence[Judged]) -> str:
    """Why it is not judged, or what is known of why it is missed."""
    claim = verdicts[0].claim
    if claim.report is not None:
        return claim.report
    return claim.note if any(each.verdict is Verdict.MISSED for each in verdicts) else ""


def _because(judged: Judged) -> str:
    if judged.verdict is Verdict.MISSED:
        return f"{judged.reason}: {judged.claim.note}" if judged.claim.note else judged.reason
    return judged.reason or judged.claim.why
