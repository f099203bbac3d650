"""Values that panels take from saved results: numbers by point, contender and seed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from fullpipe.results.model import RESULTS, RUNNER
from fullpipe.results.overlay import factors
from fullpipe.results.scenario import Tables
from fullpipe.results.words import short
from fullpipe.runs.view.left import left_out
from fullpipe.runs.view.path import links_of_acks
from fullpipe.runs.view.table import flow_name
from fullpipe.stats import Interval, columns_asked, columns_shown, is_shown, mean, quantity
from fullpipe.stats.quantity import rank

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fullpipe.results.model import Results
    from fullpipe.stats import Quantity

_MOST_FLOWS = 7
_MOST_LINKS = 8
_MEASURED_KIND = "bulk"
ALL = "all flows"
"""Label of what belongs to a run as a whole."""


@dataclass(frozen=True)
class Group:
    """The runs of one contender with one setting of the other keys.

    Attributes:
        contender: The subject of comparison: an algorithm, or a flow of a run.
        place: Setting of the other keys as text; empty if no other key varies.
        settings: Setting of the other keys, as keys and values.
        point: Number of the point.
        role: Identity of the contender within a run: its `[[flow]]` table, flow index or algorithm.
        values: Values by metric and seed.
        runner: Name of the runner if there are several; `place` includes it.
        algorithm: Name of the contender's algorithm; for several algorithms, that of the first flow.
        kind: Kind of its application, such as `bulk` or `request`; empty if unknown.
        varied: Setting of all keys that vary, those of algorithms included.
        words: Setting of the keys among the other ones whose values are compared, as text.
        scene: Setting of the keys that are numbers, as text.
        route: The links that its data cross; empty if they are unknown.
        only: Whether the results have no other contender, so that labels can leave it out.
    """

    contender: str
    place: str
    settings: dict[str, str]
    point: int
    role: object
    values: dict[str, dict[int, float]]
    runner: str = ""
    kind: str = ""
    varied: dict[str, str] = field(default_factory=dict)
    words: str = ""
    scene: str = ""
    algorithm: str = ""
    route: frozenset[str] = frozenset()
    only: bool = False

    @property
    def named(self) -> str:
        """Name of the contender, with the runner if there are several."""
        return f"{self.contender}, {self.runner}" if self.runner else self.contender

    @property
    def label(self) -> str:
        """Name of the contender, with the compared values and the runner."""
        if self.only and self.words:
            return self.words
        return ", ".join(filter(None, (self.contender, self.words)))

    def label_of(self, column: str, *, swept: bool) -> str:
        """Returns the label of a line of a metric: that of a run leaves the flow out, unless algorithms are swept."""
        return self.words or ALL if is_of_run(column) and not swept else self.label

    def of(self, metric: str) -> list[float]:
        """Returns the values of all seeds, in order of seed."""
        return [value for _, value in sorted(self.values.get(metric, {}).items())]


class Measures(NamedTuple):
    """The metrics of a report, the most informative ones first."""

    every: list[Quantity]
    asked: bool
    """Whether a user has chosen them; then each view shows all."""

    def at(self, view: str) -> list[Quantity]:
        """Returns those that a view shows."""
        return [each for each in self.every if self.asked or is_shown(each.column, view)]


def measures(results: Results, asked: Sequence[str] = ()) -> Measures:
    """Returns the metrics for which there is any value: those of flows, then those of whole runs.

    Args:
        results: The results.
        asked: The names of those to take instead of the usual ones.

    Raises:
        MetricError: When a name is unknown, or the runs have no value of it.
    """
    if asked:
        there = [name for name in results.rows.columns if _known(results.rows, name)]
        columns = columns_asked(asked, there)
        return Measures([found for found in map(quantity, columns) if found], True)
    columns = [name for name in columns_shown("report") if _known(results.rows, name)]
    columns = list(dict.fromkeys(columns + run_metrics(results)))
    found = [each for each in map(quantity, columns) if each is not None]
    return Measures(sorted(found, key=lambda each: rank(each.column)), False)


def run_metrics(results: Results) -> list[str]:
    """Returns the columns that belong to a run, not to a flow."""
    several = results.rows["flow_index"].max() != 0 and _alike(results)
    links = _links(results)
    acks: set[str] = set()
    if complete := [each.scenario for each in results.points.values() if each.scenario]:
        acks = set.intersection(*map(links_of_acks, dict.fromkeys(complete)))
    by_flow = _known(results.rows, "queue_delay_s.p95")
    shown = ["jain"] if several and _known(results.rows, "jain") else []
    for link in links[:_MOST_LINKS]:
        # Delays of data by flow are more informative. The share of a link that ACKs use is neither better nor worse.
        shown += [
            f"link.{link}.{name}"
            for name in columns_shown("report", links=True)
            if ("queue_delay" in name) == (link in acks) or not (by_flow or link in acks)
        ]
        dropped = f"link.{link}.ack_drops"
        if dropped in results.rows.columns and (results.rows[dropped].fill_null(0) > 0).any():
            shown.append(dropped)
    return [name for name in shown if _known(results.rows, name)]


def _links(results: Results) -> list[str]:
    named = [
        name.removeprefix("link.").removesuffix(".utilization")
        for name in results.rows.columns
        if name.startswith("link.") and name.endswith(".utilization")
    ]
    return list(dict.fromkeys(named))


def links_left(results: Results) -> str:
    """Returns which links the usual metrics leave out, in words; empty if none."""
    links = _links(results)
    return left_out(links[_MOST_LINKS:], len(links))


def _alike(results: Results) -> bool:
    """Returns whether all flows have the same kind of application, so that equal shares would be fair."""
    tables = Tables()
    return all(
        len({row.kind for row in tables.of(point) if row.kind != "unresponsive"}) <= 1
        for point in results.points.values()
    )


def mean_of(values: Sequence[float], column: str) -> Interval:
    """Returns the mean of a metric with its interval, which ends where the metric does."""
    found = mean(values)
    if column != "jain" and not column.endswith(".utilization"):
        return found
    low, high = (min(max(end, 0.0), 1.0) if math.isfinite(end) else end for end in found[1:])
    return Interval(found.value, low, high)


def several_have(groups: Sequence[Group], column: str) -> bool:
    """Returns whether several contenders have values of a metric; of a run's, only if algorithms are swept."""
    return len({group.contender for group in groups if group.of(column)}) > 1


