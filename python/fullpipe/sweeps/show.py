"""The results of a sweep as a table for a terminal of 80 columns: a line per point and flow."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import polars as pl
from rich.text import Text

from fullpipe.stats import columns_shown
from fullpipe.view.table import NONE, digits, make_table, narrow, number_columns, rate_unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from fullpipe._core import SweepPlan
    from fullpipe.sweeps.dataset import Sweep

_MOST_LINES = 60


def summary(sweep: Sweep) -> pl.DataFrame:
    """Returns a row per point, flow and runner: the varied keys, `runs`, and median and quartiles of shown metrics."""
    keys = [key for key in sweep.axes if key in sweep.points.columns]
    statistics = [
        pl.col(metric).quantile(at, "linear").alias(f"{metric}{name}")
        for metric in columns_shown("sweep")
        for at, name in ((0.5, ""), (0.25, ".p25"), (0.75, ".p75"))
    ]
    grouped = sweep.scan().group_by("point", "flow_index", "flow", "cc", "runner", *keys)
    place = pl.col("runner").cast(pl.Enum(sweep.runners))
    return (
        grouped.agg(pl.len().alias("runs"), *statistics)
        .sort("point", "flow_index", place)
        .collect()
    )


def records(sweep: Sweep) -> str:
    """Returns :func:`summary` as a JSON list."""
    return json.dumps(summary(sweep).to_dicts())


def show(sweep: Sweep, console: Console) -> None:
    """Prints the table: medians over the seeds, with quartiles if there are several seeds."""
    rows = summary(sweep)
    keys = list(sweep.axes)
    several = len(sweep.seeds) > 1
    unit, scale = rate_unit(rows["goodput_bps"].drop_nulls())
    table = make_table(_header(keys[0]) if keys else "flow")
    for key in keys[1:]:
        table.add_column(_header(key), vertical="bottom", no_wrap=True)
    if keys and (rows["flow_index"].max() or rows["flow"].n_unique() > 1):
        table.add_column("flow", vertical="bottom", no_wrap=True)
    with_flow = not keys or len(table.columns) > len(keys)
    on_several = len(sweep.runners) > 1
    if on_several:
        table.add_column("on", vertical="bottom", no_wrap=True)
    number_columns(table, f"goodput\n{unit}", "queue\nms", "re-\nsent")
    for row in rows.head(_MOST_LINES).iter_rows(named=True):
        table.add_row(
            *(Text(row[key] or NONE) for key in keys),
            *([Text(row["flow"])] if with_flow else []),
            *([Text(row["runner"])] if on_several else []),
            _spread(row, "goodput_bps", scale, several),
            _spread(row, "queue_delay_s.mean", 1e-3, several),
            NONE if row["retransmits"] is None else f"{row['retransmits']:.0f}",
        )
    narrowed = narrow(table, console)
    title = f"{sweep.about['file']}: {_count(sweep.about['points'], 'point')} × {_count(len(sweep.seeds), 'seed')}"
    console.print(title, style="bold", markup=False)
    console.print("")
    console.print(table)
    if several:
        console.print("median [quartiles] of the seeds", style="dim", markup=False)
    if len(rows) > _MOST_LINES:
        console.print(
            f"{len(rows) - _MOST_LINES:,} further lines are left out; see the data set", style="dim"
        )
    if narrowed:
        console.print("some columns do not fit and are left out; see the data set", style="dim")
    console.print("")


def facts(sweep: Sweep, plan: SweepPlan, runs: int, packets: int, wall_s: float) -> Iterator[str]:
    """Yields lines about the runs, the added jitter, and the directory."""
    before = plan.runs * len(sweep.runners) - runs
    done = f"{runs:,} runs, {packets:,} packets in {wall_s:.2f} s" if runs else "nothing to run"
    yield f"{done}; {before:,} runs were already finished" if before else done
    added = [
        f"{key} {least}" if least == most else f"{key} {least} to {most}"
        for key, least, most in plan.added_jitter
    ]
    if added:
        yield f"jitter added so that repetitions differ: {', '.join(added)}"
    yield f"kept in {sweep.called}"


def warnings(sweep: Sweep) -> Iterator[str]:
    """Yields each warning, with the number of runs that have it."""
    rows = sweep.scan()
    if "warnings" not in rows.collect_schema():
        return
    each = (
        rows.filter(pl.col("warnings") != "")
        .unique(["point", "seed", "runner"])
        .select("runner", "warnings")
        .collect()
    )
    counted = Counter(
        (runner, warning) for runner, joined in each.iter_rows() for warning in joined.split("; ")
    )
    for (runner, warning), count in counted.most_common():
        yield f"warning ({runner}, {_count(count, 'run')}): {warning}"


def _header(key: str) -> str:
    """Splits a key into two lines, so that columns stay narrow."""
    table, _, name = key.rpartition(".")
    return f"{table}\n{name}" if table else name


def _spread(row: dict[str, float | None], metric: str, scale: float, several: bool) -> str:
    middle, low, high = (row[f"{metric}{part}"] for part in ("", ".p25", ".p75"))
    if middle is None or low is None or high is None:
        return NONE
    if not several:
        return digits(middle / scale)
    return f"{digits(middle / scale)} [{digits(low / scale)}–{digits(high / scale)}]"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"
