"""The verdicts on a fleet's claims, and what they hang on: for a terminal of 80 columns, and as Markdown."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from rich.text import Text

from fullpipe.reproduce.show import STYLES, sums
from fullpipe.reproduce.show_claims import digits
from fullpipe.verdicts.judged import Verdict

if TYPE_CHECKING:
    from rich.console import Console

    from fullpipe.reproduce.fleet.published import Claim, Study
    from fullpipe.reproduce.fleet.study import Judged, Outcome

_WIDTH = 80


def show(study: Study, outcome: Outcome, console: Console) -> None:
    """Prints what each claim says and came to, what can't be said, and which assumptions turn which claim."""
    console.print(study.title, style="bold", markup=False)
    paths = len(next(iter(outcome.arms.values()))["loss"])
    console.print(
        f"{paths:,} paths; ours [95 % confidence], what is close enough, verdict", markup=False
    )
    before = ""
    for each in outcome.claims:
        claim = each.claim
        if claim.case != before:
            console.print(Text(f"\n{claim.case}", style="bold"))
        before = claim.case
        for line in textwrap.wrap(f"{claim.metric}; published: {claim.published}", _WIDTH - 2):
            console.print(Text(f"  {line}"))
        row = Text(
            f"    {digits(each.ours.value):>7} {_confidence(each):<18} {_interval(claim):<12} "
        )
        console.print(row.append(each.verdict.value, style=STYLES[each.verdict]))
        note = (
            claim.report
            if claim.report is not None
            else claim.note
            if each.verdict is Verdict.MISSED
            else ""
        )
        for line in textwrap.wrap(note, _WIDTH - 4):
            console.print(Text(f"    {line}", style="dim"))
    for case, metric, why in study.silent:
        console.print(Text(f"\n{case}", style="bold"))
        for line in textwrap.wrap(f"{metric}: not for a simulation to say. {why}", _WIDTH - 2):
            console.print(Text(f"  {line}"))
    console.print()
    if outcome.assumptions:
        console.print(Text("What other assumptions turn", style="bold"))
        for name, about in [(each.name, each.about) for each in study.assumptions]:
            turned = ", ".join(_turn(one) for one in turns(outcome, name)) or "nothing"
            for number, line in enumerate(textwrap.wrap(f"{name} ({about}): {turned}", _WIDTH - 4)):
                console.print(Text(("  " if number == 0 else "    ") + line))
        console.print()
    close = sum(each.verdict is Verdict.REPORT and bool(each.inside) for each in outcome.claims)
    console.print(Text(sums(outcome.verdicts, close), style="bold"))


def turns(outcome: Outcome, assumption: str) -> list[tuple[Judged, Judged]]:
    """The claims that another assumption turns on the same paths, beyond chance: met or missed is the other."""
    both = zip(outcome.fewer, outcome.assumptions[assumption], strict=True)
    return [(one, other) for one, other in both if one.verdict != other.verdict and other.sure]


def _turn(pair: tuple[Judged, Judged]) -> str:
    one, other = pair
    ours = f"{digits(one.ours.value)} -> {digits(other.ours.value)}"
    return f"{one.claim.case} {one.claim.measure} {'/'.join(one.claim.of)} {other.verdict.value} ({ours})"


def markdown(study: Study, outcome: Outcome) -> str:
    """All claims as a table, and under each assumption as another."""
    close = sum(each.verdict is Verdict.REPORT and bool(each.inside) for each in outcome.claims)
    lines = [
        f"# {study.title}",
        "",
        f"Source: {study.source}.",
        "",
        sums(outcome.verdicts, close) + ".",
        "",
    ]
    lines += [
        "| case | metric | published | ours | close enough | verdict | because |",
        "|---|---|---|--:|--:|---|---|",
    ]
    for each in outcome.claims:
        claim = each.claim
        because = claim.report or (f"{each.reason}: {claim.note}" if each.reason else claim.why)
        ours = f"{digits(each.ours.value)} {_confidence(each)}".strip()
        cells = (
            claim.case,
            claim.metric,
            claim.published,
            ours,
            _interval(claim),
            each.verdict.value,
            because,
        )
        lines.append("| " + " | ".join(" ".join(cell.split()) for cell in cells) + " |")
    lines += ["", "What a simulation can't say:", ""]
    lines += [f"- {case}, {metric}: {' '.join(why.split())}" for case, metric, why in study.silent]
    if outcome.assumptions:
        names = list(outcome.assumptions)
        lines += [
            "",
            "Under other assumptions, all on the same paths; in bold what one turns, beyond chance:",
            "",
        ]
        lines += [f"| claim | as it is | {' | '.join(names)} |", f"|---|--:|{'--:|' * len(names)}"]
        turned = {name: {id(other) for _, other in turns(outcome, name)} for name in names}
        for number, each in enumerate(outcome.fewer):
            others = [(name, outcome.assumptions[name][number]) for name in names]
            values = [
                f"**{digits(other.ours.value)}**"
                if id(other) in turned[name]
                else digits(other.ours.value)
                for name, other in others
            ]
            what = f"{each.claim.case} {each.claim.metric}"
            lines.append(
                f"| {what} | {digits(each.ours.value)} {each.verdict.value} | {' | '.join(values)} |"
            )
    return "\n".join([*lines, ""])


def _confidence(judged: Judged) -> str:
    ours = judged.ours
    return "" if math.isnan(ours.low) else f"[{digits(ours.low)}, {digits(ours.high)}]"


def _interval(claim: Claim) -> str:
    low, high = claim.within
    if math.isinf(low) and math.isinf(high):
        return ""
    if math.isinf(low):
        return f"≤ {high:g}"
    return f"≥ {low:g}" if math.isinf(high) else f"{low:g} – {high:g}"
