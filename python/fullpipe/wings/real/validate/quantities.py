"""Numbers of a run's flows, and quantities of them that are compared with the kernel's."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class FlowNumbers(TypedDict):
    """Numbers of a flow in a run that every comparison has, in SI units; None if there was no sample."""

    goodput_bps: float
    rtt_mean_s: float | None
    retransmits: int


Repeat: TypeAlias = "Sequence[FlowNumbers]"
"""The numbers of a run, in the order of its flows."""


def by_algorithm(algorithms: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """Returns each algorithm, empty if it is the only one, with the indices of its flows."""
    distinct = list(dict.fromkeys(algorithms))
    for algorithm in distinct:
        those = [number for number, each in enumerate(algorithms) if each == algorithm]
        yield algorithm if len(distinct) > 1 else "", those


def mean_of(key: str, those: Sequence[int], scale: float = 1) -> Callable[[Repeat], float]:
    """Returns a function for the mean over some flows times `scale`; NaN if a flow has no sample."""

    def mean(flows: Repeat) -> float:
        values = [flows[number][key] for number in those]  # type: ignore[literal-required]
        return math.nan if None in values else fmean(values) * scale

    return mean


def retransmits_of(those: Sequence[int]) -> Callable[[Repeat], float]:
    """Returns a function that sums the retransmissions of some flows."""
    return lambda flows: float(sum(flows[number]["retransmits"] for number in those))


def share(values: Sequence[float], those: Iterable[int]) -> float:
    """Returns the share of some values in the sum of all; 0 if that is 0."""
    whole = sum(values)
    return sum(values[number] for number in those) / whole if whole else 0.0
