"""The result of a differential test as a page of Markdown, with every number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.study.verdicts.show import row
from fullpipe.wings.real.validate.drawn import factors, words
from fullpipe.wings.real.validate.drawn.draw import PACKETS, PRIOR, ROUND_TRIPS
from fullpipe.wings.real.validate.drawn.judge import LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullpipe.wings.real.validate.drawn.command import Outcome


def page(outcome: Outcome) -> Iterator[str]:
    """Yields the page's lines."""
    count = len(outcome.compared)
    yield "# The simulator compared with Linux on drawn scenarios"
    yield ""
    yield f"Made by `fullpipe validate --random {count} --seed {outcome.seed}`. {words.kernel(outcome)}."
    yield f"{words.sums(outcome)}."
    yield ""
    yield (
        f"A scenario is within tolerance if all of its metrics are: the means differ by at most the tolerance, or "
        f"Welch's test gives the difference a probability of at least {LEVEL:g}. "
        f"Each has at most {PACKETS * outcome.hours:,.0f} data packets over its seeds, and at least "
        f"{ROUND_TRIPS} round trips after start-up."
    )
    yield from _section("Differences")
    yield row(("metric", "tolerance", "compared", "met", "5th percentile", "median", "95th"))
    yield "|---|---|--:|--:|--:|--:|--:|"
    for each in words.metrics(outcome.compared):
        yield row(each)
    yield from _worst(outcome)
    yield from _factors(outcome)
    yield from _acks(outcome)
    yield from _section("Prior")
    for name, text in PRIOR.items():
        yield f"- {name}: {text}"
    yield from _left_out(outcome)
    yield from _every(outcome)
    yield ""


def _worst(outcome: Outcome) -> Iterator[str]:
    yield from _section("Worst scenarios")
    yield row(("scenario", "path and flows", "missed", "repeat"))
    yield "|---|---|---|---|"
    for each in words.worst(outcome.compared):
        command = f"`{outcome.command(each.drawn.name)}`"
        yield row((each.drawn.name, each.drawn.about, words.missed(each), command))


def _factors(outcome: Outcome) -> Iterator[str]:
    yield from _section("Missed scenarios by factor")
    yield row(("factor", "with it", "missed", "without it", "missed"))
    yield "|---|--:|--:|--:|--:|"
    for each in factors.table(outcome.compared):
        numbers = (each.with_, each.missed_with, each.without, each.missed_without)
        yield row((each.name, *map(str, numbers)))
    yield ""
    yield "```text"
    yield from words.split(factors.tree(outcome.compared))
    yield "```"


def _acks(outcome: Outcome) -> Iterator[str]:
    yield from _section("Windows ACK by ACK")
    yield row(
        ("scenario", "path and flow", "ACKs", "equal", "within a segment", "first difference")
    )
    yield "|---|---|--:|--:|--:|---|"
    for each in outcome.acks:
        shares = (f"{each.equal:.1%}", f"{each.near:.1%}")
        about = f"{each.drawn.about}, {each.drawn.flows[0].app}"
        yield row((each.drawn.name, about, f"{each.acks:,}", *shares, words.first(each)))


def _left_out(outcome: Outcome) -> Iterator[str]:
    if outcome.impossible:
        yield from _section("Draws with more packets than the budget")
        for draw in outcome.impossible:
            yield f"- {draw.name}: {draw.reason}"
    if outcome.failed:
        yield from _section("Failed scenarios")
        for name, error in outcome.failed:
            yield f"- {name}: {error}"


def _every(outcome: Outcome) -> Iterator[str]:
    yield from _section("All scenarios")
    yield row(("scenario", "path and flows", "verdict", "missed"))
    yield "|---|---|---|---|"
    for each in outcome.compared:
        verdict = "within" if each.met else "missed"
        yield row((each.drawn.name, each.drawn.about, verdict, words.missed(each)))


def _section(title: str) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
