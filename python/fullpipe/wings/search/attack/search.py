"""The search: batches of scenarios until the budget of CPU time is used, each kept when it is finished."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fullpipe.errors import UnrepeatableError
from fullpipe.study.engine import HERE, Engine
from fullpipe.study.execute import unrepeatable
from fullpipe.wings.search.attack.goals import LAST_S
from fullpipe.wings.search.attack.optimize import PART, Evolution, Faces, Random
from fullpipe.wings.search.attack.trial import Value, measure, suited

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fullpipe.study.checkpoint import Checkpoint
    from fullpipe.wings.search.attack.goals import Goal
    from fullpipe.wings.search.attack.optimize import Candidate
    from fullpipe.wings.search.attack.space import Space
    from fullpipe.wings.search.attack.trial import Tables, Target


@dataclass(frozen=True)
class Plan:
    """A search.

    Attributes:
        tested: The algorithm.
        goal: The goal.
        space: The space.
        budget_s: The CPU time to use, in seconds.
        seed: The seed of the proposals.
        at_random: Whether to propose at random, without learning.
        without: Parts of the space to leave out.
        engine: Where the runs execute.
    """

    tested: Target
    goal: Goal
    space: Space
    budget_s: float
    seed: int = 1
    at_random: bool = False
    without: Sequence[str] = ()
    engine: Engine = HERE


@dataclass(frozen=True)
class Tried:
    """A scenario with its value; its score includes that of its parts."""

    candidate: Candidate
    value: Value
    score: float


@dataclass
class Found:
    """The results of a search.

    Attributes:
        worst: The worst scenario of each face, by the parts.
        scenarios: The number of scenarios.
        cpu_s: The CPU time, in seconds.
        best: The worst score after each scenario that had a new one, with the CPU time.
    """

    worst: dict[tuple[str, ...], Tried] = field(default_factory=dict)
    scenarios: int = 0
    cpu_s: float = 0.0
    best: list[tuple[float, Tried]] = field(default_factory=list)

    def ranked(self) -> list[Tried]:
        """Returns the worst scenario of each face, the worst first."""
        return sorted(self.worst.values(), key=lambda each: each.score)


def search(
    plan: Plan, kept: Checkpoint | None, show: Callable[[Found], object] = lambda _found: None
) -> Found:
    """Searches until the budget is used; batches that are kept are not run again.

    Raises:
        MissingExtraError: When the package of the optimizer is not installed.
        ScenarioError: When the algorithm or one of its parameters is unknown.
        UnrepeatableError: When a user's algorithm had another value when its first scenario ran again at the end.
        OSError: When a batch can't be kept.
    """
    first: tuple[Tables, Value] | None = None
    faces = Faces(plan.space, plan.goal, plan.seed, plan.without)
    optimizer = Random(faces) if plan.at_random else Evolution(faces)
    found = Found()
    for number in itertools.count():
        if found.cpu_s >= plan.budget_s:
            break
        begun = time.process_time()
        batch = optimizer.ask()
        record = kept.get((number,)) if kept else None
        if record is None:
            scenarios = [tables(each, plan.goal) for each in batch]
            values, elsewhere_s = measure(plan.tested, plan.goal, scenarios, plan.engine)
            found.cpu_s += elsewhere_s
            there = zip(scenarios, values, strict=True)
            first = first or next((each for each in there if each[1].own is not None), None)
        else:
            values = [_value(own, other, score) for own, other, score in record["values"]]
        scores = [
            each.score + PART * len(candidate.face.parts)
            for candidate, each in zip(batch, values, strict=True)
        ]
        optimizer.tell(scores)
        if record is None:
            found.cpu_s += time.process_time() - begun
            if kept:
                kept.add(
                    (number,), {"values": [_of(each) for each in values], "cpu_s": found.cpu_s}
                )
        else:
            found.cpu_s = record["cpu_s"]
        _add(found, batch, values, scores)
        show(found)
    if first and plan.tested.is_own:
        [again], _ = measure(plan.tested, plan.goal, first[:1], Engine(plan.engine.name, 1))
        if again != first[1]:
            if kept:
                kept.discard()
            raise UnrepeatableError(unrepeatable(plan.tested.cc, "attack"))
    return found


def tables(candidate: Candidate, goal: Goal) -> Tables:
    """Returns the scenario of a candidate, suited to the goal."""
    before_s = LAST_S if goal.passing else math.inf
    return suited(goal, candidate.face.tables(candidate.point, before_s))


def _add(
    found: Found, batch: Sequence[Candidate], values: Sequence[Value], scores: Sequence[float]
) -> None:
    for candidate, value, score in zip(batch, values, scores, strict=True):
        found.scenarios += 1
        if not math.isfinite(score):
            continue
        tried = Tried(candidate, value, score)
        if not found.best or score < found.best[-1][1].score:
            found.best.append((found.cpu_s, tried))
        parts = candidate.face.parts
        if parts not in found.worst or score < found.worst[parts].score:
            found.worst[parts] = tried


def _of(value: Value) -> tuple[float | None, float | None, float | None]:
    return value.own, value.other, value.score if math.isfinite(value.score) else None


def _value(own: float | None, other: float | None, score: float | None) -> Value:
    return Value(own, other, math.inf if score is None else score)
