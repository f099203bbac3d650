"""Compares our numbers with the kernel's, cell by cell: values with intervals, and a verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.verdicts.estimate import Estimate, estimate
from fullpipe.verdicts.judged import Judged, Verdict, held

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fullpipe.validate.cells import Cell
    from fullpipe.validate.recorded import FlowNumbers
    from fullpipe.verdicts.judged import Tolerance

    Repeat = Sequence[FlowNumbers]

_MBIT = 1e6
_MS = 1e3


class Quantity(NamedTuple):
    """One number of a repetition: its name in tables, its rule in `cells.toml`, and its computation."""

    name: str
    rule: str
    of: Callable[[Repeat], float]


@dataclass(frozen=True)
class CellOutcome:
    """The result of a cell, which is met if all of its quantities are.

    `spoiled` holds the warnings of disturbed runs in real time, `runs` the number of runs, and `host`
    the facts that the first run reports about the machine.
    """

    cell: Cell
    judged: tuple[Judged[Estimate], ...]
    runs: int = 0
    spoiled: tuple[str, ...] = ()
    host: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the cell."""
        if all(each.verdict is Verdict.SKIPPED for each in self.judged):
            return Verdict.SKIPPED
        return (
            Verdict.MET
            if all(each.verdict is Verdict.MET for each in self.judged)
            else Verdict.MISSED
        )


def quantities(cell: Cell) -> list[Quantity]:
    """Returns the quantities to compare: with several flows, total goodput and a share; others by algorithm."""
    listed = [
        Quantity(
            "goodput", "goodput", lambda flows: sum(flow["goodput_bps"] for flow in flows) / _MBIT
        )
    ]
    if len(cell.algorithms) > 1:
        listed.append(
            Quantity(f"share of {cell.flows[0]}", "share", lambda flows: _share(cell, flows))
        )
    elif len(cell.flows) > 1:
        listed.append(Quantity("largest share", "share", _largest))
    for algorithm in cell.algorithms:
        those = [number for number, each in enumerate(cell.flows) if each == algorithm]
        behind = f" {algorithm}" if len(cell.algorithms) > 1 else ""
        listed += [
            Quantity(f"RTT{behind}", "rtt", _mean_of("rtt_mean_s", those)),
            Quantity(f"queue p95{behind}", "queue", _mean_of("queue_p95_s", those)),
            Quantity(f"resent{behind}", "resent", _resent(those)),
        ]
    return listed


def judge(
    cell: Cell, kernel: Sequence[Repeat], ours: Sequence[Repeat], close: Mapping[str, Tolerance]
) -> CellOutcome:
    """Compares the repetitions of a cell."""
    return CellOutcome(
        cell,
        tuple(_judged(cell, each, kernel, ours, close[each.rule]) for each in quantities(cell)),
    )


def skipped(
    cell: Cell, kernel: Sequence[Repeat], close: Mapping[str, Tolerance], reason: str
) -> CellOutcome:
    """Returns the result of a cell that was not run."""
    ours, came_to = Estimate(math.nan), (Verdict.SKIPPED, None, reason)
    judged = []
    for each in quantities(cell):
        theirs = estimate("mean", [each.of(repeat) for repeat in kernel])
        within = close[each.rule].interval(theirs.value)
        judged.append(Judged(theirs, cell.name, each.name, theirs.value, ours, within, *came_to))
    return CellOutcome(cell, tuple(judged))


def _judged(
    cell: Cell,
    quantity: Quantity,
    kernel: Sequence[Repeat],
    ours: Sequence[Repeat],
    close: Tolerance,
) -> Judged[Estimate]:
    theirs = estimate("mean", [quantity.of(repeat) for repeat in kernel])
    mine = estimate("mean", [quantity.of(repeat) for repeat in ours])
    within = close.interval(theirs.value)
    came_to = held(mine, within)
    meet = mine.low <= theirs.high and theirs.low <= mine.high
    if came_to[0] is Verdict.MISSED and cell.lossy and meet:
        came_to = (Verdict.MET, False, "the intervals overlap")
    return Judged(theirs, cell.name, quantity.name, theirs.value, mine, within, *came_to)


def _share(cell: Cell, flows: Repeat) -> float:
    """Returns the share of the first flow's algorithm in the total goodput."""
    own = sum(
        flow["goodput_bps"]
        for flow, each in zip(flows, cell.flows, strict=True)
        if each == cell.flows[0]
    )
    return own / sum(flow["goodput_bps"] for flow in flows)


def _largest(flows: Repeat) -> float:
    goodputs = [flow["goodput_bps"] for flow in flows]
    return max(goodputs) / sum(goodputs)


def _resent(those: Sequence[int]) -> Callable[[Repeat], float]:
    """Returns a function that sums retransmits over some flows."""

    def resent(flows: Repeat) -> float:
        return float(sum(flows[number]["retransmits"] for number in those))

    return resent


def _mean_of(key: str, those: Sequence[int]) -> Callable[[Repeat], float]:
    """Returns a function for the mean over some flows in ms, NaN if a flow has no sample."""

    def mean(flows: Repeat) -> float:
        values = [flows[number][key] for number in those]  # type: ignore[literal-required]
        return math.nan if None in values else fmean(values) * _MS

    return mean
