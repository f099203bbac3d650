"""Proposes points of a space, and learns from their scores: at random, or by an evolution strategy.

A search has many starts. Each start draws a face of the space, which has a few parts, and optimizes the variables of
that face with CatCMAwM (Hamano et al., "CatCMA with Margin", GECCO 2025): a CMA-ES for numbers and choices together.
About half of the evaluations begin new starts, and half go to the best start that still improves.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from fullpipe.attack.space import Point
from fullpipe.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.attack.goals import Goal
    from fullpipe.attack.space import Face, Space

PART = 0.004
"""The score of a further part of a scenario: of equal scenarios the one with fewer parts counts as worse."""
_PARTS = (1, 1, 2, 2, 3, 4)
"""The numbers of parts of a face; each start draws one."""
_FIRST, _MORE, _MOST = 4, 6, 60
"""Generations of a new start, of each continuation, and of a start in all."""
_STALE = 15
"""Generations without a better score after which a start is over."""
_SIGMA = 1.0
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
    """Many starts of an evolution strategy, each in a face of its own."""

    def __init__(self, faces: Faces) -> None:
        self._faces = faces
        self._starts: list[_Start] = []
        self._current: _Start | None = None
        self._left = 0
        self._new = False

    def ask(self) -> list[Candidate]:
        """Returns the next generation of the present start."""
        if self._current is None or not self._left or self._current.over:
            self._next()
        start = self._current
        assert start is not None
        start.asked = [start.strategy.ask() for _ in range(start.strategy.population_size)]
        return [Candidate(start.face, _point(each, start.face)) for each in start.asked]

    def tell(self, scores: Sequence[float]) -> None:
        """Takes the scores of the generation."""
        start = self._current
        assert start is not None
        finite = [each for each in scores if math.isfinite(each)]
        # Ranks: the strategy uses no more of them, and its penalty at bounds needs that not all are equal.
        order = sorted(range(len(scores)), key=lambda number: scores[number])
        start.strategy.tell([(start.asked[number], float(at)) for at, number in enumerate(order)])
        start.generations += 1
        start.since += 1
        self._left -= 1
        if finite and min(finite) < start.best - PART / 4:
            start.best, start.since = min(finite), 0

    def _next(self) -> None:
        """Chooses the start of the next generations: a new one and the best of the others in turns."""
        self._new = not self._new
        going = [each for each in self._starts if not each.over]
        if self._new or not going:
            face = self._faces.draw()
            self._current = _Start(face, _strategy(face, self._faces.seed()))
            self._starts.append(self._current)
            self._left = _FIRST
        else:
            self._current = min(going, key=lambda each: each.best)
            self._left = _MORE


def _strategy(face: Face, seed: int) -> Any:  # noqa: ANN401  (the extra's class)
    try:
        from cmaes import CatCMAwM
    except ModuleNotFoundError:
        raise MissingExtraError("fullpipe attack", "cmaes", "attack") from None
    return CatCMAwM(
        x_space=[[0.0, 1.0]] * face.numbers,
        c_space=face.choices or None,
        population_size=_POPULATION,
        sigma=_SIGMA,
        seed=seed,
    )


def _point(solution: Any, face: Face) -> Point:  # noqa: ANN401
    numbers = tuple(float(each) for each in solution.x)
    if not face.choices:
        return Point(numbers)
    return Point(numbers, tuple(int(each.argmax()) for each in solution.c))
