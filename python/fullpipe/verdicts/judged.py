"""What came of a cell or a claim, and how it is kept."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TypedDict


class Verdict(StrEnum):
    """What came of a cell."""

    MET = "met"
    MISSED = "missed"
    REPORT = "report"
    """Printed and compared, not judged."""
    SKIPPED = "skipped"
    """Not run."""


class Record(TypedDict):
    """A cell or a claim as `--json` prints it, in the units of the published value.

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


def finite(value: float) -> float | None:
    """`value`, None when JSON can't have it."""
    return value if math.isfinite(value) else None


def distance(ours: float, low: float, high: float) -> str:
    """How far outside it is, in words."""
    if math.isnan(ours):
        return "no sample"
    return f"{low - ours:.3g} too low" if ours < low else f"{ours - high:.3g} too high"
