"""What came of a cell, a claim or a condition, and how it is stored."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypedDict, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from fullpipe.verdicts.estimate import Estimate

S = TypeVar("S")
Within = tuple[float, float]
"""The least and the greatest value that is close enough; infinite where a side is open."""

CameTo = tuple["Verdict", "bool | None", str]
"""A verdict, whether ours is close enough (None where nothing says), and the reason."""


class Verdict(StrEnum):
    """What came of a cell."""

    MET = "met"
    MISSED = "missed"
    REPORT = "report"
    """Printed and compared, not judged."""
    SKIPPED = "skipped"
    """Not run."""


@dataclass(frozen=True)
class Tolerance:
    """How far from a value ours may be, in its unit: whichever of its rules allows more.

    Attributes:
        absolute: So far.
        relative: So many times the value.
        factor: Between the value over it and times it.
        zero: So much where the value is zero.
    """

    absolute: float = 0.0
    relative: float = 0.0
    factor: float = 1.0
    zero: float = 0.0

    def interval(self, value: float) -> Within:
        """The least and the greatest value that is close enough, both included."""
        distance = max(self.absolute, self.relative * abs(value))
        low, high = min(value - distance, value / self.factor), value + distance
        return low, max(high, value * self.factor, self.zero if value == 0 else high)


class Record(TypedDict):
    """A judged number as `--json` prints it, in the units of the published value.

    `published` is text where the source has no number. `tolerance` is the least and the greatest
    value that is close enough, None for a side that is open; `ours` is None when the case was not
    run, or gave no sample.
    """

    case: str
    metric: str
    published: float | str
    ours: float | None
    tolerance: tuple[float | None, float | None]
    verdict: str


@dataclass(frozen=True)
class Judged(Generic[S]):
    """A number of ours with what came of it.

    Attributes:
        subject: What is judged: a cell of a table, a claim, a condition.
        case: What it belongs to.
        metric: What it is about.
        reference: What it is held against: published, measured elsewhere, or demanded.
        ours: Our number; NaN when nothing was run, or gave no sample.
        within: What is close enough.
        verdict: What came of it.
        inside: Whether ours is close enough; None where it was not run, or nothing says what is.
        reason: Why it is not met, or not judged.
        runs: How many repetitions it rests on, where each of them is judged.
        failed: The seeds of those that miss it, the worst first.
    """

    subject: S
    case: str
    metric: str
    reference: float | str
    ours: Estimate
    within: Within
    verdict: Verdict
    inside: bool | None = None
    reason: str = ""
    runs: int = 0
    failed: Sequence[int] = ()

    @property
    def met(self) -> bool:
        """Whether it is met."""
        return self.verdict is Verdict.MET

    @property
    def sure(self) -> bool:
        """Whether all of the interval agrees with the verdict."""
        low, high = self.within
        if self.verdict is Verdict.MET:
            return all(low <= end <= high for end in (self.ours.low, self.ours.high))
        beside = self.ours.high < low or self.ours.low > high
        return self.verdict is Verdict.MISSED and beside

    def record(self) -> Record:
        """As `--json` prints it."""
        return Record(
            case=self.case,
            metric=self.metric,
            published=self.reference,
            ours=finite(self.ours.value),
            tolerance=(finite(self.within[0]), finite(self.within[1])),
            verdict=self.verdict.value,
        )


def held(ours: Estimate, within: Within, report: str | None = None) -> CameTo:
    """What comes of a number of ours; `report` is why it is not judged."""
    low, high = within
    inside = low <= ours.value <= high  # False for NaN
    if report is not None:
        return Verdict.REPORT, inside if any(map(math.isfinite, within)) else None, report
    if not inside:
        return Verdict.MISSED, False, distance(ours.value, low, high)
    return Verdict.MET, True, ""


def records(judged: Iterable[Judged[S]]) -> list[Record]:
    """All of them, as `--json` prints them."""
    return [each.record() for each in judged]


def write_table(directory: Path, markdown: str, records: Sequence[Mapping[str, object]]) -> None:
    """Writes verdicts into `table.md` and `table.json`.

    Raises:
        OSError: When they can't be written.
    """
    (directory / "table.md").write_text(markdown, encoding="utf-8")
    (directory / "table.json").write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


def finite(value: float) -> float | None:
    """`value`, None when JSON can't have it."""
    return value if math.isfinite(value) else None


def distance(ours: float, low: float, high: float) -> str:
    """How far outside it is, in words."""
    if math.isnan(ours):
        return "no sample"
    return f"{low - ours:.3g} too low" if ours < low else f"{ours - high:.3g} too high"
