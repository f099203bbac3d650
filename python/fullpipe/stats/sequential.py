"""Rules that end repetitions when an interval is narrow enough: `--until "ci(goodput) < 2%"`."""

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
"""Least number of runs that a rule judges: the fewer runs, the more often an interval is narrow by chance."""
_RULE = re.compile(r"\s*(\w+)\s*\(\s*([^()]*?)\s*\)\s*(<=?|>=?|=+)\s*(\S.*?)\s*")


class RuleError(ValueError):
    """A rule has an error; the text has the problem and the fix."""


class Rule(NamedTuple):
    """The condition for a sufficient number of runs.

    Attributes:
        text: The rule as it was written.
        metric: The column of a data set that it is about, like `goodput_bps`.
        within: The limit for half the 95 % interval of the mean, divided by the mean, like 0.02.
    """

    text: str
    metric: str
    within: float


def parse_rule(text: str) -> Rule:
    """Parses `ci(METRIC) < N%`; a metric is a column like `rtt_s.p95`, or a short name like `goodput`.

    Raises:
        RuleError: When the text is not a rule.
    """
    example = 'write it like "ci(goodput) < 2%"'
    found = _RULE.fullmatch(text)
    if not found:
        raise RuleError(f"{text!r} is not a rule\n  fix: {example}")
    function, name, relation, limit = found.groups()
    if function != "ci":
        raise RuleError(
            f"{text!r}: unknown function {function}(); use ci(), half the 95 % interval\n  fix: {example}"
        )
    if relation not in ("<", "<="):
        raise RuleError(
            f"{text!r}: must be a < relation, since more runs make the interval narrower\n  fix: {example}"
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
    """Returns whether the mean's interval is as narrow as the rule requires; never with fewer than ten runs.

    The interval is Student's. If repetitions end at the first narrow interval, the intervals cover
    the true value slightly less often than 95 %; `docs/reference/statistics.md` has the numbers.

    Args:
        values: The metric, one number per run.
        rule: The result of :func:`parse_rule`, or the text of a rule.

    Raises:
        RuleError: When the text is not a rule.
    """
    rule = parse_rule(rule) if isinstance(rule, str) else rule
    if len(values) < LEAST or not all(map(math.isfinite, values)):
        return False
    low, high = student(values)
    return (high - low) / 2 < rule.within * abs(low + high) / 2
