"""Shows the verdicts on a fleet's claims, and their sensitivity to assumptions: terminal and Markdown."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rich.text import Text

from fullpipe.study.reproduce.show_claims import HEAD, show_verdicts
from fullpipe.study.verdicts.show import confidence, digits, interval, row, sums, wrapped

if TYPE_CHECKING:
    from rich.console import Console

    from fullpipe.study.verdicts.judged import Judged
    from fullpipe.wings.fleet.study.published import ArmClaim, FleetStudy
    from fullpipe.wings.fleet.study.study import FleetOutcome

    Turned = Judged[ArmClaim]

_WIDTH = 80


def show(study: FleetStudy, outcome: FleetOutcome, console: Console) -> None:
    """Prints the verdict on each claim, the untestable statements, and the verdicts that assumptions flip."""
    console.print(study.title, style="bold", markup=False)
    paths = len(next(iter(outcome.arms.values()))["loss"])
    console.print(
        f"{paths:,} paths; ours [95 % confidence interval], accepted range, verdict", markup=False
    )
    show_verdicts([(each.subject, [("", each)]) for each in outcome.claims], console)
    for case, metric, why in study.silent:
        console.print(Text(f"\n{case}", style="bold"))
        wrapped(f"{metric}: not testable by simulation. {why}", 2, console)
    console.print()
    if outcome.assumptions:
        console.print(Text("Verdicts that other assumptions flip", style="bold"))
        for name, about in [(each.name, each.about) for each in study.assumptions]:
            turned = ", ".join(_turn(one) for one in turns(outcome, name)) or "none"
            first, *rest = textwrap.wrap(f"{name} ({about}): {turned}", _WIDTH - 4)
            for part in (f"  {first}", *(f"    {each}" for each in rest)):
                console.print(Text(part))
        console.print()
    console.print(Text(sums(outcome.claims), style="bold"))


def turns(outcome: FleetOutcome, assumption: str) -> list[tuple[Turned, Turned]]:
    """Returns the claims whose verdict an assumption flips on the same paths, by more than chance."""
    both = zip(outcome.fewer, outcome.assumptions[assumption], strict=True)
    return [(one, other) for one, other in both if one.verdict != other.verdict and other.sure]


def _turn(pair: tuple[Turned, Turned]) -> str:
    one, other = pair
    ours = f"{digits(one.ours.value)} -> {digits(other.ours.value)}"
    return f"{one.subject.case} {one.subject.measure} {'/'.join(one.subject.of)} {other.verdict.value} ({ours})"


def markdown(study: FleetStudy, outcome: FleetOutcome) -> str:
    """Returns tables of all claims, and of all claims under each assumption."""
    lines = [
        f"# {study.title}",
        "",
        f"Source: {study.source}.",
        "",
        sums(outcome.claims) + ".",
        "",
    ]
    lines += HEAD
    for each in outcome.claims:
        claim = each.subject
        because = claim.report or (f"{each.reason}: {claim.note}" if each.reason else claim.why)
        ours = f"{digits(each.ours.value)} {confidence(each.ours)}".strip()
        cells = (
            claim.case,
            claim.metric,
            f"{claim.published}",
            ours,
            interval(claim.within),
            each.verdict.value,
            because,
        )
        lines.append(row(" ".join(cell.split()) for cell in cells))
    lines += ["", "Not testable by simulation:", ""]
    lines += [f"- {case}, {metric}: {' '.join(why.split())}" for case, metric, why in study.silent]
    if outcome.assumptions:
        names = list(outcome.assumptions)
        lines += [
            "",
            "Under other assumptions, on the same paths. Bold: the assumption flips the verdict, by more than chance:",
            "",
        ]
        lines += [
            f"| claim | base population | {' | '.join(names)} |",
            f"|---|--:|{'--:|' * len(names)}",
        ]
        turned = {name: {id(other) for _, other in turns(outcome, name)} for name in names}
        for number, each in enumerate(outcome.fewer):
            others = [(name, outcome.assumptions[name][number]) for name in names]
            values = [
                f"**{digits(other.ours.value)}**"
                if id(other) in turned[name]
                else digits(other.ours.value)
                for name, other in others
            ]
            what = f"{each.subject.case} {each.subject.metric}"
            lines.append(
                f"| {what} | {digits(each.ours.value)} {each.verdict.value} | {' | '.join(values)} |"
            )
    return "\n".join([*lines, ""])
