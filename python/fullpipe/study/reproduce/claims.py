"""`[[claim]]`: statements of a source about groups of runs, and the conditions under which our results agree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullpipe.study.reproduce.groups import points_of
from fullpipe.study.reproduce.measures import MEASURES, OF_WORKLOADS, TRACED, bounds
from fullpipe.study.reproduce.statement import KEYS, Statement, read_statement
from fullpipe.study.verdicts.estimate import COMPARE, OVER_RUNS, Estimate, estimate, rise
from fullpipe.study.verdicts.judged import Judged, Verdict, held

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.study.reproduce.groups import Group, Point
    from fullpipe.study.reproduce.runner import Sample
    from fullpipe.study.verdicts.judged import CameTo
    from fullpipe.study.verdicts.reader import Reader, Table

_KEYS = (*KEYS, "measure", "flow", "over", "compare", "of")
_COMPARISONS = (*COMPARE, "rise")
_PAIRED = ("wins", "paired_ratio")

Samples = dict["Point", tuple["Sample", ...]]
"""The runs of each point."""


@dataclass(frozen=True)
class Claim(Statement):
    """A claim on groups of runs.

    Attributes:
        measure: One of :data:`fullpipe.study.reproduce.measures.MEASURES`.
        flow: The flow that is measured, from 0.
        over: Statistic over the runs, one of :data:`fullpipe.study.verdicts.estimate.OVER_RUNS`.
        compare: Comparison of two groups, or "rise" for the steps of a sweep; None for a single
            group.
        of: The points of each group, one group or two.
    """

    measure: str
    flow: int
    over: str
    compare: str | None
    of: tuple[tuple[Point, ...], ...]

    @property
    def points(self) -> list[Point]:
        """All points whose runs the claim needs."""
        return [point for points in self.of for point in points]


def judge(claim: Claim, samples: Samples) -> list[Judged[Claim]]:
    """Compares runs with a claim; returns one verdict, or one per point for a claim on a sweep."""

    def values(point: Point) -> list[float]:
        return [each.values[claim.measure, claim.flow] for each in samples[point]]

    if claim.compare == "rise":
        return [_judged(claim, "", rise(claim.over, [values(point) for point in claim.of[0]]))]
    if claim.compare is None:
        return [
            _judged(claim, point.label, estimate(claim.over, values(point), bounds(claim.measure)))
            for point in claim.of[0]
        ]
    compare = COMPARE[claim.compare]
    first, second = claim.of
    if len(first) == len(second) == 1:
        return [_judged(claim, "", compare(claim.over, values(first[0]), values(second[0])))]
    if len(first) == 1:
        return [
            _judged(claim, each.label, compare(claim.over, values(first[0]), values(each)))
            for each in second
        ]
    others = second * len(first) if len(second) == 1 else second
    return [
        _judged(claim, one.label, compare(claim.over, values(one), values(other)))
        for one, other in zip(first, others, strict=True)
    ]


def skipped(claim: Claim, reason: str) -> Judged[Claim]:
    """Returns the verdict on a claim that was not run."""
    return _with(claim, "", Estimate(math.nan), (Verdict.SKIPPED, None, reason))


def _judged(claim: Claim, label: str, ours: Estimate) -> Judged[Claim]:
    """Judges a claim at one point of a sweep, or as a whole."""
    return _with(claim, label, ours, held(ours, claim.within, claim.report))


def _with(claim: Claim, label: str, ours: Estimate, came_to: CameTo) -> Judged[Claim]:
    case = f"{claim.case} {label}".strip()
    return Judged(claim, case, claim.metric, claim.published, ours, claim.within, *came_to)


def read_claims(reader: Reader, raw: Table, groups: Mapping[str, Group]) -> tuple[Claim, ...]:
    """Reads the claims of a file, grouped by case.

    Raises:
        PublishedError: When a claim is invalid.
    """
    read = _Claims(reader, groups)
    tables = reader.tables(raw.get("claim", []), "claim")
    claims = [
        read.claim(each, f"claim[{number}]")
        for number, table in enumerate(tables)
        for each in _single(reader, table)
    ]
    cases = dict.fromkeys(claim.case for claim in claims)
    return tuple(claim for case in cases for claim in claims if claim.case == case)


def _single(reader: Reader, table: Table) -> list[Table]:
    """Expands a claim that is given for several cases: `of = { CASE = ["group"], … }`."""
    of = table.get("of")
    if not isinstance(of, dict):
        return [table]
    if "case" in table:
        reader.refuse(
            "claim.case",
            table["case"],
            "is already named in of",
            'omit the key: of = { CASE = ["group"] }',
        )
    return [{**table, "case": case, "of": groups} for case, groups in of.items()]


class _Claims:
    def __init__(self, reader: Reader, groups: Mapping[str, Group]) -> None:
        self.reader = reader
        self.groups = groups

    def claim(self, keys: Table, where: str) -> Claim:
        read = self.reader
        read.only(keys, f"{where}.", _KEYS)
        statement = read_statement(read, keys, where)
        measure = read.one_of(keys.get("measure"), f"{where}.measure", tuple(MEASURES))
        compare = (
            read.one_of(keys["compare"], f"{where}.compare", _COMPARISONS)
            if "compare" in keys
            else None
        )
        claim = Claim(
            **vars(statement),
            measure=measure,
            flow=read.whole(keys.get("flow", 1), f"{where}.flow") - 1,
            over=read.one_of(keys.get("over", "mean"), f"{where}.over", tuple(OVER_RUNS)),
            compare=compare,
            of=tuple(
                points_of(read, self.groups, each, f"{where}.of")
                for each in read.texts(keys.get("of"), f"{where}.of")
            ),
        )
        self._check(claim, keys, where)
        return claim

    def _check(self, claim: Claim, keys: Table, where: str) -> None:
        """Checks the keys for consistency with each other."""
        two = claim.compare in COMPARE
        if len(claim.of) != 1 + two:
            problem = f"has {len(claim.of)} groups"
            fix = f"name two for {', '.join(COMPARE)}, and one otherwise"
            self.reader.refuse(f"{where}.of", keys["of"], problem, fix)
        sizes = {len(points) for points in claim.of} - {1}
        if len(sizes) > 1:
            fix = "give both the same points, or name a single point as group: label"
            self.reader.refuse(
                f"{where}.of", keys["of"], "the sweeps have different numbers of points", fix
            )
        if claim.compare == "rise" and not sizes:
            self.reader.refuse(
                f"{where}.of", keys["of"], "has a single point", "name a group with a sweep"
            )
        for point in claim.points:
            scenario = point.setup.scenario(1)
            if claim.flow >= len(scenario.flows) and not (scenario.workloads and claim.flow == 0):
                fix = "flows count from 1"
                self.reader.refuse(
                    f"{where}.flow", claim.flow + 1, f"{point.name} has no such flow", fix
                )
            if claim.measure in OF_WORKLOADS and not scenario.workloads:
                fix = "name a group with a workload"
                self.reader.refuse(
                    f"{where}.measure", claim.measure, f"{point.name} has no workload", fix
                )
            if claim.measure in TRACED and point.setup.trace == "off":
                fix = f'add trace = "10ms" to [runs.{point.group}]'
                self.reader.refuse(
                    f"{where}.measure", claim.measure, f"needs a trace of {point.group}", fix
                )
        if claim.compare in _PAIRED and len({point.seeds for point in claim.points}) != 1:
            fix = "give both groups the same number of seeds, since runs are compared pairwise"
            self.reader.refuse(
                f"{where}.of", keys["of"], "the groups have different numbers of runs", fix
            )
