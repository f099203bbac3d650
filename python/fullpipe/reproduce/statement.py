"""What a source says in words, and when ours agrees: what claims on runs and on a fleet have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fullpipe.verdicts.reader import Json, Reader, Table

KEYS = ("case", "metric", "published", "within", "why", "report", "note")
"""The keys of a claim that :func:`read_statement` reads."""


@dataclass(frozen=True)
class Statement:
    """A claim of a source, before it is said which runs it is about.

    Attributes:
        case: What it belongs to, like `K1`.
        metric: What it is about, in words with the unit.
        published: As printed at the source: a number, or words where only a picture or a direction
            is there.
        within: The least and the greatest value that agrees.
        why: Where that interval comes from.
        report: Why it is printed and not judged; None when it is judged.
        note: What is known of why ours misses, or empty.
    """

    case: str
    metric: str
    published: float | str
    within: tuple[float, float]
    why: str
    report: str | None
    note: str

    def because(self, *, missed: bool) -> str:
        """Why it is not judged, or what is known of why ours misses it."""
        if self.report is not None:
            return self.report
        return self.note if missed else ""


def read_statement(reader: Reader, keys: Table, where: str) -> Statement:
    """Reads those keys of a claim.

    Raises:
        PublishedError: When one is wrong.
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
        problem = "is missing" if value is None else "is no pair of numbers"
        reader.refuse(where, value, problem, fix)
    low, high = value
    if not isinstance(low, int | float) or not isinstance(high, int | float) or not low <= high:
        reader.refuse(where, value, "is no interval", fix)
    return float(low), float(high)
