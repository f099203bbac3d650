"""The contents of a differential test's tables, as text: shared by terminal and page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.wings.real.validate.drawn.judge import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fullpipe.wings.real.validate.drawn.acks import AckComparison
    from fullpipe.wings.real.validate.drawn.command import Outcome
    from fullpipe.wings.real.validate.drawn.factors import Split
    from fullpipe.wings.real.validate.drawn.judge import Compared, Difference

WORST = 10
"""Number of worst scenarios to list."""

_UNITS = {
    "goodput": (1e-6, "Mbit/s"),
    "mean RTT": (1e3, "ms"),
    "p95 RTT": (1e3, "ms"),
    "share": (100.0, "%"),
    "completion time": (1.0, "s"),
    "answer time": (1e3, "ms"),
}


class MetricRow(NamedTuple):
    """The distribution of one metric's differences, as text."""

    metric: str
    tolerance: str
    compared: str
    met: str
    low: str
    median: str
    high: str


def kernel(outcome: Outcome) -> str:
    """Returns the kernel's name."""
    return f"Linux {outcome.kernel['kernel']}"


def sums(outcome: Outcome) -> str:
    """Returns the number of scenarios within tolerance in a sentence."""
    of = len(outcome.compared)
    close = sum(each.close for each in outcome.compared)
    share = f", {outcome.met / of:.0%}" if of else ""
    failed = f"; {len(outcome.failed)} failed" if outcome.failed else ""
    return (
        f"{outcome.met} of {of} scenarios within tolerance{share} "
        f"({close} by their means, {outcome.met - close} where chance explains the rest){failed}"
    )


def metrics(compared: Sequence[Compared]) -> Iterator[MetricRow]:
    """Yields a row per metric with the distribution of its differences: 5th percentile, median and 95th."""
    import numpy as np

    for metric in METRICS:
        those = [each for found in compared for each in found.differences if each.metric == metric]
        if those:
            values = [each.relative for each in those if math.isfinite(each.relative)]
            low, median, high = np.percentile(values, (5, 50, 95)) if values else (math.nan,) * 3
            met = sum(each.met for each in those) / len(those)
            ends = (_percent(low, metric), _percent(median, metric), _percent(high, metric))
            yield MetricRow(metric, tolerance(metric), str(len(those)), f"{met:.0%}", *ends)


def tolerance(metric: str) -> str:
    """Returns a tolerance in words."""
    rule = METRICS[metric]
    if rule.factor > 1:
        return f"× {rule.factor:g} or {rule.absolute:g}"
    return f"{rule.absolute * 100:g} points" if rule.absolute else f"{rule.relative:.0%}"


def worst(compared: Sequence[Compared]) -> list[Compared]:
    """Returns the scenarios that exceed a tolerance most."""
    missed = [each for each in compared if not each.met]
    return sorted(missed, key=lambda each: -abs(each.worst.excess))[:WORST]


def difference(found: Difference) -> str:
    """Returns a difference as text."""
    scale, unit = _UNITS.get(found.metric, (1.0, ""))
    whose = f" of {found.of}" if found.of else ""
    values = " instead of ".join(_digits(each * scale) for each in (found.ours, found.linux))
    unit = f" {unit}" if unit else ""
    return f"{found.metric}{whose} {values}{unit}"


def missed(found: Compared) -> str:
    """Returns the missed metrics of a scenario, the worst first."""
    those = sorted(
        (each for each in found.differences if not each.met), key=lambda each: -abs(each.excess)
    )
    return "; ".join(map(difference, those))


def split(node: Split, indent: int = 0, before: str = "all") -> Iterator[str]:
    """Yields the lines of a tree of factors."""
    yield f"{'  ' * indent}{before}: {node.missed} of {node.scenarios} missed"
    for part, how in zip(node.parts, ("", "not "), strict=False):
        yield from split(part, indent + 1, f"{how}{node.factor}")


def first(found: AckComparison) -> str:
    """Returns the first difference of windows as text."""
    if found.first is None:
        return "none"
    at = found.first
    threshold = "no threshold" if at.threshold is None else f"threshold {at.threshold}"
    return (
        f"{at.time_s:.3f} s, ACK {at.ack}, SND.UNA {at.una:.1f}: {at.ours} instead of {at.linux} "
        f"({threshold})"
    )


def _percent(value: float, metric: str) -> str:
    unit = "" if metric == "share" else " %"
    return "–" if math.isnan(value) else f"{value * 100:+.1f}{unit}"


def _digits(value: float) -> str:
    if math.isnan(value):
        return "no sample"
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:.3g}"