def is_of_run(column: str) -> bool:
    """Returns whether a column belongs to a run, not to a flow: each of its flows has the same value."""
    return column.startswith("link.") or column in ("jain", "packets")


def groups(results: Results, columns: Sequence[str] = ()) -> list[Group]:
    """Groups runs by contender and setting, in the order of points and flows.

    If a sweep varies the algorithm of a `[[flow]]` or `[[workload]]`, each such algorithm is a contender,
    measured by the mean of the table's flows; the flows of other tables are further contenders. Those of a
    canned test are its directions. Otherwise each flow of a run is a contender, or with more than seven
    flows each algorithm.

    Args:
        results: The results.
        columns: Columns to take; empty for all metrics.
    """
    columns = columns or [each.column for each in measures(results).every]
    tables = Tables()
    rows, by = _told_apart(results, tables)
    table = (
        rows.group_by("point", by, "seed", maintain_order=True)
        .agg(
            *(pl.col(name).first() for name in ("flow", "cc") if name != by),
            *(pl.col(name).cast(pl.Float64).mean() for name in columns),
            first=pl.col("flow_index").min(),
            count=pl.len(),
        )
        .sort("point", "first", "seed")
    )
    kinds = dict(table.group_by("point").agg(pl.col(by).n_unique()).iter_rows())
    # Metrics of the run are reported for one contender only: the varied algorithm, or the first flow.
    owner = next(iter(_set_by(results, tables).values()), 0) if by == "table" else None
    about = _Naming(results, tables, by)
    found: dict[tuple[int, object], Group] = {}
    for row in table.iter_rows(named=True):
        key = (row["point"], row[by])
        if key not in found:
            found[key] = about.group(row, kinds[row["point"]] == 1, columns)
        for column in columns:
            value = row[column]
            whole = is_of_run(column)
            owns = not whole or (row["first"] == 0 if owner is None else row[by] == owner)
            if owns and value is not None and math.isfinite(value):
                found[key].values[column][row["seed"]] = value
    only = len({group.contender for group in found.values()}) == 1
    return [replace(group, only=only) for group in found.values()]


