"""Words for sentences about a run: numbers with two digits, shares, and lists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fullpipe.stats.words import digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.base.metrics import Distribution

MOST_NAMES = 4
"""The most names in a list."""


def percentages(shares: Sequence[float]) -> str:
    """Returns the least and the greatest of some shares: "96 to 97 %"."""
    least, most = percentage(min(shares)), percentage(max(shares))
    return most if least == most else f"{least.removesuffix(' %')} to {most}"


def typical(times: Distribution) -> str:
    """Returns median and 95th percentile of times."""
    return f"{duration(times['p50'])} at the median and {duration(times['p95'])} at the 95th percentile"


def whose(parts: Sequence[tuple[str, float]], total: float) -> str:
    """Returns the share of each: "67 % were cubic's and 33 % bbr1's"."""
    largest = sorted(parts, key=lambda part: -part[1])
    named = [part for part in largest if part[1] > 0][:MOST_NAMES]
    if len(named) == 1:
        return f"all were {owner(named[0][0])}"
    texts = [
        f"{percentage(count / total)} {'' if number else 'were '}{owner(name)}"
        for number, (name, count) in enumerate(named)
    ]
    return listed(texts)


def owner(name: str) -> str:
    """Returns a name in the genitive: "cubic's"."""
    return f"of {name}" if " × " in name else f"{name}'s"


def uneven(parts: Sequence[tuple[str, float]], total: float) -> float:
    """Returns the logarithm (base 2) of the largest part, relative to equal parts."""
    return math.log2(max(max(size for _, size in parts) / total * len(parts), 1.0))


def percentage(share: float) -> str:
    """Returns a share in per cent, with two digits, at most 99.9 unless it is all."""
    value = share * 100
    if 99 <= value < 100:
        return f"{math.floor(value * 10) / 10:g} %"
    return f"{digits(float(f'{value:.2g}'))} %"


def duration(seconds: float | None) -> str:
    """Returns a time in milliseconds, from ten seconds on in seconds."""
    if seconds is None:
        return "–"
    return f"{digits(seconds)} s" if seconds >= 10 else f"{digits(seconds * 1e3)} ms"


def multiple(ratio: float) -> str:
    """Returns a ratio: "6.6 times", or "87 % of"."""
    return f"{digits(ratio)} times" if ratio >= 1 else f"{percentage(ratio)} of"


def listed(parts: Sequence[str]) -> str:
    """Returns parts with commas and "and"."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def shortened(clauses: Sequence[str]) -> list[str]:
    """Returns the first clauses, and the number of the others."""
    if len(clauses) <= MOST_NAMES:
        return list(clauses)
    return [*clauses[:MOST_NAMES], f"{len(clauses) - MOST_NAMES} more"]


def capitalized(text: str) -> str:
    """Returns a text with a capital first letter."""
    return text[:1].upper() + text[1:]
