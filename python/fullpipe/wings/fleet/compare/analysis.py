"""The whole comparison, and its findings, which a report shows first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fullpipe.report.model import Finding
from fullpipe.stats.words import digits
from fullpipe.wings.fleet.compare.checks import ENOUGH_DATA, checks
from fullpipe.wings.fleet.compare.count import count
from fullpipe.wings.fleet.compare.decide import DIFFERENT, compare, effect, pairs
from fullpipe.wings.fleet.compare.estimate import Estimates
from fullpipe.wings.fleet.compare.extras import census
from fullpipe.wings.fleet.compare.plan import draw_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from fullpipe.stats.clusters import Spread
    from fullpipe.wings.fleet.compare.checks import Check
    from fullpipe.wings.fleet.compare.decide import Change, Compared
    from fullpipe.wings.fleet.compare.options import CompareOptions
    from fullpipe.wings.fleet.compare.plan import Plan

_HEADLINES = {"better": 1, "worse": -1, "higher": 0, "lower": 0}


@dataclass(frozen=True)
class Analysis:
    """All results of a comparison."""

    estimates: Estimates

    @property
    def plan(self) -> Plan:
        """Arms, clusters and strata of the comparison."""
        return self.estimates.plan

    @cached_property
    def compared(self) -> list[Compared]:
        """Each metric of each pair of arms."""
        return compare(self.estimates)

    def by(self, name: str) -> list[tuple[str, Compared]]:
        """Returns the main metrics in each stratum with its label, corrected for all comparisons over all strata.

        Args:
            name: `rtt`, or the column of `--by`.
        """
        found = [
            (label, each) for label, there in self.estimates.by(name).items() for each in there
        ]
        if len({label for label, _ in found}) < 2:
            return []
        labels = [
            label
            for label, each in found
            for arms in pairs(len(self.plan.arms))
            if np.isfinite(each.values[list(arms), 0]).all()
        ]
        return list(zip(labels, compare(self.estimates, [each for _, each in found]), strict=True))

    @cached_property
    def by_rtt(self) -> list[tuple[str, Compared]]:
        """The main metrics by minimum RTT."""
        return self.by("rtt")

    @property
    def apart(self) -> list[tuple[str, Compared]]:
        """The differences at some minimum RTTs that the whole does not have."""
        whole = {(each.metric, each.a, each.b): each.settled for each in self.compared}
        return [
            (label, each)
            for label, each in self.by_rtt
            if each.verdict in DIFFERENT
            and each.verdict != whole.get((each.metric, each.a, each.b))
        ]

    @cached_property
    def checks(self) -> list[Check]:
        """Checks for flaws of the comparison."""
        return checks(self.estimates, self.compared)

    def numbers(self) -> dict[str, list[int]]:
        """Returns for each table the number of rows compared, arm by arm."""
        return {
            table: [int(each) for each in size.sum(axis=1)]
            for table, size in self.estimates.counted.size.items()
        }

    @cached_property
    def findings(self) -> list[Finding]:
        """A sentence for each pair of arms, and one for each check that found a flaw."""
        found = []
        for one, other in dict.fromkeys((each.a, each.b) for each in self.compared):
            rows = [each for each in self.compared if (each.a, each.b) == (one, other)]
            words = [_group(rows, verdict) for verdict in ("better", "worse", "lower", "higher")]
            parts = [each for each in words if each]
            slight = sum(each.settled in ("same", "slight") for each in rows)
            if slight:
                parts.append(
                    f"same within {self.plan.options.effect:.0%}: {slight} of {len(rows)} metrics"
                )
            if open_ := sum(each.settled == "undecided" for each in rows):
                parts.append(f"undecided: {open_} of {len(rows)} metrics")
            text = "; ".join(parts) or "no verdict, since there is no interval"
            found.append(Finding(f"{one} vs. {other}: {text}.", _sign(rows)))
        found += [
            Finding(f"Check “{each.name}”: {each.text}.")
            for each in self.checks
            if each.fine is False
        ]
        return found

    def advice(self, arm: str) -> str:
        """Returns what to do about an arm, compared with the first one; empty without a metric in common."""
        other = self.plan.arms[0]
        all_ = [each for each in self.compared if (each.a, each.b) == (arm, other)]
        rows = [each for each in all_ if each.settled != "unjudged"]
        if not rows:
            return "not yet: the users differ, and no metric can be judged" if all_ else ""
        better, worse = _group(rows, "better"), _group(rows, "worse")
        size = f"{self.plan.options.effect:.0%}".replace("%", " %")
        undecided = [each for each in rows if each.settled in ("undecided", "unknown")]
        open_ = f"{len(undecided)} of {len(rows)} metrics are undecided" if undecided else ""
        data = [each.data for each in undecided if math.isfinite(each.data) and each.data > 1]
        if data:
            open_ += f" ({digits(max(data))} times the data would show {size} in each of them)"
        elif open_:
            open_ += " (ingest more hosts or days)"
        if left := [each.metric.quantity.words for each in all_ if each not in rows]:
            without = f"not judged, since the users differ: {', '.join(left)}"
            open_ = f"{open_}; {without}" if open_ else without
        flaws = [
            each.name for each in self.checks if each.fine is False and each.name != ENOUGH_DATA
        ]
        if better and worse:
            text = f"{arm} is {better}; {worse}"
        elif worse:
            text = f"{arm} is {worse}; nothing is better"
        elif better:
            text = f"{arm} is {better}; nothing is worse"
        else:
            text = f"no difference of {size} or more" if len(undecided) < len(rows) else ""
        if flaws or len(undecided) > len(rows) / 2:
            failed = f"the checks {', '.join(flaws)} warn" if len(flaws) > 1 else ""
            failed = failed or (f"the check {flaws[0]} warns" if flaws else "")
            so_far = f". So far {text}" if text else ""
            return f"not yet: {' and '.join(filter(None, (failed, open_)))}{so_far}"
        if better and not worse:
            text = f"use {arm}, which is {better}; nothing is worse"
        else:
            what = "weigh them" if better else f"keep {other}" if worse else "either"
            text = f"{what}: {text}"
        return f"{text}; {open_}" if open_ else text

    @cached_property
    def note(self) -> str:
        """The statistical method behind the verdicts."""
        tested = sum(math.isfinite(each.p) for each in self.compared)
        return (
            f"{tested} comparisons; a difference is significant if p ≤ 0.05 after Benjamini–Hochberg correction "
            "over all of them, and exactly then its interval, corrected as well (Benjamini–Yekutieli), excludes "
            f"“no difference”. Both use Student's t, with standard errors from 400 resamples of whole {self.unit}. "
            f"{self._judged}"
        )

    @property
    def _judged(self) -> str:
        """The differences of the users that the decision takes into account."""
        if self.plan.unit == "pair":
            return (
                "The decision rests on the effects as they are, since every arm ran on every path."
            )
        if self.estimates.mix is None:
            return "Differences of the users are not judged."
        return (
            "The decision rests on effects with the same mix of RTTs; other differences of the users, and users who "
            "are missing for other reasons than their RTT, are not judged."
        )

    @property
    def unit(self) -> str:
        """The resampled unit, in the plural, for texts."""
        return {"net": "clients' networks", "client": "clients", "pair": "pairs"}.get(
            self.plan.unit, f"{self.plan.unit}s"
        )

    def record(self) -> dict[str, Any]:
        """Returns all numbers for JSON; None stands for unknown."""
        return {
            "directory": f"{self.plan.options.directory}",
            "arms": list(self.plan.arms),
            "min_bytes": self.plan.options.min_bytes,
            "clusters": {"unit": self.plan.unit, "why": self.plan.why},
            "rows": {
                table: dict(zip(self.plan.arms, each, strict=True))
                for table, each in self.numbers().items()
            },
            "asked_effect": self.plan.options.effect,
            "decision": [_record(each) for each in self.compared],
            "by_minimum_rtt": [
                {"minimum_rtt": label, **_record(each)} for label, each in self.by_rtt
            ],
            "checks": [
                {"check": each.name, "fine": each.fine, "text": each.text} for each in self.checks
            ],
            "ecn": census(self.estimates),
        }


def analyze(options: CompareOptions, advance: Callable[[int], None] = lambda _: None) -> Analysis:
    """Compares the arms of a fleet directory.

    Args:
        options: The directory, and how to compare.
        advance: Called with the number of rows counted since the previous call.

    Raises:
        ScenarioError: When fewer than two arms have data, or an option names something that does not
            exist.
        OSError: When the directory can't be read.
    """
    return Analysis(Estimates(count(draw_up(options), advance)))


def _group(rows: list[Compared], verdict: str) -> str:
    those = [each for each in rows if each.settled == verdict]
    words = (f"{each.metric.quantity.words} {effect(each, each.settling)}" for each in those)
    return f"{verdict}: {', '.join(words)}" if those else ""


def _sign(rows: list[Compared]) -> int:
    signs = {_HEADLINES.get(each.settled, 0) for each in rows} - {0}
    return signs.pop() if len(signs) == 1 else 0


def _record(each: Compared) -> dict[str, Any]:
    found: dict[str, Any] = {
        "metric": each.metric.quantity.column,
        "means": each.metric.means,
        "unit": {"%": "fraction", "Mbit/s": "bit/s", "ms": "s"}.get(
            each.metric.quantity.unit, each.metric.quantity.unit
        ),
        "a": each.a,
        "b": each.b,
        "value_a": _spread(each.value_a),
        "value_b": _spread(each.value_b),
        "effect": _change(each.change),
        "effect_standardized": None if each.standard is None else _change(each.standard),
        "p_corrected": _known(each.p),
        "verdict": each.verdict,
        "verdict_standardized": each.standard_verdict,
        "verdict_of_decision": each.settled,
        "data_needed": _known(each.data),
        "without_host": None if each.alone is None else each.alone[0],
    }
    return found


def _spread(spread: Spread) -> dict[str, float | None]:
    low, high = spread.interval()
    return {"value": _known(spread.value), "low": _known(low), "high": _known(high)}


def _change(change: Change) -> dict[str, Any]:
    value, low, high = map(_known, change.ends())
    return {
        "kind": "ratio" if change.relative else "difference",
        "value": value,
        "low": low,
        "high": high,
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
