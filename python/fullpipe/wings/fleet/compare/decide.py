"""Compares arms pairwise: effects, their uncertainty, and verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.stats import adjusted
from fullpipe.stats.clusters import Spread, alone, difference
from fullpipe.stats.compare import LEVEL, levels
from fullpipe.stats.interval import CONFIDENCE
from fullpipe.stats.words import digits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fullpipe.wings.fleet.compare.estimate import Estimate, Estimates
    from fullpipe.wings.fleet.compare.metrics import Metric

    Values = NDArray[np.float64]

_EACH_WITH_EACH = 4
_A_THIRD_LESS = 2 / 3
_FAR = 10
"""An interval whose end is a factor beyond this is shown as factors, not as percentages."""
_MOST_TIMES = 1000
DIFFERENT = ("better", "worse", "higher", "lower")
"""Verdicts on a difference that chance does not explain, and that may be large enough."""


@dataclass(frozen=True)
class Change:
    """The effect of A relative to B.

    Attributes:
        spread: Estimate and error of log(A / B), or of A - B.
        relative: Whether `spread` is of log(A / B).
        confidence: Level of its interval, corrected for all comparisons as the p value is.
    """

    spread: Spread
    relative: bool
    confidence: float = CONFIDENCE

    def interval(self) -> tuple[float, float]:
        """Returns the ends of the interval of `spread`; it excludes 0 exactly if the corrected p is at most 0.05."""
        return self.spread.interval(self.confidence)

    def ends(self) -> tuple[float, float, float]:
        """Returns A / B or A - B, and the ends of its interval."""
        low, high = self.interval()
        if not self.relative:
            return self.spread.value, low, high
        with np.errstate(over="ignore"):
            value, low, high = np.exp([self.spread.value, low, high]).tolist()
        return value, low, high


@dataclass(frozen=True)
class Compared:
    """One metric of two arms.

    Attributes:
        metric: The metric.
        a: The arm that is judged.
        b: The arm that it is compared with.
        value_a: Value of arm A over all data, with its own spread.
        value_b: Value of arm B over all data, with its own spread.
        change: The effect, without standardization.
        standard: The effect if both arms had the same mix of RTTs; None if these are unknown.
        p: The p value, corrected for all comparisons.
        verdict: `better`, `worse`, `higher`, `lower`, `slight`, `same`, `undecided` or `unknown`.
        standard_verdict: The verdict on `standard`, corrected for all comparisons; None without it.
        settled: The verdict on which the decision rests: `standard_verdict` or `verdict`; `unjudged` if the users
            differ, and there is no standardized effect.
        settling: The effect that `settled` is about.
        data: Factor by which the data would have to grow to detect the smallest effect of interest; 1
            if they suffice.
        alone: A host without which the verdict changes, and the effect without it; None if there is
            no such host.
    """

    metric: Metric
    a: str
    b: str
    value_a: Spread
    value_b: Spread
    change: Change
    standard: Change | None
    p: float
    verdict: str
    standard_verdict: str | None
    settled: str
    settling: Change
    data: float
    alone: tuple[str, float] | None

    @property
    def changed(self) -> bool:
        """Whether one of the two effects is a difference, and the other one is not or has the other sign."""
        differ = _direction(self.verdict) != _direction(self.standard_verdict)
        return self.standard is not None and differ

    @property
    def shifted(self) -> bool:
        """Whether standardizing by RTT moves the effect by more than half the wider interval."""
        if self.standard is None or not math.isfinite(self.change.spread.error):
            return False
        widths = [
            high - low for low, high in (each.interval() for each in (self.change, self.standard))
        ]
        return abs(self.standard.spread.value - self.change.spread.value) > max(widths) / 2


def compare(estimates: Estimates, found: Sequence[Estimate] | None = None) -> list[Compared]:
    """Compares arms in every metric: all pairs, or with more than four arms each with the first.

    Args:
        estimates: All estimates.
        found: The estimates to compare; None for all.
    """
    raw = [
        (each, *arms)
        for each in (estimates.all if found is None else found)
        for arms in pairs(len(estimates.plan.arms))
    ]
    raw = [each for each in raw if all(math.isfinite(each[0].values[arm, 0]) for arm in each[1:])]
    changes = [_change(each, a, b, estimates) for each, a, b in raw]
    standards = [
        _change(each, a, b, estimates, standard=True)
        if (standard := _standard(each, estimates)) is not None
        and np.isfinite(standard[[a, b], 0]).all()
        else None
        for each, a, b in raw
    ]
    tested = _tested(changes)
    beside = _tested([own or change for own, change in zip(standards, changes, strict=True)])
    return [
        _judged(
            each, a, b, tested[number], beside[number] if standards[number] else None, estimates
        )
        for number, (each, a, b) in enumerate(raw)
    ]


def _tested(changes: Sequence[Change]) -> list[tuple[Change, float]]:
    """Returns each change with its interval's level and its p value, both corrected for all of them."""
    tested = [number for number, each in enumerate(changes) if math.isfinite(each.spread.p)]
    found = adjusted([changes[number].spread.p for number in tested])
    p = dict(zip(tested, found, strict=True))
    level = dict(zip(tested, levels(found), strict=True))
    return [
        (replace(each, confidence=level.get(number, CONFIDENCE)), p.get(number, math.nan))
        for number, each in enumerate(changes)
    ]


