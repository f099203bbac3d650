"""The results of a sweep as a table for a terminal of 80 columns: a line per point and flow."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

import polars as pl

from fullpipe.algorithms.programs.used import differences, names
from fullpipe.report.terminal import Line, columns, print_table
from fullpipe.results.words import short as short_key
from fullpipe.runs.view.path import configuration, stack_of
from fullpipe.runs.view.table import NONE
from fullpipe.stats import columns_asked, columns_shown, quantity
from fullpipe.stats.quantity import rank
from fullpipe.stats.steady import by_point
from fullpipe.stats.steady import lines as told

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from fullpipe._core import SweepPlan
    from fullpipe.report.terminal import Column
    from fullpipe.stats.steady import Steadiness
    from fullpipe.study.sweeps.dataset import Sweep

_MOST_LINES = 60
_NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?")
"""A number of a warning, which is no part of a name."""
_ALWAYS = ("goodput_bps", "queue_delay_s.mean", "retransmits")


def summary(sweep: Sweep, asked: Sequence[str] = ()) -> pl.DataFrame:
    """Returns a row per point, flow and runner: the varied keys, `runs`, and median and quartiles of shown metrics.

    Args:
        sweep: The sweep.
        asked: The metrics to show, by name; empty for those that suit the scenario.

    Raises:
        MetricError: When a metric is unknown, or no run has a value of it.
    """
    keys = [key for key in sweep.axes if key in sweep.points.columns]
    statistics = [
        pl.col(metric).cast(pl.Float64).quantile(at, "linear").alias(f"{metric}{name}")
        for metric in _shown(sweep, asked)
        for at, name in ((0.5, ""), (0.25, ".p25"), (0.75, ".p75"))
    ]
    grouped = sweep.scan().group_by("point", "flow_index", "flow", "cc", "runner", *keys)
    place = pl.col("runner").cast(pl.Enum(sweep.runners))
    return (
        grouped.agg(pl.len().alias("runs"), *statistics)
        .sort("point", "flow_index", place)
        .collect()
    )


def _lacking(sweep: Sweep, shown: Sequence[str]) -> Iterator[str]:
    """Yields each metric that only some runs of a line have, with the others."""
    line = ["point", "flow", "runner"]
    for column in shown:
        one = pl.col(column).is_null()
        without = (
            sweep.scan()
            .filter(one & ~one.all().over(*line))
            .select(*line, "seed")
            .sort(pl.all())
            .collect()
        )
        found = without.group_by("seed", maintain_order=True).agg(pl.col("point").n_unique())
        known = quantity(column)
        if len(found) and known is not None:
            seeds = ", ".join(map(str, sorted(found["seed"])))
            yield f"without {known.words}: seed{'s' if len(found) > 1 else ''} {seeds}{_at(sweep, without)}"


def _at(sweep: Sweep, without: pl.DataFrame) -> str:
    """Returns the points and flows of lines, if there are others."""
    points, flows = without["point"].unique().sort(), without["flow"].unique().sort()
    at = f" of point {', '.join(map(str, points))}" if len(sweep.points) > 1 else ""
    return f"{at} ({', '.join(flows)})"


def _shown(sweep: Sweep, asked: Sequence[str]) -> list[str]:
    """Returns the columns to show: those asked for, or the usual ones that have a value."""
    rows = sweep.scan()
    quantities = [name for name in rows.collect_schema() if quantity(name) is not None]
    known = rows.select(pl.col(name).is_not_null().any() for name in quantities).collect().row(0)
    there = [name for name, has in zip(quantities, known, strict=True) if has]
    if asked:
        return columns_asked(asked, there)
    return [name for name in columns_shown("sweep") if name in there or name in _ALWAYS]


def records(sweep: Sweep, asked: Sequence[str] = ()) -> str:
    """Returns :func:`summary` as a JSON list; each row also has the fingerprint of the whole sweep."""
    rows = summary(sweep, asked).to_dicts()
    also = {"fingerprint": sweep.fingerprint} if sweep.fingerprint else {}
    return json.dumps([{**row, **also} for row in rows])


def show(sweep: Sweep, console: Console, asked: Sequence[str] = ()) -> None:
    """Prints the table: medians over the seeds, with quartiles if there are several seeds.

    Raises:
        MetricError: When a metric is unknown, or no run has a value of it.
    """
    rows = summary(sweep, asked)
    keys = list(sweep.axes)
    several = len(sweep.seeds) > 1
    with_flow = not keys or rows["flow_index"].max() or rows["flow"].n_unique() > 1
    on_several = len(sweep.runners) > 1
    shown = _columns(rows, asked)
    names = [*map(_header, keys), *(["flow"] if with_flow else []), *(["on"] if on_several else [])]
    lines = [
        Line(
            [
                *(row[key] or NONE for key in keys),
                *([row["flow"]] if with_flow else []),
                *([row["runner"]] if on_several else []),
            ],
            [
                each.cell(*(row[f"{each.quantity.column}{part}"] for part in ("", ".p25", ".p75")))
                for each in shown
            ],
        )
        for row in rows.head(_MOST_LINES).iter_rows(named=True)
    ]
    title = f"{sweep.about['file']}: {_count(sweep.about['points'], 'point')} × {_count(len(sweep.seeds), 'seed')}"
    if "stack" not in keys:
        title += f"; {stack_of(sweep.scenario(0))}"
    console.print(title, style="bold", markup=False)
    console.print("")
    printed = print_table(console, names, shown, lines, keep=bool(asked))
    if several:
        quartiles = " [quartiles]" if printed.spreads else ""
        console.print(f"median{quartiles} of the seeds", style="dim", markup=False)
        for line in _lacking(sweep, [each.quantity.column for each in shown]):
            console.print(line, style="dim", markup=False)
    for window in configuration(sweep.points["scenario"])[1:]:
        console.print(" ".join(window).lower(), style="dim", markup=False)
    columns = _shown(sweep, asked) if asked else ()
    for line in told({place: each.of(columns) for place, each in steadiness(sweep).items()}):
        console.print(line, style="yellow" if "not steady" in line else "dim", markup=False)
    if len(rows) > _MOST_LINES:
        console.print(
            f"{len(rows) - _MOST_LINES:,} further lines are left out; see the data set", style="dim"
        )
    if printed.narrowed:
        console.print("some columns do not fit and are left out; see the data set", style="dim")
    console.print("")


def steadiness(sweep: Sweep) -> dict[str, Steadiness]:
    """Returns the verdict on each point and runner, by its settings in words; empty for runs without a test."""
    rows = sweep.scan()
    if "steadiness.verdict" not in rows.collect_schema():
        return {}
    keys = [key for key in sweep.axes if key in sweep.points.columns]
    several = len(sweep.runners) > 1
    verdicts = {}
    for (runner,), of_runner in rows.collect().group_by("runner", maintain_order=True):
        labels = {
            row["point"]: ", ".join(f"{short_key(key)} {row[key]}" for key in keys)
            for row in of_runner.select("point", *keys).unique().iter_rows(named=True)
        }
        for point, verdict in by_point(of_runner).items():
            place = ", ".join(filter(None, (labels[point], str(runner) if several else "")))
            verdicts[place] = verdict
    return verdicts


def _columns(rows: pl.DataFrame, asked: Sequence[str]) -> list[Column]:
    """Returns the columns of the table, the most informative first."""
    there = [found for name in rows.columns if (found := quantity(name)) is not None]
    if not asked:
        there = sorted(
            (each for each in there if each.column != "jain"), key=lambda each: rank(each.column)
        )
    return columns(there, rows["goodput_bps"].drop_nulls() if "goodput_bps" in rows.columns else [])


def facts(sweep: Sweep, plan: SweepPlan, runs: int, packets: int, wall_s: float) -> Iterator[str]:
    """Yields lines about the runs, the added jitter, and the directory."""
    before = plan.runs * len(sweep.runners) - runs
    done = f"{runs:,} runs, {packets:,} packets in {wall_s:.2f} s" if runs else "nothing to run"
    yield f"{done}; {before:,} runs were already finished" if before else done
    added = [
        f"{key} {of}" if isinstance(of, str) else f"{key} {' to '.join(of)}"
        for key, of in sweep.about["added_jitter"].items()
    ]
    if added:
        yield f"jitter added so that repetitions differ: {', '.join(added)}"
    if known := sweep.fingerprint:
        yield f"fingerprint {known}"
    yield f"kept in {sweep.called}"


def warnings(sweep: Sweep) -> Iterator[str]:
    """Yields each kind of warning, with the number of runs that have it."""
    for (runner, warning), count in warned(sweep).most_common():
        yield f"warning ({runner}, {_count(count, 'run')}): {warning}"
    used = (
        sweep.scan()
        .select("runner", "flow", "cc")
        .unique()
        .sort(pl.all().cast(pl.String))
        .collect()
        if len(sweep.runners) > 1
        else pl.DataFrame()
    )
    programs = names([sweep.scenario(0)])
    yield from (
        f"warning: {each}"
        for each in differences(
            (f"on {runner}", flow, cc) for runner, flow, cc in used.iter_rows() if flow in programs
        )
    )


def warned(sweep: Sweep) -> Counter[tuple[str, str]]:
    """Returns the number of runs with a warning, by runner and warning; warnings differ in more than their numbers."""
    rows = sweep.scan()
    if "warnings" not in rows.collect_schema():
        return Counter()
    each = (
        rows.filter(pl.col("warnings") != "")
        .select("point", "seed", "runner", "warnings")
        .unique()
        .sort(pl.all())
        .collect()
    )
    kinds: dict[tuple[str, str], dict[str, set[tuple[int, int]]]] = {}
    for point, seed, runner, joined in each.iter_rows():
        for warning in joined.split("; "):
            kind = kinds.setdefault((runner, _NUMBER.sub("", warning)), {})
            kind.setdefault(warning, set()).add((point, seed))
    return Counter(
        {
            (runner, _as_one(list(texts))): len(set().union(*texts.values()))
            for (runner, _), texts in kinds.items()
        }
    )


def _as_one(texts: Sequence[str]) -> str:
    """Returns a text for texts that differ in their numbers only, with the ranges of these."""
    columns = zip(*map(_NUMBER.findall, texts), strict=True)
    ranges = iter([(min(each, key=float), max(each, key=float)) for each in columns])

    def ranged(_: re.Match[str]) -> str:
        least, most = next(ranges)
        return least if least == most else f"{least} to {most}"

    return _NUMBER.sub(ranged, texts[0])


def _header(key: str) -> str:
    """Splits a key into two lines, so that columns stay narrow."""
    table, _, name = key.rpartition(".")
    return f"{table}\n{name}" if table else name


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"
