"""Evaluates the conditions of an algorithm on a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from fullpipe.study.verdicts.judged import Verdict, finite
from fullpipe.wings.traces.behavior.conditions import of_algorithm
from fullpipe.wings.traces.behavior.observed import LacksError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.wings.traces.behavior.conditions import Condition, Occasion
    from fullpipe.wings.traces.behavior.observed import Observed
    from fullpipe.wings.traces.behavior.rules import Rules

WORDS = {Verdict.MET: "met", Verdict.MISSED: "not met", Verdict.SKIPPED: "not evaluated"}
"""Verdicts on a trace in words."""


class ConditionRecord(TypedDict):
    """A condition as JSON; number, time and tolerance are those of the first difference, or the worst occasion."""

    condition: str
    rule: str
    section: str
    verdict: str
    measured: float | None
    unit: str
    tolerance: tuple[float | None, float | None]
    time_s: float | None
    occasions: int
    different: int
    difference: str
    reason: str
    because: str


@dataclass(frozen=True)
class Found:
    """A condition with its occasions on a trace.

    Attributes:
        condition: The condition.
        section: Its place in the algorithm's specification.
        occasions: The occasions, in the order of time; empty if it was not evaluated.
        reason: The reason why it was not evaluated.
    """

    condition: Condition
    section: str
    occasions: Sequence[Occasion]
    reason: str = ""

    @property
    def different(self) -> list[Occasion]:
        """The occasions at which the rule was not kept."""
        return [each for each in self.occasions if not each.kept]

    @property
    def verdict(self) -> Verdict:
        """Whether the rule was kept each time."""
        if not self.occasions:
            return Verdict.SKIPPED
        return Verdict.MISSED if self.different else Verdict.MET

    @property
    def shown(self) -> Occasion | None:
        """The first difference; without one, the occasion nearest to a bound."""
        if self.different:
            return self.different[0]
        return min(self.occasions, key=_margin, default=None)

    @property
    def difference(self) -> str:
        """The first difference in words, with its rule; empty without one."""
        if not self.different:
            return ""
        first = self.different[0]
        text = first.text or (
            f"{self.condition.what}: {digits(first.measured)}{self._unit}"
            f" instead of {bounds(first.within)}{self._unit}"
        )
        return f"{text} ({self.section})"

    @property
    def _unit(self) -> str:
        return f" {self.condition.unit}" if self.condition.unit else ""

    def record(self) -> ConditionRecord:
        """Returns the record for JSON."""
        shown = self.shown
        low, high = shown.within if shown else (float("nan"), float("nan"))
        return ConditionRecord(
            condition=self.condition.key,
            rule=self.condition.rule,
            section=self.section,
            verdict=WORDS[self.verdict],
            measured=finite(shown.measured) if shown else None,
            unit=self.condition.unit,
            tolerance=(finite(low), finite(high)),
            time_s=shown.time if shown else None,
            occasions=len(self.occasions),
            different=len(self.different),
            difference=self.difference,
            reason=self.reason,
            because=self.condition.because,
        )


def judge(trace: Observed, rules: Rules, also: Sequence[Condition] = ()) -> list[Found]:
    """Evaluates every condition of the algorithm on a trace, and others."""
    return [_found(each, trace, rules) for each in (*of_algorithm(rules.algorithm), *also)]


def first_difference(found: Sequence[Found]) -> tuple[float, Found] | None:
    """Returns the earliest difference of all conditions, with its time; None without one."""
    every = [(each.different[0].time, each) for each in found if each.different]
    return min(every, key=lambda each: each[0], default=None)


def _found(condition: Condition, trace: Observed, rules: Rules) -> Found:
    section = condition.sections[rules.algorithm]
    if lacking := condition.lacking(trace):
        return Found(condition, section, [], f"the trace has no {', no '.join(lacking)}")
    try:
        occasions = sorted(condition.measure(trace, rules), key=lambda each: each.time)
    except LacksError as error:
        return Found(condition, section, [], str(error))
    reason = "" if occasions else f"the trace has no {condition.occasions}"
    return Found(condition, section, occasions, reason)


def _margin(occasion: Occasion) -> float:
    low, high = occasion.within
    return min(occasion.measured - low, high - occasion.measured)


def digits(value: float) -> str:
    """Formats a number with three significant digits."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def bounds(within: tuple[float, float]) -> str:
    """Formats the accepted range."""
    low, high = within
    if high == float("inf"):
        return f"at least {digits(low)}"
    if low in (0.0, float("-inf")):
        return f"at most {digits(high)}"
    return f"{digits(low)} to {digits(high)}"
