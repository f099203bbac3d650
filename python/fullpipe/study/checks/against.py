"""Results of a check compared with kept ones, number by number and paired by seed."""

from __future__ import annotations

import math
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.report.values import is_of_run
from fullpipe.stats import family, is_shown, paired, quantity
from fullpipe.stats.quantity import rank
from fullpipe.stats.words import Compared, is_large, way

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from fullpipe.study.checks.run import Checked
    from fullpipe.study.checks.stored import Before

LIMIT = 0.05
"""The usual least relative change that counts."""
NOW, THEN = "now", "before"


class Change(NamedTuple):
    """A number before and now.

    Attributes:
        file: The scenario, with the runner if it is not the simulator.
        compared: The comparison; A is now, and B before.
        verdict: 1 for better, -1 for worse, 0 for no significant change beyond the limit.
        exact: Whether both are single runs without randomness, so that any change is significant.
    """

    file: str
    compared: Compared
    verdict: int
    exact: bool


class Against(NamedTuple):
    """A comparison with kept results.

    Attributes:
        changes: Every number that both have.
        new: Scenarios without kept results.
        gone: Kept results of scenarios that were not checked.
        edited: Scenarios whose text differs, so that their numbers may differ for that reason.
        limit: The least relative change that counts.
    """

    changes: list[Change]
    new: list[str]
    gone: list[str]
    edited: list[str]
    limit: float

    @property
    def worse(self) -> list[Change]:
        """The changes for the worse, the scenarios in their order."""
        return [each for each in self.changes if each.verdict < 0]

    @property
    def better(self) -> list[Change]:
        """The changes for the better."""
        return [each for each in self.changes if each.verdict > 0]


def against(done: Sequence[Checked], kept: Sequence[Before], limit: float = LIMIT) -> Against:
    """Compares results with kept ones, whose scenarios have the same file and runner.

    A change counts if it is significant after a correction for the number of comparisons, larger
    than `limit` of the kept mean, and for a share at least one percentage point (0.05 for an index).
    """
    before = {_key(each.about["file"], each.about["runner"]): each for each in kept}
    found: list[tuple[str, Compared, bool]] = []
    new, edited, seen = [], [], set()
    for checked in done:
        key, called = _key(checked.file, checked.runner), called_of(checked.file, checked.runner)
        if key not in before:
            new.append(called)
            continue
        seen.add(key)
        then = before[key]
        if then.about["resolved"] != checked.resolved:
            edited.append(called)
        single = not checked.random and checked.runner == "sim"
        found += [
            (called, each, single and each.comparison.pairs == 1)
            for each in _compared(checked, then.rows, called)
        ]
    corrected = family([each for _, each, _ in found])
    changes = [
        Change(called, each, _verdict(each, limit, exact=exact), exact)
        for (called, _, exact), each in zip(found, corrected, strict=True)
    ]
    gone = [called_of(*key) for key in before if key not in seen]
    return Against(changes, new, gone, edited, limit)


def called_of(file: str, runner: str) -> str:
    """Returns the name of a scenario, with the runner if it is not the simulator."""
    return file if runner == "sim" else f"{file} on {runner}"


def relative(each: Compared) -> float:
    """Returns the change as a share of the mean before; infinite if that is zero."""
    comparison = each.comparison
    if comparison.b == 0:
        return math.copysign(math.inf, comparison.difference.value)
    return comparison.difference.value / abs(comparison.b)


def _verdict(each: Compared, limit: float, *, exact: bool) -> int:
    changed = each.comparison.difference.value != 0 if exact else each.comparison.significant
    if not changed or abs(relative(each)) <= limit:
        return 0
    if each.quantity.unit in ("", "%") and not is_large(each):
        return 0
    return way(each)


def _compared(checked: Checked, before: pl.DataFrame, called: str) -> Iterator[Compared]:
    now = checked.rows
    columns = sorted(
        (
            name
            for name in now.columns
            if name in before.columns
            and (is_shown(name, "differences") or name in checked.columns)
            and (about := quantity(name)) is not None
            and about.better
        ),
        key=rank,
    )
    flows = now.select("flow_index", "flow").unique().sort("flow_index")
    for index, name in flows.iter_rows():
        for column in columns:
            of_run = is_of_run(column)
            if of_run and index:
                continue
            a, b = _values(now, index, column), _values(before, index, column)
            about = quantity(column)
            if about is not None and a.keys() & b.keys():
                flow = "" if of_run else str(name)
                yield Compared(NOW, THEN, about, paired(a, b), called, flow)


def _values(rows: pl.DataFrame, index: int, column: str) -> dict[int, float]:
    own = rows.filter(flow_index=index).select("seed", column).drop_nulls()
    return {seed: float(value) for seed, value in own.iter_rows()}


def _key(file: str, runner: str) -> tuple[str, str]:
    return PurePath(file).as_posix(), runner
