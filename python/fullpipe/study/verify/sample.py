"""Chooses runs to repeat: always the same ones, from as many points as possible."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


def chosen(groups: Sequence[Sequence[T]], count: int | None) -> list[list[T]]:
    """Returns the chosen runs of each group, in their order.

    >>> [len(runs) for runs in chosen([range(30)] * 4, 6)]
    [2, 1, 2, 1]

    Args:
        groups: The runs of each point.
        count: The number of runs to choose; None for all.
    """
    total = sum(map(len, groups))
    if count is None or count >= total:
        return [list(group) for group in groups]
    found: list[list[int]] = [[] for _ in groups]
    orders = [_shuffled(len(group), number) for number, group in enumerate(groups)]
    for turn in range(max(map(len, groups))):
        there = [number for number, order in enumerate(orders) if turn < len(order)]
        left = count - sum(map(len, found))
        # If not all points get another run, those that do are as far apart as can be.
        for number in there if left >= len(there) else _spread(there, left):
            found[number].append(orders[number][turn])
        if left <= len(there):
            break
    return [
        [group[place] for place in sorted(places)]
        for group, places in zip(groups, found, strict=True)
    ]


def _spread(items: Sequence[int], count: int) -> list[int]:
    return [items[at * len(items) // count] for at in range(count)]


def _shuffled(size: int, number: int) -> list[int]:
    def key(place: int) -> bytes:
        return hashlib.sha256(f"{number} {place}".encode()).digest()

    return sorted(range(size), key=key)