def pairs(arms: int) -> list[tuple[int, int]]:
    """Returns the pairs (A, B) of arms to compare, those with the first arm as B first."""
    if arms > _EACH_WITH_EACH:
        return [(other, 0) for other in range(1, arms)]
    return sorted(((b, a) for a, b in combinations(range(arms), 2)), key=lambda pair: pair[1])


def _change(each: Estimate, a: int, b: int, estimates: Estimates, standard: bool = False) -> Change:
    values = each.standard if standard else each.values
    assert values is not None
    clusters = estimates.clusters[each.metric.measure.table]
    relative = each.metric.quantity.unit != "" and bool((values[[a, b], 0] > 0).all())
    one, other = values[a], values[b]
    if relative:
        with np.errstate(divide="ignore", invalid="ignore"):
            one, other = np.log(one), np.log(other)
    return Change(difference(one, other, clusters, (a, b)), relative)


def _judged(
    each: Estimate,
    a: int,
    b: int,
    tested: tuple[Change, float],
    beside: tuple[Change, float] | None,
    estimates: Estimates,
) -> Compared:
    plan, clusters = estimates.plan, estimates.clusters[each.metric.measure.table]
    change, p = tested
    effect = _asked(each, change, plan.options.effect)
    verdict = _verdict(each.metric, change, p, effect)
    standard = None
    if beside:
        asked = _asked(each, beside[0], plan.options.effect)
        standard = _verdict(each.metric, *beside, asked), beside[0]
    return Compared(
        each.metric,
        plan.arms[a],
        plan.arms[b],
        alone(each.values[a], clusters, a),
        alone(each.values[b], clusters, b),
        change,
        beside[0] if beside else None,
        p,
        verdict,
        standard[0] if standard else None,
        *_settled(each.metric, (verdict, change), standard, estimates),
        _data(change.spread, effect),
        _driven(each, a, b, change, verdict, estimates),
    )


def _settled(
    metric: Metric,
    raw: tuple[str, Change],
    standard: tuple[str, Change] | None,
    estimates: Estimates,
) -> tuple[str, Change]:
    """Chooses the verdict for the decision, and its effect."""
    mix = estimates.mix
    if estimates.plan.unit == "pair" or mix is None:
        return raw
    if standard is None:
        return ("unjudged", raw[1]) if mix.differs else raw
    agree = _direction(raw[0]) == _direction(standard[0])
    if metric.measure.table == "connections" or agree:
        return standard
    return "unjudged", raw[1]  # the queues may differ, not the users


def _standard(each: Estimate, estimates: Estimates) -> Values | None:
    """Returns the standardized estimates, if they mean something.

    A smoothed RTT, by which requests are standardized, contains the queue of the arm itself: without a difference of
    the users, it is the standardized effect that is wrong.
    """
    mix = estimates.mix
    differs = mix is not None and mix.differs and estimates.plan.unit != "pair"
    return each.standard if each.metric.measure.table == "connections" or differs else None


def _direction(verdict: str | None) -> str | None:
    return verdict if verdict in DIFFERENT else None


