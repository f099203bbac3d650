"""Proposes points of a space, and learns from their scores: at random, or by an evolution strategy.

A third of the scenarios is drawn at random: a face of the space, which has a few parts, and a point in it. The worst of
them are starts of CatCMAwM (Hamano et al., "CatCMA with Margin", GECCO 2025), a CMA-ES for numbers and choices
together, which optimizes the variables of that face. Each start is of another face, and the worst start goes on as
long as it improves.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from fullpipe.errors import MissingExtraError
from fullpipe.wings.search.attack.space import Point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.wings.search.attack.goals import Goal
    from fullpipe.wings.search.attack.space import Face, Space

PART = 0.004
"""The score of a further part of a scenario: of equal scenarios the one with fewer parts counts as worse."""
_PARTS = (1, 1, 2, 2, 3, 4)
"""The numbers of parts of a face; each start draws one."""
_DRAWN, _TURN, _MOST = 3, 6, 60
"""Batches at random between two turns, generations of a turn, and generations of a start in all."""
_STALE = 12
"""Generations without a better score after which a start is over."""
_SIGMA = 0.2
"""The standard deviation of a coordinate from 0 to 1 in the first generation."""
_LIKELY = 0.6
"""The probability of the first choice of a variable with choices."""
_POPULATION = 16


@dataclass(frozen=True)
class Candidate:
    """A proposed scenario: a point in a face."""

    face: Face
    point: Point


class Optimizer(Protocol):
    """Proposes batches of scenarios, one after the other."""

    def ask(self) -> list[Candidate]:
        """Returns the next batch."""

    def tell(self, scores: Sequence[float]) -> None:
        """Takes the scores of the last batch; smaller is worse for the algorithm, infinite for no value."""


class Faces:
    """Draws faces of a space that suit a goal."""

    def __init__(self, space: Space, goal: Goal, seed: int, without: Sequence[str] = ()) -> None:
        self._space, self._goal = space, goal
        self._random = random.Random(seed)
        self._parts = [
            each
            for each in space.parts
            if each.name not in (*goal.without, *without) and (each.passes or not goal.passing)
        ]

    def draw(self) -> Face:
        """Returns a face with a few parts, and one of those that the goal needs."""
        names: list[str] = []
        if self._goal.needs:
            names.append(self._random.choice(self._goal.needs))
        for _ in range(self._random.choice(_PARTS)):
            part = self._random.choice(self._parts)
            if names.count(part.name) < part.most:
                names.append(part.name)
        return self._space.face(sorted(names))

    def point(self, face: Face) -> Point:
        """Returns a point of a face, drawn uniformly."""
        return Point(
            tuple(self._random.random() for _ in range(face.numbers)),
            tuple(self._random.randrange(each) for each in face.choices),
        )

    def seed(self) -> int:
        """Returns a seed for an optimizer."""
        return self._random.randrange(2**31)


class Random:
    """The baseline: each scenario has a face and a point of its own."""

    def __init__(self, faces: Faces) -> None:
        self._faces = faces

    def ask(self) -> list[Candidate]:
        """Returns the next batch."""
        faces = [self._faces.draw() for _ in range(_POPULATION)]
        return [Candidate(each, self._faces.point(each)) for each in faces]

    def tell(self, scores: Sequence[float]) -> None:
        """Learns nothing."""


@dataclass
class _Start:
    """An optimization in one face."""

    face: Face
    strategy: Any
    best: float = math.inf
    generations: int = 0
    since: int = 0
    asked: list[Any] = field(default_factory=list)

    @property
    def over(self) -> bool:
        return self.generations >= _MOST or self.since >= _STALE


class Evolution:
    """Draws at random, and evolves the worst scenarios of different faces."""

    def __init__(self, faces: Faces) -> None:
        self._faces = faces
        self._drawn: dict[tuple[str, ...], tuple[float, Candidate]] = {}
        self._starts: list[_Start] = []
        self._begun: set[tuple[str, ...]] = set()
        self._batch: list[Candidate] = []
        self._current: _Start | None = None
        self._left = _DRAWN
        self._new = False

    def ask(self) -> list[Candidate]:
        """Returns the next batch: scenarios at random, or a generation of a start."""
        if self._left == 0 or (self._current and self._current.over):
            self._turn()
        start = self._current
        if start is None:
            faces = [self._faces.draw() for _ in range(_POPULATION)]
            self._batch = [Candidate(each, self._faces.point(each)) for each in faces]
        else:
            start.asked = [start.strategy.ask() for _ in range(_POPULATION)]
            self._batch = [Candidate(start.face, _point(each, start.face)) for each in start.asked]
        return self._batch

    def tell(self, scores: Sequence[float]) -> None:
        """Takes the scores of the batch."""
        self._left -= 1
        start = self._current
        if start is None:
            for candidate, score in zip(self._batch, scores, strict=True):
                parts = candidate.face.parts
                if score < self._drawn.get(parts, (math.inf,))[0]:
                    self._drawn[parts] = score, candidate
            return
        finite = [each for each in scores if math.isfinite(each)]
        # Ranks: the strategy uses no more of them, and its penalty at bounds needs that not all are equal.
        order = sorted(range(len(scores)), key=lambda number: scores[number])
        start.strategy.tell([(start.asked[number], float(at)) for at, number in enumerate(order)])
        start.generations += 1
        start.since += 1
        if finite and min(finite) < start.best - PART / 4:
            start.best, start.since = min(finite), 0

    def _turn(self) -> None:
        """Chooses the next batches: some at random, then a new start, or after the next ones the worst start again."""
        if self._current is not None:
            self._current, self._left = None, _DRAWN
            return
        fresh = [each for parts, each in self._drawn.items() if parts not in self._begun]
        going = [each for each in self._starts if not each.over]
        self._new = not self._new
        self._left = _TURN
        if fresh and (self._new or not going):
            score, candidate = min(fresh, key=lambda each: each[0])
            strategy = _strategy(candidate, self._faces.seed())
            self._current = _Start(candidate.face, strategy, score)
            self._starts.append(self._current)
            self._begun.add(candidate.face.parts)
        elif going:
            self._current = min(going, key=lambda each: each.best)
        else:
            self._left = _DRAWN


def _strategy(candidate: Candidate, seed: int) -> Any:  # noqa: ANN401  (the extra's class)
    """Returns a strategy that begins around a candidate."""
    import numpy as np

    catcmawm = optimizer()
    face, point = candidate.face, candidate.point
    likely = np.zeros((len(face.choices), max(face.choices, default=0)))
    for row, (count, choice) in enumerate(zip(face.choices, point.choices, strict=True)):
        likely[row, :count] = (1 - _LIKELY) / (count - 1)
        likely[row, choice] = _LIKELY
    return catcmawm(
        x_space=[[0.0, 1.0]] * face.numbers,
        c_space=face.choices or None,
        population_size=_POPULATION,
        mean=np.array(point.numbers),
        sigma=_SIGMA,
        cov=np.eye(face.numbers),
        cat_param=likely if face.choices else None,
        seed=seed,
    )


def optimizer() -> Any:  # noqa: ANN401  (the extra's class)
    """Returns the strategy's class.

    Raises:
        MissingExtraError: When its package is not installed.
    """
    try:
        from cmaes import CatCMAwM
    except ModuleNotFoundError:
        raise MissingExtraError("fullpipe attack", "cmaes", "attack") from None
    return CatCMAwM


def _point(solution: Any, face: Face) -> Point:  # noqa: ANN401
    numbers = tuple(float(each) for each in solution.x)
    if not face.choices:
        return Point(numbers)
    return Point(numbers, tuple(int(each.argmax()) for each in solution.c))