def _told_apart(results: Results, tables: Tables) -> tuple[pl.DataFrame, str]:
    """Returns the rows, and the column that identifies contenders: `table`, `flow_index` or `cc`."""
    if results.tested:
        roles = results.tested["roles"]
        order = list(dict.fromkeys(roles.values()))
        found = [order.index(roles[flow]) for flow in results.rows["flow"]]
        return results.rows.with_columns(table=pl.Series(found, dtype=pl.Int64)), "table"
    if _set_by(results, tables):
        numbers = {
            (number, index): table
            for number, point in results.points.items()
            for index, (table, _, _) in enumerate(tables.of(point))
        }
        pairs = zip(results.rows["point"], results.rows["flow_index"], strict=True)
        found = [numbers.get(pair, pair[1]) for pair in pairs]
        return results.rows.with_columns(table=pl.Series(found, dtype=pl.Int64)), "table"
    most = results.rows["flow_index"].max()
    return results.rows, "cc" if isinstance(most, int) and most >= _MOST_FLOWS else "flow_index"


def _set_by(results: Results, tables: Tables) -> dict[str, int]:
    """Maps each swept key that sets an algorithm to the index of its table."""
    keys = {axis.key: axis.cc_of for axis in results.axes if axis.cc_of}
    if not keys:
        return {}
    first = tables.of(next(iter(results.points.values())))
    before = len({row.table for row in first if row.kind != "workload"})
    return {key: number + (before if of == "workload" else 0) for key, (of, number) in keys.items()}


class _Naming:
    """The names of groups, from the settings of their points."""

    def __init__(self, results: Results, tables: Tables, by: str) -> None:
        self._results, self._tables, self._by = results, tables, by
        self._set_by = _set_by(results, tables)
        _, numbers = factors(results.axes, results.points)
        self._numbers = {key for factor in numbers for key in factor}

    def group(self, row: Mapping[str, Any], alone: bool, columns: Sequence[str]) -> Group:
        """Returns an empty group for a row of a point and a contender."""
        point = self._results.points[row["point"]]
        ccs = {table: point.settings[key] for key, table in self._set_by.items()}
        others = {key: value for key, value in point.settings.items() if key not in self._set_by}
        tables = self._tables.of(point)
        its = tables[row["first"]] if row["first"] < len(tables) else None
        return Group(
            self._of_test(row) or _contender(row, self._by, alone, ccs, point.measured),
            placed(others),
            others,
            row["point"],
            row[self._by],
            {column: {} for column in columns},
            point.runner,
            # Flows of another program are compared with those that send as much as they can.
            its.kind if its else _MEASURED_KIND * point.measured,
            dict(point.settings),
            placed({key: others[key] for key in others if key not in self._numbers}),
            placed({key: others[key] for key in others if key in self._numbers}),
            algorithm=row["cc"],
            # The flows of one algorithm may have several routes.
            route=its.route if its and self._by != "cc" else frozenset(),
        )

    def _of_test(self, row: Mapping[str, Any]) -> str:
        """Returns the name of a direction of a canned test: `4 × download (cubic)`; empty for other results."""
        if self._results.tested is None:
            return ""
        role = self._results.tested["roles"][row["flow"]]
        count = f"{row['count']} × " if row["count"] > 1 else ""
        cc = "" if row["cc"] == "unknown" else f" ({row['cc']})"
        return f"{count}{role}{cc}"


def placed(settings: Mapping[str, str]) -> str:
    """Returns settings in words: "queue fq_codel, buffer 4bdp"."""
    return ", ".join(
        value if key in ("case", RUNNER, RESULTS) else f"{short(key)} {value}"
        for key, value in settings.items()
    )


def _contender(
    row: Mapping[str, Any], by: str, alone: bool, ccs: Mapping[int, str], measured: bool
) -> str:
    cc, flow, count = row["cc"], row["flow"], row["count"]
    if cc == "unknown" and by != "cc":
        return str(flow)  # of a measurement
    several = f"{count} × {cc}" if count > 1 else cc
    if by == "cc" or (alone and not measured):
        return several
    full = several if count > 1 else flow_name(flow, cc)
    if not ccs:
        return full
    if len(ccs) == 1:
        (table,) = ccs
        return several if table == row[by] else f"{full} competing with {ccs[table]}"
    return f"{several}, flow {row[by]} of {' / '.join(ccs.values())}"


def _known(rows: pl.DataFrame, name: str) -> bool:
    return name in rows.columns and rows[name].is_not_null().any()


def shown(quantity: Quantity, value: float) -> str:
    """Formats a value in the display unit of its quantity, without the unit."""
    if not math.isfinite(value):
        return "–"
    scaled = value * quantity.scale
    size = abs(scaled)
    return f"{scaled:,.{0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 1 or size == 0 else 3}f}"


def titled(quantity: Quantity) -> str:
    """Formats a quantity with its unit, for a column header or an axis."""
    words = quantity.words[0].upper() + quantity.words[1:]
    return f"{words}, {quantity.unit}" if quantity.unit else words