def _data(spread: Spread, effect: float) -> float:
    """Returns the factor of data needed to detect the effect; not finite if it can't be estimated."""
    with np.errstate(over="ignore"):
        return float(np.maximum(np.square(np.float64(spread.detectable) / effect), 1.0))


def _asked(each: Estimate, change: Change, effect: float) -> float:
    """Returns the smallest effect of interest in the units of the change."""
    return math.log1p(effect) if change.relative else effect * (abs(each.values[:, 0]).max() or 1.0)


def _verdict(metric: Metric, change: Change, p: float, effect: float) -> str:
    low, high = change.interval()
    if not math.isfinite(low) or not math.isfinite(p):
        return "unknown"
    if p <= LEVEL:
        if max(abs(low), abs(high)) < effect:
            return "slight"
        up = change.spread.value > 0
        if metric.quantity.better == 0:
            return "higher" if up else "lower"
        return "better" if up == (metric.quantity.better > 0) else "worse"
    return "same" if max(abs(low), abs(high)) < effect else "undecided"


def _driven(
    each: Estimate, a: int, b: int, change: Change, verdict: str, estimates: Estimates
) -> tuple[str, float] | None:
    """Finds the host without which a difference shrinks most, if it would no longer be significant.

    Without the host, the difference must be a third smaller, and smaller than half the width of
    the interval, which is assumed not to change.
    """
    if verdict not in ("better", "worse", "higher", "lower") or not each.without.size:
        return None
    low, high = change.interval()
    least = min((high - low) / 2, abs(change.spread.value) * _A_THIRD_LESS)
    worst: tuple[str, float] | None = None
    for host, value in _without(each, a, b, change.relative, estimates):
        left = value * math.copysign(1, change.spread.value)
        if left < least:
            worst, least = (host, value), left
    return worst


def _without(
    each: Estimate, a: int, b: int, relative: bool, estimates: Estimates
) -> Iterator[tuple[str, float]]:
    hosts = estimates.plan.hosts
    for number, host in enumerate(hosts if each.without.shape[1] == len(hosts) else ()):
        one, other = (
            each.without[arm, number]
            if math.isfinite(each.without[arm, number])
            else each.values[arm, 0]
            for arm in (a, b)
        )
        if not np.isfinite(each.without[[a, b], number]).any():
            continue
        if relative and one > 0 and other > 0:
            yield host, math.log(one / other)
        elif not relative:
            yield host, one - other


def effect(each: Compared, change: Change | None = None) -> str:
    """Formats an effect without its interval: "−79 %"."""
    return said(each, change).partition(" (")[0]


def said(each: Compared, change: Change | None = None) -> str:
    """Formats an effect with its interval: "−79 % (−81 to −77)" or "8.1 × (7.8 to 8.5)"."""
    if each.value_a.value == each.value_b.value == 0:
        return "zero in both"
    change = change or each.change
    value, low, high = change.ends()
    scale = each.metric.quantity.scale
    if not change.relative:
        unit = {"%": " points", "": ""}.get(
            each.metric.quantity.unit, f" {each.metric.quantity.unit}"
        )
        return f"{signed(value * scale)}{unit}{_range(low * scale, high * scale, signed)}"
    if value <= 0.5 and high < 1:
        return f"÷{_times(1 / value)}{_range(1 / high, 1 / low if low else math.nan, _part)}"
    if value >= 2 or high > _FAR or low < 1 / _FAR:
        return f"{_times(value)} ×{_range(low, high, _times)}"
    return f"{signed((value - 1) * 100)} %{_range((low - 1) * 100, (high - 1) * 100, signed)}"


def _part(factor: float) -> str:
    """Formats a decrease to a part: "÷4.1"."""
    return f"÷{_times(factor)}"


def _times(factor: float) -> str:
    """Formats a factor; a very large one only as a lower bound."""
    return digits(factor) if factor <= _MOST_TIMES else f"> {_MOST_TIMES:,}"


def _range(low: float, high: float, show: object) -> str:
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    assert callable(show)
    return f" ({show(low)} to {show(high)})"


def signed(value: float) -> str:
    """Formats a number with its sign and at most three significant digits."""
    text = digits(abs(value))
    return (
        text
        if float(text.replace(",", "") if text != "–" else 0) == 0
        else f"{'+' if value > 0 else '−'}{text}"
    )
