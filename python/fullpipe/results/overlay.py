"""Factors that vary in results, and the points that a page lays over each other."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fullpipe.results.model import Axis, Point

Factor = tuple[str, ...]
"""Keys that vary together: a value of one goes with one value of each other."""


def factors(axes: Sequence[Axis], points: Mapping[int, Point]) -> tuple[list[Factor], list[Factor]]:
    """Returns the factors whose values are compared (words, algorithms), and those that are numbers."""
    bundles: list[list[Axis]] = []
    for axis in axes:
        if len({point.settings.get(axis.key) for point in points.values()}) < 2:
            continue
        step = next((each for each in bundles if _in_step(each[0].key, axis.key, points)), None)
        if step is None:
            bundles.append([axis])
        else:
            step.append(axis)
    compared = [each for each in bundles if not all(axis.is_number for axis in each)]
    numbers = [each for each in bundles if all(axis.is_number for axis in each)]
    return _keys(compared), _keys(numbers)


def _in_step(one: str, other: str, points: Mapping[int, Point]) -> bool:
    pairs = {(each.settings.get(one), each.settings.get(other)) for each in points.values()}
    return len(pairs) == len({first for first, _ in pairs}) == len({last for _, last in pairs})


def _keys(bundles: Sequence[Sequence[Axis]]) -> list[Factor]:
    return [tuple(axis.key for axis in each) for each in bundles]


def overlays(axes: Sequence[Axis], points: Mapping[int, Point]) -> list[list[int]]:
    """Returns groups of points that differ only in the first compared factor, or else only in the runner."""
    compared, _ = factors(axes, points)
    several = any(point.runner for point in points.values())
    if several:
        return _alike(points, lambda point: tuple(point.place))
    if not compared:
        return []
    first = compared[0]
    return _alike(
        points,
        lambda point: tuple(item for item in point.settings.items() if item[0] not in first),
    )


def _alike(points: Mapping[int, Point], of: Callable[[Point], object]) -> list[list[int]]:
    found: dict[object, list[int]] = defaultdict(list)
    for number, point in points.items():
        found[of(point)].append(number)
    return [each for each in found.values() if len(each) > 1]
