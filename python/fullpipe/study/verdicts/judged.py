"""Verdicts on cells, claims and conditions, and their storage."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypedDict, TypeVar

from fullpipe.results import disk
from fullpipe.results.made import write_made

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from fullpipe.results.made import StudyAbout
    from fullpipe.study.verdicts.estimate import Estimate

S = TypeVar("S")
Within = tuple[float, float]
"""The least and the greatest accepted value; infinite for an open side."""

CameTo = tuple["Verdict", "bool | None", str]
"""A verdict, whether the number is within its tolerance (None without one), and the reason."""


class Verdict(StrEnum):
    """The verdict on a cell."""

    MET = "met"
    MISSED = "missed"
    REPORT = "report"
    """Printed and compared, not judged."""
    SKIPPED = "skipped"
    """Not run."""


@dataclass(frozen=True)
class Tolerance:
    """The accepted distance from a value: that of the rule that allows more.

    Attributes:
        absolute: The distance in the value's unit.
        relative: The distance as a share of the value.
        factor: The accepted range is from the value divided by `factor` to the value times `factor`.
        zero: The greatest accepted number if the value is zero.
    """

    absolute: float = 0.0
    relative: float = 0.0
    factor: float = 1.0
    zero: float = 0.0

    def interval(self, value: float) -> Within:
        """Returns the least and the greatest accepted number, both included."""
        distance = max(self.absolute, self.relative * abs(value))
        low, high = min(value - distance, value / self.factor), value + distance
        return low, max(high, value * self.factor, self.zero if value == 0 else high)


class Record(TypedDict):
    """A judged number as `--json` prints it, in the units of the published value.

    `published` is text if the source has no number. `tolerance` is the least and the greatest
    accepted number, None for an open side. `ours` has None if the case was not run, or gave no
    sample.
    """

    case: str
    metric: str
    published: float | str
    ours: float | None
    tolerance: tuple[float | None, float | None]
    verdict: str


@dataclass(frozen=True)
class Judged(Generic[S]):
    """A measured number with its reference and its verdict.

    Attributes:
        subject: The cell of a table, the claim or the condition that is judged.
        case: The case that it belongs to.
        metric: Its metric.
        reference: The published, measured or required value to compare with.
        ours: The measured number; NaN when nothing was run, or gave no sample.
        within: The accepted range.
        verdict: The verdict.
        inside: Whether the number is in the accepted range; None if it was not run, or has no range.
        reason: The reason why it is not met, or not judged.
        runs: The number of repetitions, if each of them is judged.
        failed: The seeds of the repetitions that miss it, the worst first.
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
        """Whether the whole confidence interval agrees with the verdict."""
        low, high = self.within
        if self.verdict is Verdict.MET:
            return all(low <= end <= high for end in (self.ours.low, self.ours.high))
        beside = self.ours.high < low or self.ours.low > high
        return self.verdict is Verdict.MISSED and beside

    def record(self) -> Record:
        """Returns the record for `--json`."""
        return Record(
            case=self.case,
            metric=self.metric,
            published=self.reference,
            ours=finite(self.ours.value),
            tolerance=(finite(self.within[0]), finite(self.within[1])),
            verdict=self.verdict.value,
        )


def held(ours: Estimate, within: Within, report: str | None = None) -> CameTo:
    """Judges a measured number; `report` is the reason to report it without a verdict."""
    low, high = within
    inside = low <= ours.value <= high  # False for NaN
    if report is not None:
        return Verdict.REPORT, inside if any(map(math.isfinite, within)) else None, report
    if not inside:
        return Verdict.MISSED, False, distance(ours.value, low, high)
    return Verdict.MET, True, ""


def records(judged: Iterable[Judged[S]]) -> list[Record]:
    """Returns the records for `--json`."""
    return [each.record() for each in judged]


def write_table(
    directory: Path,
    markdown: str,
    records: Sequence[Mapping[str, object]],
    study: StudyAbout | None = None,
    parts: Sequence[str] | None = None,
) -> None:
    """Writes verdicts into `table.md` and `table.json`, and `made.json`.

    Args:
        directory: An existing directory.
        markdown: The table for readers.
        records: The verdicts.
        study: The options of a reproduced study.
        parts: The descriptions of the parts of an evaluation, relative to the directory.

    Raises:
        OSError: When they can't be written.
    """
    disk.write(directory / "table.md", markdown)
    write_made(directory, study=study, parts=parts)
    disk.write(directory / "table.json", json.dumps(records, indent=1) + "\n")


def finite(value: float) -> float | None:
    """Returns `value`; None for NaN and infinity, which JSON can't have."""
    return value if math.isfinite(value) else None


def distance(ours: float, low: float, high: float) -> str:
    """Returns the distance of a number outside of the range, in words."""
    if math.isnan(ours):
        return "no sample"
    return f"{low - ours:.3g} too low" if ours < low else f"{ours - high:.3g} too high"
