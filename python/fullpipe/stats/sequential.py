"""Repeating until an interval is small enough: `--until "ci(goodput) < 2%"`."""

from __future__ import annotations

import math
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.stats.interval import student
from fullpipe.stats.quantity import quantity, short_names

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST = 10
"""No fewer runs are looked at: the fewer, the more often an interval is small by luck."""
_RULE = re.compile(r"\s*(\w+)\s*\(\s*([^()]*?)\s*\)\s*(<=?|>=?|=+)\s*(\S.*?)\s*")


class RuleError(ValueError):
    """A rule that can't be understood; the text says why and how to mend it."""


class Rule(NamedTuple):
    """When there are runs enough.

    Attributes:
        text: As it was written.
        metric: The column of a data set that it is about, like `goodput_bps`.
        within: Half the 95 % interval of the mean over the mean has to be less, like 0.02.
    """

    text: str
    metric: str
    within: float


def parse_rule(text: str) -> Rule:
    """Reads `ci(METRIC) < N%`; a metric is a column like `rtt_s.p95`, or short: `goodput`, `queue_delay.p95`.

    Raises:
        RuleError: When it is anything else.
    """
    example = 'write it like "ci(goodput) < 2%"'
    found = _RULE.fullmatch(text)
    if not found:
        raise RuleError(f"{text!r} is no rule\n  fix: {example}")
    function, name, relation, limit = found.groups()
    if function != "ci":
        raise RuleError(
            f"{text!r}: {function}() is not known; there is ci(), half the 95 % interval\n  fix: {example}"
        )
    if relation not in ("<", "<="):
        raise RuleError(
            f"{text!r}: an interval gets smaller with every run, so it has to be <\n  fix: {example}"
        )
    percent = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", limit)
    if not percent:
        raise RuleError(
            f"{text!r}: {limit!r} is not relative to the mean\n  fix: write a percentage, like 2%"
        )
    within = float(percent[1]) / 100
    if not 0 < within < 1:
        raise RuleError(
            f"{text!r}: {limit} is out of range\n  fix: write more than 0% and less than 100%"
        )
    short = short_names()
    metric = short.get(name, name)
    if quantity(metric) is None:
        near = get_close_matches(name, short, n=1, cutoff=0.5)
        fix = f"did you mean {near[0]}?" if near else f"name one of {', '.join(list(short)[:6])}, …"
        raise RuleError(f"{text!r}: no metric {name!r}\n  fix: {fix}")
    return Rule(text, metric, within)


def enough(values: Sequence[float], rule: Rule | str) -> bool:
    """Whether the interval of the mean is as small as the rule demands. Never with fewer than ten runs.

    Student's interval; whoever looks after each run and stops at the first yes gets intervals that cover the truth
    somewhat less often than 95 %: `docs/reference/statistics.md` says how much.

    Args:
        values: The metric, a number a run.
        rule: What :func:`parse_rule` gave, or its text.

    Raises:
        RuleError: When the text is no rule.
    """
    rule = parse_rule(rule) if isinstance(rule, str) else rule
    if len(values) < LEAST or not all(map(math.isfinite, values)):
        return False
    low, high = student(values)
    return (high - low) / 2 < rule.within * abs(low + high) / 2
