"""A source's statement and its accepted range: the common part of claims on runs and on fleets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fullpipe.study.verdicts.reader import Json, Reader, Table

KEYS = ("case", "metric", "published", "within", "why", "report", "note")
"""The keys of a claim that :func:`read_statement` reads."""


@dataclass(frozen=True)
class Statement:
    """A claim of a source, without the runs that it is about.

    Attributes:
        case: Case that the claim belongs to, like `K1`.
        metric: Description of the quantity, with its unit.
        published: Value printed in the source: a number, or words if it has only a figure or a
            direction.
        within: Smallest and largest accepted value.
        why: Origin of this interval.
        report: Reason for not judging the claim; None if it is judged.
        note: Known reason why our value misses, or empty.
    """

    case: str
    metric: str
    published: float | str
    within: tuple[float, float]
    why: str
    report: str | None
    note: str

    def because(self, *, missed: bool) -> str:
        """Returns why the claim is not judged, or the known reason for a miss, or an empty text."""
        if self.report is not None:
            return self.report
        return self.note if missed else ""


def read_statement(reader: Reader, keys: Table, where: str) -> Statement:
    """Reads the keys in :data:`KEYS` of a claim.

    Raises:
        PublishedError: When a key is invalid.
    """
    published = keys.get("published")
    return Statement(
        case=reader.text(keys.get("case"), f"{where}.case"),
        metric=reader.text(keys.get("metric"), f"{where}.metric"),
        published=reader.text(published, f"{where}.published")
        if isinstance(published, str)
        else reader.number(published, f"{where}.published", -math.inf),
        within=_within(reader, keys, where),
        why=reader.text(keys.get("why"), f"{where}.why").strip(),
        report=reader.text(keys["report"], f"{where}.report").strip() if "report" in keys else None,
        note=reader.text(keys["note"], f"{where}.note").strip() if "note" in keys else "",
    )


def _within(reader: Reader, keys: Table, claim: str) -> tuple[float, float]:
    value: Json | None = keys.get("within")
    where = f"{claim}.within"
    if value is None and "report" in keys:
        return -math.inf, math.inf
    fix = "write [least, greatest]; -inf or inf leaves a side open"
    if not isinstance(value, list) or len(value) != 2:
        problem = "is missing" if value is None else "is not a pair of numbers"
        reader.refuse(where, value, problem, fix)
    low, high = value
    if not isinstance(low, int | float) or not isinstance(high, int | float) or not low <= high:
        reader.refuse(where, value, "is not an interval", fix)
    return float(low), float(high)
