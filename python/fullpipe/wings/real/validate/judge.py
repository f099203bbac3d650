"""Compares our numbers with the kernel's, cell by cell: values with intervals, and a verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.study.verdicts.estimate import Estimate, estimate
from fullpipe.study.verdicts.judged import Judged, Verdict, held
from fullpipe.wings.real.validate.quantities import by_algorithm, mean_of, retransmits_of, share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fullpipe.study.verdicts.judged import Tolerance
    from fullpipe.wings.real.validate.cells import Cell
    from fullpipe.wings.real.validate.quantities import Repeat

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
    listed = [Quantity("goodput", "goodput", lambda flows: sum(_goodputs(flows)) / _MBIT)]
    algorithms = list(by_algorithm(cell.flows))
    if len(algorithms) > 1:
        first, own = algorithms[0]
        listed.append(
            Quantity(f"share of {first}", "share", lambda flows: share(_goodputs(flows), own))
        )
    elif len(cell.flows) > 1:
        listed.append(Quantity("largest share", "share", _largest))
    for algorithm, those in algorithms:
        behind = f" {algorithm}" if algorithm else ""
        listed += [
            Quantity(f"RTT{behind}", "rtt", mean_of("rtt_mean_s", those, _MS)),
            Quantity(f"queue p95{behind}", "queue", mean_of("queue_p95_s", those, _MS)),
            Quantity(f"resent{behind}", "resent", retransmits_of(those)),
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


def _goodputs(flows: Repeat) -> list[float]:
    return [flow["goodput_bps"] for flow in flows]


def _largest(flows: Repeat) -> float:
    goodputs = _goodputs(flows)
    return max(share(goodputs, [number]) for number in range(len(goodputs)))
