"""Verdicts: the values of a criterion against its bound, cell by cell, with intervals over seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from fullpipe.stats import student
from fullpipe.stats.interval import CONFIDENCE
from fullpipe.study.verdicts.estimate import Estimate
from fullpipe.study.verdicts.judged import Judged, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fullpipe.stats.steady import Steadiness
    from fullpipe.study.evaluation.measure import Measured
    from fullpipe.study.evaluation.suite import Criterion
    from fullpipe.study.question import BySeed, Contender, Number

WORDS = {
    Verdict.MET: "met",
    Verdict.MISSED: "not met",
    Verdict.REPORT: "to be argued",
    Verdict.SKIPPED: "not evaluated",
}
"""The verdicts in the words of an evaluation."""
_LEAST_SHARE = 0.5
"""Share of runs without a value from which a cell misses a bound, as a flow that never completes."""


@dataclass(frozen=True)
class CellResult:
    """A cell with its values.

    Attributes:
        number: Its number.
        words: The values of its axes.
        ours: The tested algorithm's number, in the unit of tables.
        bound: The limit at this cell, in the unit of tables; NaN without one.
        verdict: The verdict on this cell.
        others: The numbers of the other contenders.
        also: The tested algorithm's other numbers.
        missing: The seeds without a value.
        beyond: The distance from the bound, positive beyond it; without a bound the value, worse ones greater.
        seed: The seed whose value is nearest to the mean of the cell.
    """

    number: int
    words: Mapping[str, str]
    ours: Estimate
    bound: float
    verdict: Verdict
    others: Mapping[str, Estimate] = field(default_factory=dict)
    also: Mapping[Number, Estimate] = field(default_factory=dict)
    missing: tuple[int, ...] = ()
    beyond: float = math.nan
    seed: int = 1

    @property
    def label(self) -> str:
        """The values of its axes in words."""
        return ", ".join(f"{axis} {value}" for axis, value in self.words.items())


@dataclass(frozen=True)
class Outcome:
    """The verdict on a criterion.

    Attributes:
        criterion: The criterion.
        judged: The number of the worst cell with its verdict.
        cells: All cells, in order.
        worst: The worst cell; None if nothing was run.
        measured: The values.
    """

    criterion: Criterion
    judged: Judged[Criterion]
    cells: Sequence[CellResult] = ()
    worst: CellResult | None = None
    measured: Measured | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return self.judged.verdict

    @property
    def steadiness(self) -> dict[str, Steadiness]:
        """Whether the judged number of each cell is steady within the measured window, by the cell in words."""
        found = self.measured.steadiness if self.measured else {}
        return {cell.label: found[cell.number] for cell in self.cells if cell.number in found}

    @property
    def missed(self) -> bool:
        """Whether it is not met."""
        return self.verdict is Verdict.MISSED

    @property
    def unevaluated(self) -> bool:
        """Whether it was not evaluated, though the suite has scenarios for it."""
        return self.verdict is Verdict.SKIPPED and not self.criterion.skipped


def judge(criterion: Criterion, tested: Contender, measured: Measured | None) -> Outcome:
    """Judges a criterion; without values it is not evaluated."""
    reason = criterion.skipped or (measured.refused if measured else "")
    if reason or measured is None:
        return Outcome(criterion, _none(criterion, reason or "no run"))
    if not measured.values:
        return Outcome(criterion, _none(criterion, "no run has a value of the metric"))
    cells = [
        _cell(criterion, tested, measured, number, words)
        for number, words in enumerate(criterion.cells)
    ]
    worst = max(cells, key=lambda each: (_RANK[each.verdict], _finite(each.beyond)))
    verdict, why = _together(criterion, cells)
    most = criterion.bound is not None and criterion.bound.most
    within = (-math.inf, worst.bound) if most else (worst.bound, math.inf)
    if criterion.bound is None:
        within = (-math.inf, math.inf)
    judged = Judged(
        criterion,
        worst.label,
        criterion.judged.metric,
        bound_words(criterion),
        worst.ours,
        within,
        verdict,
        reason=why,
        runs=len(measured.expected),
        failed=worst.missing,
    )
    return Outcome(criterion, judged, cells, worst, measured)


def bound_words(criterion: Criterion) -> str:
    """Returns the bound in words; empty without one."""
    bound, unit = criterion.bound, criterion.judged.quantity.unit if criterion.bound else ""
    if bound is None:
        return ""
    sign = "≤" if bound.most else "≥"
    if not bound.than:
        return f"{sign} {bound.value:g} {unit}".rstrip()
    factor = "" if bound.value == 1 else f"{bound.value:g} × "
    if len(bound.than) == 1:
        return f"{sign} {factor}{bound.than[0]}"
    which = "greatest" if bound.most else "least"
    return f"{sign} {factor}the {which} of {', '.join(bound.than)}"


_RANK = {Verdict.MISSED: 2, Verdict.REPORT: 1, Verdict.MET: 0, Verdict.SKIPPED: -1}


def _together(criterion: Criterion, cells: Sequence[CellResult]) -> tuple[Verdict, str]:
    """Returns the verdict of all cells, with the reason."""
    if criterion.bound is None:
        return Verdict.REPORT, criterion.why
    missed = [each for each in cells if each.verdict is Verdict.MISSED]
    if missed:
        return Verdict.MISSED, f"{len(missed)} of {len(cells)} cells are beyond the bound"
    unsure = [each for each in cells if each.verdict is Verdict.REPORT]
    if unsure:
        return (
            Verdict.REPORT,
            f"the interval of {len(unsure)} of {len(cells)} cells includes the bound",
        )
    return Verdict.MET, ""


def _cell(
    criterion: Criterion,
    tested: Contender,
    measured: Measured,
    number: int,
    words: Mapping[str, str],
) -> CellResult:
    scale = criterion.judged.quantity.scale
    by_label = {
        label: {seed: value * scale for seed, value in by_seed.items()}
        for (cell, label), by_seed in measured.values.items()
        if cell == number
    }
    ours = by_label.get(tested.label, {})
    missing = tuple(seed for seed in measured.expected if seed not in ours)
    bound, beyond, verdict = _against_bound(criterion, ours, by_label, len(missing))
    estimate = _estimate(ours)
    typical = (
        min(ours, key=lambda seed: abs(ours[seed] - estimate.value))
        if ours
        else measured.expected[0]
    )
    if missing and verdict is Verdict.MISSED:
        typical = missing[0]
    return CellResult(
        number,
        words,
        estimate,
        bound,
        verdict,
        {label: _estimate(by_seed) for label, by_seed in by_label.items() if label != tested.label},
        {
            each: _estimate(
                {
                    seed: value * each.quantity.scale
                    for seed, value in of.get((number, tested.label), {}).items()
                }
            )
            for each, of in measured.also.items()
        },
        missing,
        beyond,
        typical,
    )


def _against_bound(
    criterion: Criterion, ours: BySeed, by_label: Mapping[str, BySeed], missing: int
) -> tuple[float, float, Verdict]:
    """Returns the limit of a cell, the distance beyond it, and the cell's verdict.

    The interval is corrected for the number of cells (Bonferroni), so that all cells together hold with the confidence
    of the report.
    """
    quantity, bound = criterion.judged.quantity, criterion.bound
    mean = fmean(ours.values()) if ours else math.nan
    if bound is None:
        less = criterion.worse == "less" if criterion.worse else quantity.better > 0
        return math.nan, -mean if less else mean, Verdict.REPORT
    if missing > _LEAST_SHARE * (missing + len(ours)):
        return _limit(criterion, by_label, None), math.inf, Verdict.MISSED
    sign = 1 if bound.most else -1
    limits = {seed: _limit(criterion, by_label, seed) for seed in ours}
    distances = [sign * (value - limits[seed]) for seed, value in ours.items()]
    distances = [each for each in distances if math.isfinite(each)]
    if not distances:
        return math.nan, math.nan, Verdict.REPORT
    limit, distance = fmean(limits.values()), fmean(distances)
    confidence = 1 - (1 - CONFIDENCE) / len(criterion.cells)
    low, high = student(distances, confidence)
    if len(distances) < 3:
        low, high = -math.inf, math.inf
    verdict = (
        Verdict.MISSED if low > 0 else Verdict.MET if high <= 0 and not missing else Verdict.REPORT
    )
    return limit, distance, verdict


def _limit(criterion: Criterion, by_label: Mapping[str, BySeed], seed: int | None) -> float:
    """Returns the limit of a run, in the unit of tables; of the means without a seed."""
    bound = criterion.bound
    assert bound is not None
    if not bound.than:
        return bound.value
    values = []
    for name in bound.than:
        by_seed = by_label.get(name, {})
        if seed is None:
            values += [fmean(by_seed.values())] if by_seed else []
        elif seed in by_seed:
            values.append(by_seed[seed])
    if not values:
        return math.nan
    return bound.value * (max(values) if bound.most else min(values))


def _estimate(by_seed: BySeed) -> Estimate:
    values = list(by_seed.values())
    if not values:
        return Estimate(math.nan)
    low, high = student(values) if len(values) > 2 else (math.nan, math.nan)
    return Estimate(fmean(values), min(values), max(values), low, high)


def _finite(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def _none(criterion: Criterion, reason: str) -> Judged[Criterion]:
    return Judged(
        criterion,
        "",
        criterion.judged.metric if criterion.numbers else "",
        bound_words(criterion) if criterion.numbers else "",
        Estimate(math.nan),
        (-math.inf, math.inf),
        Verdict.SKIPPED,
        reason=reason,
    )
