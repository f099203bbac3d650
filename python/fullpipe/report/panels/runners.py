"""The same experiment on several runners: values side by side, and their differences."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from fullpipe.report.model import Number, Section, Table
from fullpipe.report.values import is_of_run, shown, titled
from fullpipe.results.model import RUNNER
from fullpipe.results.words import short
from fullpipe.stats import mean
from fullpipe.stats.words import signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.model import Cell
    from fullpipe.report.values import Group
    from fullpipe.stats import Interval, Quantity

    Settings = tuple[tuple[str, str], ...]


def section(groups: Sequence[Group], metrics: Sequence[Quantity]) -> Section | None:
    """Returns a table with a row per contender and metric, and a column per runner."""
    runners = list(dict.fromkeys(group.runner for group in groups))
    if len(runners) < 2:
        return None
    same = _same(groups)
    keys = list(dict.fromkeys(key for group in groups for key in group.settings if key != RUNNER))
    of_flows = [each for each in metrics if not is_of_run(each.column)]
    of_runs = [each for each in metrics if is_of_run(each.column)]
    rows = []
    for settings, flows in same.items():
        named = [
            (" · ".join(dict.fromkeys(each.contender for each in one.values())), one)
            for one in flows
        ]
        found = [
            (name, metric, {runner: group.of(metric.column) for runner, group in those.items()})
            for name, those in named
            for metric in of_flows
        ]
        for metric in of_runs:
            values: dict[str, list[float]] = {}
            for those in flows:
                for runner, group in those.items():
                    values[runner] = values.get(runner) or group.of(metric.column)
            found.append(("the whole run", metric, values))
        where = [dict(settings).get(key, "–") for key in keys]
        rows += [
            (*where, name, *row)
            for name, metric, values in found
            if (row := _row(values, runners, metric)) is not None
        ]
    first = runners[0]
    more = any(len(each) > 1 for group in groups for each in group.values.values())
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


def _same(groups: Sequence[Group]) -> dict[Settings, list[dict[str, Group]]]:
    """Returns the groups of the same contender by runner, by their other settings.

    With one contender a run, it is the same one: a captured flow has another name than its model.
    """
    found: dict[Settings, dict[str, dict[str, Group]]] = defaultdict(lambda: defaultdict(dict))
    runs = Counter((tuple(each.settings.items()), each.runner) for each in groups)
    alone = max(runs.values()) == 1
    for group in groups:
        settings = tuple((key, value) for key, value in group.settings.items() if key != RUNNER)
        found[settings]["" if alone else group.contender][group.runner] = group
    return {settings: list(flows.values()) for settings, flows in found.items()}


def _row(
    values: dict[str, list[float]], runners: Sequence[str], metric: Quantity
) -> tuple[Cell, ...] | None:
    found = [mean(those) if (those := values.get(runner)) else None for runner in runners]
    if not any(found):
        return None
    return (
        titled(metric),
        *(_cell(metric, each) for each in found),
        *(_apart(metric, found[0], each) for each in found[1:]),
    )


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
            difference, f"{signed(difference * metric.scale)}{' points' if metric.unit else ''}"
        )
    if first.value == 0:
        return Number(None, "–")
    return Number(difference / first.value, f"{signed(100 * difference / first.value)} %")
