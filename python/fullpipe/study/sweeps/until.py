"""`--until "ci(goodput) < 2%"`: repetitions in batches, until the rule holds at every point."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from fullpipe.errors import DamagedError
from fullpipe.results import about as abouts
from fullpipe.runners import SIMULATOR
from fullpipe.runs.view.table import short
from fullpipe.stats import Rule, RuleError, enough, parse_rule, student
from fullpipe.stats.sequential import LEAST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fullpipe.study.spec import SweepSpec
    from fullpipe.study.sweeps.dataset import Sweep

MOST = 1000
"""Largest number of repetitions of each point by default."""
_MOST_LINES = 5


class Miss(NamedTuple):
    """A flow that misses a rule at a point.

    Attributes:
        point: The number of the point.
        flow: The name of the flow.
        share: Half the interval divided by the mean; None if a run has no value, or the mean is 0.
        runner: The runner.
    """

    point: int
    flow: str
    share: float | None
    runner: str = SIMULATOR


class Until(NamedTuple):
    """A rule with its numbers of repetitions.

    Attributes:
        rule: The rule, which must hold for each flow that has the metric, at every point.
        batch: The least number of repetitions to add at a time; a quarter of the existing ones if
            that is more.
        most: The largest number of repetitions.
    """

    rule: Rule
    batch: int
    most: int

    def first(self, spec: SweepSpec) -> SweepSpec:
        """Returns the spec with the repetitions before the first test of the rule."""
        return replace(spec, repeat=max(self.batch, LEAST))

    def more(self, repeat: int) -> int:
        """Returns the number of repetitions after `repeat`."""
        return min(repeat + max(self.batch, repeat // 4), self.most)

    def steps(self, spec: SweepSpec, directory: Path) -> Iterator[SweepSpec]:
        """Yields the specs to execute, one after the other; each must be complete at the next request.

        The repetitions that the directory already has are tested first, so that the same command resumes.
        """
        from fullpipe.study.sweeps.dataset import Sweep

        step = self.first(spec)
        with suppress(OSError, DamagedError):  # the store creates or repairs it
            about = abouts.sweep(directory)
            if about["identity"] == step.identity:  # else the store refuses it
                step = replace(step, repeat=max(len(about["seeds"]), step.plan.seeds[1]))
        while True:
            yield step
            repeat = step.plan.seeds[1]
            if repeat >= self.most or not misses(Sweep(directory), self.rule):
                return
            step = replace(step, repeat=self.more(repeat))

    def refuse_unknown(self, columns: list[str]) -> None:
        """Checks that the data set has the rule's metric.

        Raises:
            RuleError: When no column has it.
        """
        _refuse_unknown(self.rule, columns)

    def taken(self, sweep: Sweep, late: set[int]) -> list[int]:
        """Returns the number of repetitions that each point needed, except for those in `late`, which miss the rule."""
        left = {*range(sweep.about["points"])} - late
        taken, repeat, last = [], max(self.batch, LEAST), len(sweep.seeds)
        while left and repeat < last:
            wide = {miss.point for miss in misses(sweep, self.rule, repeat)}
            taken += [repeat] * len(left - wide)
            left &= wide
            repeat = self.more(repeat)
        return taken + [last] * len(left)


def asked(text: str, spec: SweepSpec, most: int | None) -> Until:
    """Parses the rule of a command or a call.

    Raises:
        RuleError: When the rule has an error, or `most` is too small.
        ScenarioError: When the spec is refused.
    """
    rule = parse_rule(text)
    batch = spec.plan.seeds[1]
    if spec.repeat is None and batch == 1:
        batch = LEAST
    most = MOST if most is None else most
    least = max(batch, LEAST)
    if most < least:
        why = f"the first batch of {batch}" if batch > LEAST else f"the {LEAST} that a rule needs"
        raise RuleError(
            f"--max-repeat {most} is less than {why}\n  fix: use --max-repeat {least} or more"
        )
    return Until(rule, batch, most)


def misses(sweep: Sweep, rule: Rule | str, repeat: int | None = None) -> list[Miss]:
    """Returns the flows that miss a rule, of those that have the metric in any run.

    Args:
        sweep: The data set.
        rule: The rule.
        repeat: The number of seeds to use, the first ones; None for all.

    Raises:
        RuleError: When the rule has an error, or no run has its metric.
    """
    rule = parse_rule(rule) if isinstance(rule, str) else rule
    rows = sweep.scan()
    _refuse_unknown(rule, rows.collect_schema().names())
    if repeat is not None:
        rows = rows.filter(pl.col("seed") < sweep.seeds[0] + repeat)
    value = pl.col(rule.metric).cast(pl.Float64)
    grouped = (
        rows.sort("seed")
        .group_by("point", "flow_index", "flow", "runner")
        .agg(value.fill_null(math.nan).alias("values"))
    )
    groups = grouped.sort("point", "flow_index", "runner").collect()
    named = {
        row["flow_index"]
        for row in groups.iter_rows(named=True)
        if any(map(math.isfinite, row["values"]))
    }
    if not named:
        raise RuleError(
            f"{rule.text!r}: no run has a value of {rule.metric}\n  fix: choose a metric that the flows have"
        )
    return [
        Miss(row["point"], row["flow"], _share(row["values"]), row["runner"])
        for row in groups.iter_rows(named=True)
        if row["flow_index"] in named and not enough(row["values"], rule)
    ]


def _refuse_unknown(rule: Rule, columns: list[str]) -> None:
    if rule.metric not in columns:
        near = next(iter(get_close_matches(rule.metric, columns, n=1)), None) or next(
            (
                name
                for name in columns
                if name.startswith("link.") and name.endswith(f".{rule.metric}")
            ),
            None,
        )
        fix = (
            f"did you mean {near}?" if near else "choose a column of the data set, like goodput_bps"
        )
        raise RuleError(
            f"{rule.text!r}: the runs of this scenario have no {rule.metric}\n  fix: {fix}"
        )


def _share(values: list[float]) -> float | None:
    if not all(map(math.isfinite, values)):
        return None
    low, high = student(values)
    return (high - low) / abs(low + high) if low + high else None


def verdict(until: Until, sweep: Sweep) -> tuple[bool, list[str]]:
    """Returns whether the rule holds, and lines about it."""
    rule, repeat, points = until.rule.text.strip(), len(sweep.seeds), sweep.about["points"]
    by_point: dict[int, list[str]] = {}
    for miss in misses(sweep, until.rule):
        share = "no value in some run" if miss.share is None else f"±{short(100 * miss.share, 2)} %"
        whose = f"{miss.flow} on {miss.runner}" if len(sweep.runners) > 1 else miss.flow
        by_point.setdefault(miss.point, []).append(f"{whose} {share}")
    taken = until.taken(sweep, {*by_point})
    each = f"{min(taken)} to {max(taken)}" if len({*taken}) > 1 else f"{max(taken, default=0)}"
    if not by_point:
        return True, [f"{rule} holds with {repeat} repetitions; points needed {each}"]
    lines = [
        f"{rule} is missed at {len(by_point)} of {points} point{'s' * (points > 1)}, with {repeat} repetitions"
    ]
    for point, flows in [*by_point.items()][:_MOST_LINES]:
        row = sweep.points.row(point, named=True)
        settings = ", ".join(f"{key}={row[key]}" for key in sweep.axes if row.get(key) is not None)
        lines.append(f"  point {point}{f' ({settings})' if settings else ''}: {', '.join(flows)}")
    if len(by_point) > _MOST_LINES:
        lines.append(f"  and {len(by_point) - _MOST_LINES:,} more")
    return False, [*lines, *([f"the other points needed {each}"] if taken else [])]
