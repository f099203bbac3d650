"""Values that panels take from saved results: numbers by point, contender and seed."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe.results.model import RUNNER
from fullpipe.results.words import short
from fullpipe.stats import columns_shown, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fullpipe.results.model import Results
    from fullpipe.stats import Quantity

_MOST_FLOWS = 7
_MOST_LINKS = 3


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
    """

    contender: str
    place: str
    settings: dict[str, str]
    point: int
    role: object
    values: dict[str, dict[int, float]]
    runner: str = ""

    @property
    def named(self) -> str:
        """Name of the contender, with the runner if there are several."""
        return f"{self.contender}, {self.runner}" if self.runner else self.contender

    def of(self, metric: str) -> list[float]:
        """Returns the values of all seeds, in order of seed."""
        return [value for _, value in sorted(self.values.get(metric, {}).items())]


def metrics(results: Results) -> list[Quantity]:
    """Returns the metrics for which there is any value: those of flows, then those of whole runs."""
    columns = [name for name in columns_shown("report") if _known(results.rows, name)]
    columns += run_metrics(results)
    return [found for found in map(quantity, columns) if found is not None]


def run_metrics(results: Results) -> list[str]:
    """Returns the columns that belong to a run, not to a flow."""
    several = results.rows["flow_index"].max() != 0
    links = dict.fromkeys(
        name.split(".")[1] for name in results.rows.columns if name.startswith("link.")
    )
    shown = ["jain"] if several and _known(results.rows, "jain") else []
    shown += [
        f"link.{link}.{name}"
        for link in list(links)[:_MOST_LINKS]
        for name in columns_shown("report", links=True)
    ]
    shown = [name for name in shown if _known(results.rows, name)]
    if _known(results.rows, "queue_delay_s.p95"):  # the delays by flow are more informative
        shown = [name for name in shown if "queue_delay" not in name]
    return shown


def groups(results: Results, columns: Sequence[str] = ()) -> list[Group]:
    """Groups runs by contender and setting, in the order of points and flows.

    If a sweep varies the algorithm of a `[[flow]]` or `[[workload]]`, each such algorithm is a contender,
    measured by the mean of the table's flows; the flows of other tables are further contenders.
    Otherwise each flow of a run is a contender, or with more than seven flows each algorithm.

    Args:
        results: The results.
        columns: Columns to take; empty for all metrics.
    """
    columns = columns or [each.column for each in metrics(results)]
    whole = run_metrics(results)
    rows, by = _told_apart(results)
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
    owner = next(iter(_set_by(results).values()), 0) if by == "table" else None
    found: dict[tuple[int, object], Group] = {}
    for row in table.iter_rows(named=True):
        key = (row["point"], row[by])
        if key not in found:
            found[key] = _group(results, row, by, kinds[row["point"]] == 1, columns)
        for column in columns:
            value = row[column]
            owns = column not in whole or (row["first"] == 0 if owner is None else row[by] == owner)
            if owns and value is not None and math.isfinite(value):
                found[key].values[column][row["seed"]] = value
    return list(found.values())


def _told_apart(results: Results) -> tuple[pl.DataFrame, str]:
    """Returns the rows, and the column that identifies contenders: `table`, `flow_index` or `cc`."""
    if _set_by(results):
        numbers = {
            (number, index): table
            for number, point in results.points.items()
            for index, table in enumerate(_tables(results, point.settings))
        }
        pairs = zip(results.rows["point"], results.rows["flow_index"], strict=True)
        tables = [numbers.get(pair, pair[1]) for pair in pairs]
        return results.rows.with_columns(table=pl.Series(tables, dtype=pl.Int64)), "table"
    most = results.rows["flow_index"].max()
    return results.rows, "cc" if isinstance(most, int) and most >= _MOST_FLOWS else "flow_index"


def _tables(results: Results, settings: Mapping[str, str]) -> list[int]:
    """Returns the table index of each row of a run: `[[flow]]`s repeated `count` times, then `[[workload]]`s."""
    scenario = _scenario(results)
    counts = [
        int(settings.get(f"flow.{number}.count", flow.get("count", 1)))
        for number, flow in enumerate(scenario.get("flow", []))
    ]
    counts += [1 for _ in scenario.get("workload", [])]
    return [number for number, count in enumerate(counts) for _ in range(count)]


def _set_by(results: Results) -> dict[str, int]:
    """Maps each swept key that sets an algorithm to the index of its table."""
    before = {"flow": 0, "workload": len(_scenario(results).get("flow", []))}
    return {axis.key: before[axis.cc_of[0]] + axis.cc_of[1] for axis in results.axes if axis.cc_of}


def _scenario(results: Results) -> dict[str, Any]:
    return tomllib.loads(next(iter(results.scenarios.values()), ""))


def _group(
    results: Results, row: Mapping[str, Any], by: str, alone: bool, columns: Sequence[str]
) -> Group:
    point, tables = results.points[row["point"]], _set_by(results)
    ccs = {table: point.settings[key] for key, table in tables.items()}
    others = {key: value for key, value in point.settings.items() if key not in tables}
    place = ", ".join(
        value if key in ("case", RUNNER) else f"{short(key)} {value}"
        for key, value in others.items()
    )
    return Group(
        _contender(row, by, alone, ccs),
        place,
        others,
        row["point"],
        row[by],
        {column: {} for column in columns},
        point.runner,
    )


def _contender(row: Mapping[str, Any], by: str, alone: bool, ccs: Mapping[int, str]) -> str:
    cc, flow, count = row["cc"], row["flow"], row["count"]
    several = f"{count} × {cc}" if count > 1 else cc
    if by == "cc" or alone:
        return several
    full = several if count > 1 else flow if flow.startswith(cc) else f"{flow} ({cc})"
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
