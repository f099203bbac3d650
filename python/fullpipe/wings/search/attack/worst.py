"""Chooses different ones of the worst scenarios: without parts that do not matter, verified with further seeds."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from fullpipe.base.toml import document
from fullpipe.results import suited_interval
from fullpipe.study.spec import SweepSpec
from fullpipe.wings.search.attack import words
from fullpipe.wings.search.attack.goals import Measurement
from fullpipe.wings.search.attack.optimize import PART, Candidate
from fullpipe.wings.search.attack.search import tables
from fullpipe.wings.search.attack.trial import Value, filled, measure, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from fullpipe.run import Run
    from fullpipe.wings.search.attack.search import Plan, Tried
    from fullpipe.wings.search.attack.trial import Tables

SEEDS = 5
_TOLERANCE = 0.1
"""The part of a goal's span by which a scenario may get better without a part that does not matter."""
_MORE = 0.3
"""The part of a goal's span by which further parts must make a scenario worse."""
_BUSY = 0.8
"""A utilization of the link below which it belongs to the condition."""
_FAIR = 0.95
"""The largest bound on Jain's index in a condition about starvation."""
LOOKED_AT = 12
"""The number of scenarios that are looked at for each that is chosen."""


@dataclass(frozen=True)
class Worst:
    """A chosen scenario.

    Attributes:
        parts: Its parts.
        tables: The scenario, with the place of the algorithm.
        values: The values of its seeds.
    """

    parts: tuple[str, ...]
    tables: Tables
    values: Sequence[Value]

    @cached_property
    def own(self) -> list[float]:
        """The values of the algorithm, ascending."""
        return sorted(each.own for each in self.values if each.own is not None)

    @property
    def median(self) -> float:
        """The median of the values of the algorithm."""
        return statistics.median_low(self.own)

    @property
    def other(self) -> float | None:
        """The median of the values of the algorithm that it is compared with."""
        others = [each.other for each in self.values if each.other is not None]
        return statistics.median_low(others) if others else None

    @property
    def score(self) -> float:
        """The median score."""
        return statistics.median(each.score for each in self.values)


def choose(
    plan: Plan,
    tried: Iterable[Tried],
    count: int,
    tick: Callable[[int], object] = lambda _done: None,
) -> list[Worst]:
    """Returns up to `count` scenarios with different parts, the worst by the median of their seeds first."""
    found: dict[tuple[str, ...], Worst] = {}
    for looked, each in enumerate(tried):
        if looked >= LOOKED_AT * count:
            break
        candidate = _pruned(plan, each)
        parts = candidate.face.parts
        if parts not in found:
            found[parts] = _verified(plan, candidate)
        tick(looked)
    chosen: list[Worst] = []
    there = [each for each in found.values() if each.own]
    for worst in sorted(there, key=lambda each: each.score + PART * len(each.parts)):
        # A scenario is no other one if more parts make it hardly worse, or fewer hardly better.
        alike = (
            each
            for each in chosen
            if _includes(each.parts, worst.parts) or _includes(worst.parts, each.parts)
        )
        if all(abs(each.score - worst.score) > _MORE for each in alike):
            chosen.append(worst)
    return chosen[:count]


def _includes(parts: Sequence[str], less: Sequence[str]) -> bool:
    """Whether a scenario has all parts of another one, as often or more often."""
    return all(parts.count(each) >= less.count(each) for each in less)


def _pruned(plan: Plan, tried: Tried) -> Candidate:
    """Removes parts one by one, while the value stays about as bad."""
    candidate = tried.candidate
    limit = tried.value.score + _TOLERANCE
    at = 0
    while at < len(candidate.face.parts):
        rest = list(candidate.face.parts)
        name = rest.pop(at)
        if name in plan.goal.needs and not set(rest) & set(plan.goal.needs):
            at += 1
            continue
        less = Candidate(*candidate.face.without(at, candidate.point))
        [value], _ = measure(plan.tested, plan.goal, [tables(less, plan.goal)], plan.engine)
        if value.score <= limit:
            candidate = less
        else:
            at += 1
    return candidate


def _verified(plan: Plan, candidate: Candidate) -> Worst:
    """Runs a scenario with several seeds, and with jitter where nothing else is random."""
    made = tables(candidate, plan.goal)
    for key, value in _jitter(plan, made):
        made[key] = value
    seeds = [{"seed": seed, **made} for seed in range(1, SEEDS + 1)]
    values, _ = measure(plan.tested, plan.goal, seeds, plan.engine)
    return Worst(candidate.face.parts, made, values)


def _jitter(plan: Plan, made: Tables) -> list[tuple[str, str]]:
    text = document(filled(made, plan.tested.cc, plan.tested.params))
    spec = SweepSpec(text, "<attack>", repeat=SEEDS, seed=1, points=[[]])
    return [(key, value) for key, value, _ in spec.plan.added_jitter]


def record(plan: Plan, worst: Worst, directory: Path) -> None:
    """Runs the seed with the median value over time, and saves it.

    Raises:
        OSError: When it can't be written.
    """
    seed = next(number for number, each in enumerate(worst.values, 1) if each.own == worst.median)
    first = _run(plan, worst, seed)
    _run(plan, worst, seed, suited_interval(first.scenario)).save(directory)


def _run(plan: Plan, worst: Worst, seed: int, trace: str = "off") -> Run:
    own = filled({"seed": seed, **worst.tables}, plan.tested.cc, plan.tested.params)
    return run(own, plan.tested.classes, trace)


def conditions(plan: Plan, worst: Worst) -> list[str]:
    """Returns conditions for `shrink` that every seed meets with some room; empty if the goal has none.

    Of equal flows another one has the least with another seed, so no condition is about that one alone.
    """
    runs = [
        Measurement(_run(plan, worst, seed), worst.tables)
        for seed in range(1, len(worst.values) + 1)
    ]
    own = [each["name"] for each in runs[0].flows("own")]
    match plan.goal.name:
        case "utilization":
            rate = runs[0].run.scenario.rate_bps
            link = max(each.run.link_metrics[0]["utilization"] or 0.0 for each in runs)
            whole = [f"utilization < {_above(link)}%"] if link < _BUSY else []
            if len(own) > 1 and whole:
                return whole
            most = max(flow["goodput_bps"] for each in runs for flow in each.flows("own"))
            return [*(f"{name}.goodput < {_above(most / rate)}%" for name in own), *whole]
        case "delay":
            return _delay(runs, "own")
        case "others-delay":
            return _delay(runs, "others")
        case "starvation":
            jain = max(each.run.metrics["jain"] or 0.0 for each in runs)
            return [f"jain < {min(1.2 * jain, _FAIR):.2g}"] if jain < _FAIR else []
        case "retransmissions":
            least = min(each.flows("own")[0]["loss_fraction"] for each in runs)
            return [f"{own[0]}.loss > {80 * least:.2g}%"] if least > 0 else []
    return []


def _delay(runs: Sequence[Measurement], role: Literal["own", "others"]) -> list[str]:
    first = [each.flows(role)[0] for each in runs]
    delays = [each["queue_delay_s"]["p50"] for each in first]
    least = min(0.0 if each is None else each for each in delays) / runs[0].run.scenario.rtt_s
    return [f"{first[0]['name']}.queue_delay.p50 > {0.8 * least:.2g}rtt"] if least > 0 else []


def _above(share: float) -> str:
    return words.quantity(words.rounded(max(125 * share, 0.5)), "")
