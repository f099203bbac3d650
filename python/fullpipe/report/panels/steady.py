"""Whether the numbers are steady within the measured window, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.stats.steady import by_point, lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.results.model import Results
    from fullpipe.stats import Quantity
    from fullpipe.stats.steady import Steadiness


def verdicts(results: Results) -> dict[int, Steadiness]:
    """Returns the verdict on each point, by its number; empty for results of an earlier version."""
    return by_point(results.rows)


def told(results: Results, asked: Sequence[Quantity] = ()) -> list[str]:
    """Returns the verdicts in words, of the first points whose numbers drift or are not tested.

    Args:
        results: The results.
        asked: The metrics to judge; none for all.
    """
    return lines(_judged(results, asked))


def brief(results: Results, asked: Sequence[Quantity] = ()) -> str:
    """Returns at how many settings the numbers drift, in words; empty if at none.

    Args:
        results: The results.
        asked: The metrics to judge; none for all.
    """
    found = _judged(results, asked).values()
    drifting = sum(each.verdict == "drifts" for each in found)
    if not drifting:
        return ""
    where = f" at {drifting} of {len(found)} settings" if len(found) > 1 else ""
    return f"Not steady within the measured window{where}."


def _judged(results: Results, asked: Sequence[Quantity]) -> dict[str, Steadiness]:
    columns = [each.column for each in asked]
    found = verdicts(results)
    return {
        ", ".join(filter(None, (point.label, point.runner))): found[number].of(columns)
        for number, point in results.points.items()
        if number in found
    }
