"""Compares the numbers of a drawn scenario: a difference for each metric, its tolerance, and the part of chance."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.study.verdicts.judged import Tolerance
from fullpipe.wings.real.validate.quantities import by_algorithm, mean_of, retransmits_of, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fullpipe.wings.real.validate.drawn.draw import Drawn
    from fullpipe.wings.real.validate.drawn.runs import KeptFlow

    Repeat = Sequence[KeptFlow]

METRICS = {
    "goodput": Tolerance(relative=0.05),
    "mean RTT": Tolerance(relative=0.08),
    "p95 RTT": Tolerance(relative=0.15),
    "retransmissions": Tolerance(factor=1.5, absolute=20),
    "share": Tolerance(absolute=0.08),
    "completion time": Tolerance(relative=0.10),
    "answer time": Tolerance(relative=0.10),
}
"""The tolerances. A share's is absolute, in points."""

LEVEL = 0.05
"""Least p-value of Welch's test with which a difference may be due to chance."""


class Difference(NamedTuple):
    """A metric on both sides.

    Attributes:
        metric: Its name in `METRICS`.
        of: The algorithm or the flow that it belongs to; empty for the scenario.
        linux: Mean over the kernel's runs, in SI units.
        ours: Mean over the simulator's.
        excess: The difference divided by the tolerance: within it up to 1, signed.
        p: Probability of such a difference by chance; 0 without chance.
    """

    metric: str
    of: str
    linux: float
    ours: float
    excess: float
    p: float

    @property
    def close(self) -> bool:
        """Whether the means differ by at most the tolerance."""
        return abs(self.excess) <= 1

    @property
    def met(self) -> bool:
        """Whether the difference is within the tolerance, or may be due to chance."""
        return self.close or self.p >= LEVEL

    @property
    def relative(self) -> float:
        """Our value as a share of the kernel's, minus one; for a share the difference."""
        if self.metric == "share":
            return self.ours - self.linux
        return self.ours / self.linux - 1 if self.linux else math.inf if self.ours else 0.0


@dataclass(frozen=True)
class Compared:
    """A drawn scenario with its differences."""

    drawn: Drawn
    differences: tuple[Difference, ...]

    @property
    def met(self) -> bool:
        """Whether all metrics are met."""
        return all(each.met for each in self.differences)

    @property
    def close(self) -> bool:
        """Whether the means of all metrics are within their tolerances, without regard to chance."""
        return all(each.close for each in self.differences)

    @property
    def worst(self) -> Difference:
        """The difference that exceeds its tolerance most; one that is missed, if any is."""
        return max(self.differences, key=lambda each: (not each.met, abs(each.excess)))


def compare(drawn: Drawn, linux: Sequence[Repeat], ours: Sequence[Repeat]) -> Compared:
    """Compares the runs of a scenario."""
    return Compared(drawn, tuple(_differences(drawn, linux, ours)))


def _differences(
    drawn: Drawn, linux: Sequence[Repeat], ours: Sequence[Repeat]
) -> Iterator[Difference]:
    def of(metric: str, whose: str, value: Callable[[Repeat], float]) -> Iterator[Difference]:
        theirs, mine = (
            [number for number in map(value, repeats) if not math.isnan(number)]
            for repeats in (linux, ours)
        )
        if theirs and mine:
            yield _difference(metric, whose, theirs, mine)
        elif theirs or mine:  # a sample on one side only
            linux_mean, our_mean = (fmean(each) if each else math.nan for each in (theirs, mine))
            yield Difference(metric, whose, linux_mean, our_mean, math.inf, 0.0)

    yield from of("goodput", "", lambda flows: sum(_bytes(drawn, flows)) / drawn.duration_s)
    for whose, those in by_algorithm([flow.cc for flow in drawn.flows]):
        yield from of("mean RTT", whose, mean_of("rtt_mean_s", those))
        yield from of("p95 RTT", whose, mean_of("rtt_p95_s", those))
        yield from of("retransmissions", whose, retransmits_of(those))
    if len(drawn.flows) > 1:
        shares = [
            next(of("share", name, _share(drawn, number)))
            for number, name in enumerate(_names(drawn))
        ]
        yield max(shares, key=lambda each: (not each.met, abs(each.excess)))
    for number, name in enumerate(_names(drawn)):
        if drawn.flows[number].app == "transfer":
            yield from of("completion time", name, _completion(drawn, number))
        if drawn.flows[number].app == "requests":
            yield from of("answer time", name, mean_of("response_s", [number]))


def _difference(
    metric: str, whose: str, linux: Sequence[float], ours: Sequence[float]
) -> Difference:
    theirs, mine = fmean(linux), fmean(ours)
    low, high = METRICS[metric].interval(theirs)
    allowed = high - theirs if mine > theirs else theirs - low
    excess = 0.0 if mine == theirs else (mine - theirs) / allowed if allowed else math.inf
    return Difference(metric, whose, theirs, mine, excess, _chance(linux, ours))


def _chance(linux: Sequence[float], ours: Sequence[float]) -> float:
    """Returns the p-value of Welch's test that the means are equal; 0 if the runs of a side are all equal."""
    if len(linux) < 2 or len(ours) < 2:
        return 0.0
    if all(max(side) - min(side) <= 1e-9 * max(side) for side in (linux, ours)):
        return 0.0
    from scipy.stats import ttest_ind

    with warnings.catch_warnings():
        # One side may be nearly constant, which scipy warns of.
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(ttest_ind(linux, ours, equal_var=False).pvalue)


def _names(drawn: Drawn) -> list[str]:
    return [f"{flow.cc}-{number}" for number, flow in enumerate(drawn.flows, 1)]


def _bytes(drawn: Drawn, flows: Repeat) -> list[float]:
    """Returns the bits that each flow delivered. The start jitter of a seed is the same on both sides."""
    return [
        flow["goodput_bps"] * (flow["completion_s"] or max(drawn.duration_s - planned.start_s, 0.0))
        for flow, planned in zip(flows, drawn.flows, strict=True)
    ]


def _share(drawn: Drawn, number: int) -> Callable[[Repeat], float]:
    return lambda flows: share(_bytes(drawn, flows), [number])


def _completion(drawn: Drawn, number: int) -> Callable[[Repeat], float]:
    """Returns a function for the completion time of a transfer; an incomplete one has had the rest of the run."""
    rest_s = drawn.duration_s - drawn.flows[number].start_s
    return lambda flows: flows[number]["completion_s"] or rest_s
