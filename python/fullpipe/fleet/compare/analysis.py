"""The whole comparison, and what is said of it first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fullpipe.fleet.compare.checks import checks
from fullpipe.fleet.compare.count import count
from fullpipe.fleet.compare.decide import compare, effect
from fullpipe.fleet.compare.estimate import Estimates
from fullpipe.fleet.compare.extras import census
from fullpipe.fleet.compare.plan import draw_up
from fullpipe.report.model import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from fullpipe.fleet.compare.checks import Check
    from fullpipe.fleet.compare.decide import Change, Compared
    from fullpipe.fleet.compare.options import CompareOptions
    from fullpipe.fleet.compare.plan import Plan
    from fullpipe.stats.clusters import Spread

_HEADLINES = {"better": 1, "worse": -1, "higher": 0, "lower": 0}


@dataclass(frozen=True)
class Analysis:
    """Everything that a comparison says."""

    estimates: Estimates

    @property
    def plan(self) -> Plan:
        """What was compared."""
        return self.estimates.plan

    @cached_property
    def compared(self) -> list[Compared]:
        """Each metric of each two arms."""
        return compare(self.estimates)

    @cached_property
    def checks(self) -> list[Check]:
        """What may be wrong."""
        return checks(self.estimates, self.compared)

    def numbers(self) -> dict[str, list[int]]:
        """Of each table, how many rows of each arm were compared."""
        return {
            table: [int(each) for each in size.sum(axis=1)]
            for table, size in self.estimates.counted.size.items()
        }

    @cached_property
    def findings(self) -> list[Finding]:
        """A sentence for each two arms, and one for each check that found something."""
        found = []
        for one, other in dict.fromkeys((each.a, each.b) for each in self.compared):
            rows = [each for each in self.compared if (each.a, each.b) == (one, other)]
            words = [_group(rows, verdict) for verdict in ("better", "worse", "lower", "higher")]
            parts = [each for each in words if each]
            slight = sum(each.verdict in ("same", "slight") for each in rows)
            if slight:
                parts.append(
                    f"{slight} of {len(rows)} metrics are the same within {self.plan.options.effect:.0%}"
                )
            if open_ := sum(each.verdict == "undecided" for each in rows):
                parts.append(f"{open_} of {len(rows)} are undecided")
            text = "; ".join(parts) or "no interval, so no verdict"
            found.append(Finding(f"{one} against {other}: {text}.", _sign(rows)))
        found += [
            Finding(f"Check “{each.name}”: {each.text}.")
            for each in self.checks
            if each.fine is False
        ]
        return found

    @cached_property
    def note(self) -> str:
        """How the verdicts were found."""
        tested = sum(math.isfinite(each.p) for each in self.compared)
        return (
            f"{tested} comparisons; significant is what has p ≤ 0.05 after Benjamini's and Hochberg's correction over "
            f"all of them. Intervals and p are Student's, with standard errors from 400 resamples of whole {self.unit}."
        )

    @property
    def unit(self) -> str:
        """What was resampled, in words."""
        return {"net": "clients' networks", "client": "clients", "pair": "pairs"}.get(
            self.plan.unit, f"{self.plan.unit}s"
        )

    def record(self) -> dict[str, Any]:
        """All numbers, for JSON; None is what is not known."""
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
            "checks": [
                {"check": each.name, "fine": each.fine, "text": each.text} for each in self.checks
            ],
            "ecn": census(self.estimates),
        }


def analyze(options: CompareOptions, advance: Callable[[int], None] = lambda _: None) -> Analysis:
    """Compares the arms of a fleet directory.

    Args:
        options: Which, and how.
        advance: Told how many rows more were counted.

    Raises:
        ScenarioError: When there is nothing to compare, or an option names what is not there.
        OSError: When it can't be read.
    """
    return Analysis(Estimates(count(draw_up(options), advance)))


def _group(rows: list[Compared], verdict: str) -> str:
    those = [each for each in rows if each.verdict == verdict]
    return (
        f"{verdict}: {', '.join(f'{each.metric.quantity.words} {effect(each)}' for each in those)}"
        if those
        else ""
    )


def _sign(rows: list[Compared]) -> int:
    signs = {_HEADLINES.get(each.verdict, 0) for each in rows} - {0}
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
