"""The same experiment on several runners: values side by side, and their differences."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from fullpipe.report.model import Number, Section, Table
from fullpipe.report.values import is_of_run, shown, titled
from fullpipe.results.model import RUNNER
from fullpipe.results.words import short
from fullpipe.stats import mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.model import Cell
    from fullpipe.report.values import Group
    from fullpipe.stats import Interval, Quantity


def section(groups: Sequence[Group], metrics: Sequence[Quantity]) -> Section | None:
    """Returns a table with a row per contender and metric, and a column per runner."""
    runners = list(dict.fromkeys(group.runner for group in groups))
    if len(runners) < 2:
        return None
    same: dict[tuple[object, ...], dict[str, Group]] = defaultdict(dict)
    for group in groups:
        settings = {key: value for key, value in group.settings.items() if key != RUNNER}
        same[tuple(settings.items()), group.contender][group.runner] = group
    keys = list(dict.fromkeys(key for group in groups for key in group.settings if key != RUNNER))
    rows = [
        row
        for those in same.values()
        for metric in metrics
        if (row := _row(those, keys, runners, metric, is_of_run(metric.column))) is not None
    ]
    first = runners[0]
    more = (
        len({seed for group in groups for values in group.values.values() for seed in values}) > 1
    )
    columns = (
        *map(short, keys),
        "contender",
        "metric",
        *runners,
        *(f"{each} vs. {first}" for each in runners[1:]),
    )
    note = "Means over the seeds [95 % interval]. " if more else ""
    note += "Runners draw different random numbers, so seeds are not paired across runners. "
    note += "“–” marks a metric that a runner does not measure."
    return Section("Runners side by side", [Table("Metrics by runner", columns, rows)], note)


def _row(
    those: dict[str, Group],
    keys: Sequence[str],
    runners: Sequence[str],
    metric: Quantity,
    whole: bool,
) -> tuple[Cell, ...] | None:
    found = [
        mean(values) if (values := _of(those.get(runner), metric)) else None for runner in runners
    ]
    if not any(found):
        return None
    group = next(iter(those.values()))
    settings = [group.settings.get(key, "–") for key in keys]
    return (
        *settings,
        "the whole run" if whole else group.contender,
        titled(metric),
        *(_cell(metric, each) for each in found),
        *(_apart(metric, found[0], each) for each in found[1:]),
    )


def _of(group: Group | None, metric: Quantity) -> list[float]:
    return group.of(metric.column) if group else []


def _cell(metric: Quantity, found: Interval | None) -> Number:
    if found is None:
        return Number(None, "–")
    text = shown(metric, found.value)
    if found.high > found.low:
        text += f" [{shown(metric, found.low)}, {shown(metric, found.high)}]"
    return Number(found.value, text)


def _apart(metric: Quantity, first: Interval | None, other: Interval | None) -> Number:
    """Returns the difference, in percent of the first value; for shares, in points."""
    if first is None or other is None:
        return Number(None, "–")
    difference = other.value - first.value
    if metric.unit in ("", "%"):
        return Number(
            difference, f"{_signed(difference * metric.scale)}{' points' if metric.unit else ''}"
        )
    if first.value == 0:
        return Number(None, "–")
    return Number(difference / first.value, f"{_signed(100 * difference / first.value)} %")


def _signed(value: float) -> str:
    """Formats a difference with three digits, rounded to a thousandth to hide rounding errors."""
    return f"{round(value, 3) + 0.0:+.3g}"
