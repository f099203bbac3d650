"""Shows the verdicts on claims: in a terminal of 80 columns, and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from fullpipe.study.reproduce.show import runs_each
from fullpipe.study.verdicts.judged import Verdict
from fullpipe.study.verdicts.show import confidence, digits, interval, line, row, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from fullpipe.study.reproduce.claims import Claim
    from fullpipe.study.reproduce.statement import Statement
    from fullpipe.study.verdicts.judged import Judged

HEAD = (
    "| case | metric | published | ours | accepted | verdict | reason |",
    "|---|---|---|--:|--:|---|---|",
)
"""Header of a table of claims in Markdown."""
_INDENT = 2
_LABEL = 16


def show(judged: Sequence[Judged[Claim]], console: Console) -> None:
    """Prints each claim with a line per verdict, and the known reason for a miss."""
    runs = runs_each(point.seeds for each in judged for point in each.subject.points)
    console.print(f"{runs} per point; ours [95 % confidence interval], accepted range, verdict")
    claims = []
    for claim, verdicts in _by_claim(judged):
        labels = [each.case.removeprefix(claim.case).strip() for each in verdicts]
        wide = max(_LABEL, *map(len, labels))
        labeled = [f"{label:<{wide}} " for label in labels]
        claims.append((claim, [*zip(labeled, verdicts, strict=True)]))
    show_verdicts(claims, console)
    console.print()


def show_verdicts(
    claims: Iterable[tuple[Statement, Sequence[tuple[str, Judged[Any]]]]], console: Console
) -> None:
    """Prints claims by case, each with a line per verdict and the known reason for a miss."""
    before: str | None = None
    for claim, verdicts in claims:
        if claim.case != before:
            console.print(Text(f"\n{claim.case}", style="bold"))
        before = claim.case
        wrapped(f"{claim.metric}; published: {_text(claim.published)}", _INDENT, console)
        for label, each in verdicts:
            ours = f"{digits(each.ours.value):>7} {confidence(each.ours):<18}"
            console.print(line(f"    {label}{ours} {interval(claim.within):<12} ", each.verdict))
        missed = any(each.verdict is Verdict.MISSED for _, each in verdicts)
        wrapped(claim.because(missed=missed), 2 * _INDENT, console, "dim")


def markdown(judged: Sequence[Judged[Claim]]) -> list[str]:
    """Returns a table of all claims as lines."""
    lines = [
        f"{runs_each(point.seeds for each in judged for point in each.subject.points)} per point (seeds 1, 2, …). "
        "Brackets hold the 95 % confidence interval of our value over the seeds.",
        "",
        *HEAD,
    ]
    for claim, verdicts in _by_claim(judged):
        for number, each in enumerate(verdicts):
            said = (claim.metric, _text(claim.published)) if number == 0 else ("", "")
            ours = f"{digits(each.ours.value)} {confidence(each.ours)}".strip()
            close = interval(claim.within)
            lines.append(row((each.case, *said, ours, close, each.verdict.value, _because(each))))
    return [*lines, ""]


def _by_claim(judged: Sequence[Judged[Claim]]) -> list[tuple[Claim, list[Judged[Claim]]]]:
    claims = dict.fromkeys(each.subject for each in judged)
    return [(claim, [each for each in judged if each.subject == claim]) for claim in claims]


def _text(published: float | str) -> str:
    return published if isinstance(published, str) else f"{published:g}"


def _because(judged: Judged[Claim]) -> str:
    if judged.verdict is Verdict.MISSED:
        return f"{judged.reason}: {judged.subject.note}" if judged.subject.note else judged.reason
    return judged.reason or judged.subject.why
