"""Factors of drawn scenarios, and those that the misses have in common: a table by factor, and a small tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core
from fullpipe.wings.real.validate.drawn.draw import ALGORITHMS, QUEUES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fullpipe.wings.real.validate.drawn.draw import Drawn
    from fullpipe.wings.real.validate.drawn.judge import Compared

_LEAST_LEAF = 8
_DEPTH = 3


class Row(NamedTuple):
    """The misses among the scenarios with a factor, and among those without."""

    name: str
    with_: int
    missed_with: int
    without: int
    missed_without: int

    @property
    def lift(self) -> float:
        """Difference of the two shares of misses."""
        return self.missed_with / self.with_ - self.missed_without / self.without


class Split(NamedTuple):
    """A node of the tree: its scenarios, the factor that divides them best, and the nodes with and without it."""

    scenarios: int
    missed: int
    factor: str = ""
    parts: tuple[Split, ...] = ()


def of(drawn: Drawn) -> dict[str, bool]:
    """Returns which factors a scenario has; the bounds divide the prior's ranges."""
    algorithms = {flow.cc for flow in drawn.flows}
    applications = {flow.app for flow in drawn.flows}
    return {
        "several flows": len(drawn.flows) > 1,
        "4 flows or more": len(drawn.flows) > 3,
        "mixed algorithms": len(algorithms) > 1,
        **{cc: cc in algorithms for cc in ALGORITHMS},
        **{app: app in applications for app in ("transfer", "requests")},
        "RTTs differ": len({flow.extra_s for flow in drawn.flows}) > 1,
        "stack linux-fq": drawn.paced,
        "loss": drawn.loss > 0,
        "loss ≥ 0.5 %": drawn.loss >= 0.005,
        **{queue: drawn.queue == queue for queue in ("pfifo", *QUEUES)},
        "an AQM": drawn.queue in {queue["name"] for queue in _core.queues() if queue["aqm"]},
        **{f"rate < {mbit} Mbit/s": drawn.rate < mbit * 1e6 for mbit in (5, 20, 100)},
        **{f"RTT < {ms} ms": drawn.rtt_s * 1e3 < ms for ms in (10, 40, 100)},
        **{f"buffer < {packets} packets": drawn.buffer < packets for packets in (10, 30, 100)},
        **{f"buffer < {bdps} BDP": drawn.bdps < bdps for bdps in (1, 4)},
        **{f"BDP < {packets} packets": drawn.bdp < packets for packets in (10, 50)},
        "duration < 5 s": drawn.duration_s < 5,
        "chance": drawn.seeds > 1,
    }


def table(compared: Sequence[Compared]) -> list[Row]:
    """Returns the factors that both some scenarios have and some have not, the largest difference of misses first."""
    rows = [
        Row(name, len(has), _missed(has), len(lacks), _missed(lacks))
        for name, has, lacks in _divided(compared)
        if has and lacks
    ]
    return sorted(rows, key=lambda row: -abs(row.lift))


def tree(compared: Sequence[Compared], depth: int = _DEPTH) -> Split:
    """Divides the scenarios by the factor that separates misses best (Gini impurity), again and again."""
    count, missed = len(compared), _missed(compared)
    leaf = Split(count, missed)
    best, least = None, _impurity(compared) - 1e-9
    for name, has, lacks in _divided(compared) if depth else ():
        if min(len(has), len(lacks)) < _LEAST_LEAF:
            continue
        left = (len(has) * _impurity(has) + len(lacks) * _impurity(lacks)) / count
        if left < least:
            best, least = (name, has, lacks), left
    if best is None:
        return leaf
    name, has, lacks = best
    return leaf._replace(factor=name, parts=(tree(has, depth - 1), tree(lacks, depth - 1)))


def _divided(
    compared: Sequence[Compared],
) -> Iterator[tuple[str, list[Compared], list[Compared]]]:
    """Yields each factor with the scenarios that have it, and those that have not."""
    has = [of(each.drawn) for each in compared]
    for name in has[0] if has else ():
        both = [
            [each for each, factors in zip(compared, has, strict=True) if factors[name] is value]
            for value in (True, False)
        ]
        yield name, both[0], both[1]


def _missed(compared: Sequence[Compared]) -> int:
    return sum(not each.met for each in compared)


def _impurity(compared: Sequence[Compared]) -> float:
    share = _missed(compared) / len(compared) if compared else 0.0
    return 2 * share * (1 - share)
