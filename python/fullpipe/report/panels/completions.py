"""Cumulative distributions of completion times, by size of the transfer, over all recorded runs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fullpipe.base.metrics import decade_text
from fullpipe.report.colors import turns_of
from fullpipe.report.model import DECADES, Line, Lines, Section
from fullpipe.report.values import placed
from fullpipe.results import read_parquet
from fullpipe.results.overlay import factors
from fullpipe.runs.view.left import left_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fullpipe.results.model import Results

_MOST_LINES, _MOST_SCENES = 8, 12
_POINTS = 400
"""Most points of a line: quantiles of the completion times."""
_LEAST_DECADE = 1000
"""Sizes of the first chart, bytes: those of this decade, and all smaller ones."""
_FEW = 30
"""Transfers of a line from which on a chart does not give their number."""
_X = "completion time, ms"


@dataclass(frozen=True)
class _Who:
    """A contender at a setting of the swept numbers."""

    scene: str
    workload: str
    label: str
    algorithm: str

    def named(self, *, several: bool) -> str:
        """Returns its name; that of its workload only if there are several."""
        parts = (self.workload if several or not self.label else "", self.label)
        return ", ".join(filter(None, parts))


_Times = dict[_Who, dict[int, list[pl.Series]]]
"""Completion times in seconds, null for unfinished transfers, by contender and decade of size."""


def section(results: Results) -> Section | None:
    """Returns a chart for each decade of sizes, side by side, and a row of them for each setting of the numbers."""
    found = _times(results)
    if not found:
        return None
    scenes = list(dict.fromkeys(who.scene for who in found))
    several = len({who.workload for who in found}) > 1
    algorithms = {who.named(several=several): who.algorithm for who in found}
    turns = dict(zip(algorithms, turns_of([*algorithms.values()]), strict=True))
    blocks = [
        chart
        for scene in scenes[:_MOST_SCENES]
        for chart in _row(
            {who: of for who, of in found.items() if who.scene == scene},
            scene,
            turns,
            several=several,
        )
    ]
    seeds, points = ({key[at] for key in results.transfers} for at in (1, 0))
    note = [
        f"Transfers of {len(results.transfers):,} of {results.runs:,} runs: {len(points)} of {len(results.points)} "
        f"settings, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}. A line that ends below 1 has transfers that did "
        "not complete.",
        left_out(scenes[_MOST_SCENES:], len(scenes)),
    ]
    if len(results.transfers) < results.runs:
        note.append("A sweep with --trace transfers has those of every run.")
    return Section("Completion times", [*blocks], " ".join(filter(None, note)))


def _times(results: Results) -> _Times:
    _, numbers = factors(results.axes, results.points)
    scale = {key for factor in numbers for key in factor}
    controls = {axis.key for axis in results.axes if axis.is_cc}
    columns = results.rows.select("point", pl.col("flow", "cc").cast(pl.String), "flow_index")
    columns = columns.unique()
    algorithms = {(point, flow): cc for point, flow, cc, _ in columns.iter_rows()}
    order = {(point, flow): index for point, flow, _, index in columns.iter_rows()}
    found: _Times = defaultdict(lambda: defaultdict(list))
    for (number, _), file in results.transfers.items():
        settings = results.points[number].settings
        words = {key: value for key, value in settings.items() if key not in scale}
        label = ", ".join(
            value if key in controls else placed({key: value}) for key, value in words.items()
        )
        scene = placed({key: value for key, value in settings.items() if key in scale})
        rows = read_parquet(file, ["workload", "bytes", "completion"])
        sized = rows.with_columns(
            pl.col("workload").cast(pl.String),
            # A logarithm is not exact: that of 1000 may be below 3.
            digits=pl.col("bytes").cast(pl.String).str.len_bytes(),
        )
        parts = sized.partition_by("workload", "digits", as_dict=True)
        # In the scenario's order, as in tables.
        for workload, digits in sorted(
            parts, key=lambda each: order.get((number, str(each[0])), 0)
        ):
            those = parts[workload, digits]
            cc = algorithms.get((number, str(workload)), "unknown")
            who = _Who(scene, str(workload), label, cc)
            times = those["completion"].cast(pl.Float64)
            found[who][max(10 ** (int(str(digits)) - 1), _LEAST_DECADE)].append(times)
    return found


def _row(found: _Times, scene: str, turns: Mapping[str, int], *, several: bool) -> Iterator[Lines]:
    """Yields the charts of a setting; `turns` has the contenders of all settings, in their order."""
    order = list(turns)
    decades = sorted({decade for of in found.values() for decade in of})
    row = ", ".join(filter(None, ("Completion times", scene)))
    charts: list[tuple[str, list[Line], str]] = []
    every = list(found)
    for decade in decades:
        for first in range(0, len(every), _MOST_LINES):
            some = every[first : first + _MOST_LINES]
            lines, none = [], []
            for who in some:
                name = who.named(several=several)
                line = _line(name, who.algorithm, order.index(name), found[who].get(decade, []))
                if line is None:
                    none.append(name)
                else:
                    lines.append(replace(line, turn=turns[name]))
            title = _sizes(decade) + (
                f", from {some[0].label}" if first or len(every) > len(some) else ""
            )
            title += _few([sum(map(len, found[who].get(decade, []))) for who in some])
            if lines:
                charts.append((title, lines, left_out(none, len(some), "no transfer completed")))
    ends = [end for _, lines, _ in charts for line in lines for end in (line.x[0], line.x[-1])]
    log = bool(ends and min(ends) > 0 and max(ends) / min(ends) >= DECADES)
    alone = len(charts) == 1
    for title, lines, note in charts:
        yield Lines(
            f"{row}, {title}" if alone else title,
            _X,
            "share of transfers",
            lines,
            stepped=True,
            note=note,
            log_x=log,
            row="" if alone else row,
        )


def _few(counts: Sequence[int]) -> str:
    """Returns the numbers of transfers of a chart in words, if a line has few."""
    known = [each for each in counts if each]
    if not known or min(known) >= _FEW:
        return ""
    return f", n = {min(known):,}" + (f" to {max(known):,}" if max(known) > min(known) else "")


def _sizes(decade: int) -> str:
    """Returns the sizes of a chart in words."""
    return "below 10 kB" if decade == _LEAST_DECADE else decade_text(decade)


def _line(name: str, algorithm: str, number: int, times: Sequence[pl.Series]) -> Line | None:
    """Returns the share of transfers up to a time; None if no transfer completed."""
    every = pl.concat(times) if times else pl.Series(dtype=pl.Float64)
    known = np.sort(every.drop_nulls().to_numpy()) * 1e3
    if not len(known):
        return None
    at = np.unique(np.linspace(0, len(known) - 1, min(_POINTS, len(known))).round().astype(int))
    x = np.concatenate([known[:1], known[at]])
    y = np.concatenate([[0.0], (at + 1) / len(every)])
    return Line(name, x, y, algorithm=algorithm, style=number)
