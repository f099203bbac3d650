"""Words on the control of a comparison of programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.report.control import PART, controls
from fullpipe.stats.compare import LEAST_PAIRS
from fullpipe.stats.quantity import quantity
from fullpipe.stats.words import digits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fullpipe.report.control import Control


def told(directory: Path) -> Iterator[str]:
    """Yields a sentence about each program, or the number of repetitions that is missing."""
    if not (directory / PART).exists():
        return
    found = controls(directory)
    if not found:
        yield f"control: fewer than {LEAST_PAIRS} repetitions can't show how much runs of one program differ"
    for program in dict.fromkeys(each.program for each in found):
        of = [_difference(each) for each in found if each.program == program]
        yield (
            f"control: {program} twice differs by {' and '.join(of)}; a difference between programs that is smaller is "
            "noise of this machine"
        )
    if alarms := [each for each in found if each.is_alarm]:
        names = ", ".join(dict.fromkeys(each.program for each in alarms))
        yield (
            f"warning: the two arms of {names} differ significantly: the machine was too busy, or by chance (in 5 % of "
            "comparisons)"
        )


def records(directory: Path) -> Sequence[dict[str, object]]:
    """Returns the controls for JSON: differences in percent."""
    return [
        {
            "program": each.program,
            "metric": each.column,
            "percent": each.percent[0],
            "low": each.percent[1],
            "high": each.percent[2],
            "p": each.comparison.p if each.comparison.p == each.comparison.p else None,
        }
        for each in controls(directory)
    ]


def _difference(control: Control) -> str:
    value, low, high = (f"{digits(each)}" for each in control.percent)
    known = quantity(control.column)
    words = known.words if known else control.column
    return f"{value} % in {words} [{low} to {high} %]"
