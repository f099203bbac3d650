"""Loads what `sweep` and `compare` saved."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe.results.files import read_parquet
from fullpipe.results.model import RUNNER, Axis, NoResultsError, Point, Results, Series
from fullpipe.results.words import read_json, short, spans, titled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def load_sweep(directory: Path) -> Results:
    """Loads what `sweep` saves: a point for each combination of values and each runner."""
    about = read_json(directory / "sweep.json")
    runners: list[str] = about.get("runners", ["sim"])
    rows = _rows(directory, about, runners)
    axes = [Axis(axis["key"], tuple(map(str, axis["values"]))) for axis in about["axes"]]
    points = _points(rows, axes, directory, about["points"], runners)
    title, rest = titled(about["scenario"], about["file"])
    return Results(
        directory,
        title,
        rest,
        _facts(about, rows, runners),
        rows,
        axes,
        points,
        _series(directory, points, runners, about["points"]),
        {about["file"]: about["scenario"]},
    )


def _rows(directory: Path, about: dict[str, Any], runners: list[str]) -> pl.DataFrame:
    """Returns the rows of all shards; a point has a different number for each runner."""
    files = sorted(
        file for file in (directory / "runs").glob("*.parquet") if not file.name.startswith(".")
    )
    if not files:
        raise NoResultsError(
            f"{directory}: no run has finished: runs/ is empty\n  fix: resume the sweep"
        )
    rows = pl.concat([read_parquet(file) for file in files], how="diagonal_relaxed")
    if len(runners) > 1:
        place = pl.col("runner").replace_strict(runners, range(len(runners)), return_dtype=pl.Int64)
        rows = rows.with_columns(point=pl.col("point") + place * about["points"])
    return rows.sort("point", "seed", "flow_index")


def _series(
    directory: Path, points: dict[int, Point], runners: list[str], count: int
) -> list[Series]:
    """Returns the traces, in the order of points and seeds."""
    found = [
        Series(points[number], int(seed), file, links if links.is_file() else None)
        for first, runner in enumerate(runners)
        for file in sorted(
            (directory / "series" / ("" if runner == "sim" else runner)).glob("*.parquet")
        )
        if not file.stem.endswith(".links")
        for point, _, seed in [file.stem.partition("-")]
        for links in [file.with_name(f"{file.stem}.links.parquet")]
        if point.isdigit() and seed.isdigit()
        for number in [int(point) + first * count]
        if number in points
    ]
    return sorted(found, key=lambda each: (each.point.number, each.seed))


def _facts(about: dict[str, Any], rows: pl.DataFrame, runners: list[str]) -> list[tuple[str, str]]:
    facts = [
        ("Command", about["command"]),
        ("Version", f"fullpipe {about['version']}, build {about['build']}"),
    ]
    runs = rows.select("point", "seed").n_unique()
    whole = "" if runs == about["runs"] else f" of {about['runs']:,}, the sweep is incomplete"
    if runners != ["sim"]:
        facts.append(("Run on", ", ".join(runners)))
    facts.append(
        ("Runs", f"{runs:,}{whole}: {about['points']:,} points, seeds {spans(about['seeds'])}")
    )
    facts += [("Machine", ", ".join(words)) for words in _machines(rows)]
    if added := about["added_jitter"]:
        facts.append(
            (
                "Added for repetitions",
                ", ".join(f"{key} = {_listed(value)}" for key, value in added.items()),
            )
        )
    return facts


def load_comparison(directory: Path) -> Results:
    """Loads what `compare` saves: two data sets, whose points differ in the setting `case`."""
    about = read_json(directory / "compare.json")
    if "arms" in about:
        raise NoResultsError(
            f"{directory}: a comparison of a fleet's arms, which has its report already\n"
            f"  fix: make a new report of the fleet: fullpipe report {quote(about['directory'])}"
        )
    parts = [(part, load_sweep(directory / part)) for part in ("alone", "together")]
    rows, series = [], []
    points: dict[int, Point] = {}
    for part, results in parts:
        first = max(points, default=-1) + 1
        rows.append(results.rows.with_columns(pl.col("point") + first))
        for number, point in results.points.items():
            cc = point.settings.get("flow.0.cc")
            settings = {"case": part, **({RUNNER: point.runner} if point.runner else {})}
            label = f"{cc} alone" if cc else part
            points[first + number] = replace(
                point, number=first + number, label=label, settings=settings
            )
        series += [
            replace(each, point=points[first + each.point.number]) for each in results.series
        ]
    _, alone = parts[0]
    facts = [
        ("Command", about["command"]),
        *(fact for fact in alone.facts if fact[0] not in ("Command", "Runs")),
    ]
    seeds = sorted({seed for point in points.values() for seed in point.seeds})
    facts.append(
        ("Runs", f"{sum(len(point.seeds) for point in points.values()):,}, seeds {spans(seeds)}")
    )
    return Results(
        directory,
        f"{', '.join(about['algorithms'])}: each alone, then together",
        "",
        facts,
        pl.concat(rows, how="diagonal_relaxed"),
        [],
        points,
        series,
        {part: text for part, results in parts for text in results.scenarios.values()},
    )


def _listed(value: str | list[str]) -> str:
    return value if isinstance(value, str) else " or ".join(value)


def _machines(rows: pl.DataFrame) -> Iterator[list[str]]:
    """Yields the facts about the machine that are the same in all runs of a runner, for each runner."""
    names = [name for name in rows.columns if name.startswith("host.")]
    for (_,), those in rows.group_by("runner", maintain_order=True) if names else ():
        same = [(name, those[name].unique().to_list()) for name in names]
        if words := [
            f"{name.removeprefix('host.')} {values[0]}"
            for name, values in same
            if len(values) == 1 and values[0]
        ]:
            yield words


def _points(
    rows: pl.DataFrame, axes: list[Axis], directory: Path, count: int, runners: list[str]
) -> dict[int, Point]:
    keys = [axis.key for axis in axes]
    points = {}
    for row in (
        rows.group_by("point")
        .agg(*(pl.col(key).first() for key in keys), pl.col("seed").unique().sort())
        .rows(named=True)
    ):
        settings = {key: str(row[key]) for key in keys}
        label = (
            ", ".join(f"{short(key)} {value}" for key, value in settings.items()) or "the scenario"
        )
        runner = runners[row["point"] // count]
        on = "" if runner == "sim" else f" --on {runner}"
        command = f"fullpipe run {quote(str(directory))} --point {row['point'] % count}{on} --seed {row['seed'][0]}"
        one_of = runner if len(runners) > 1 else ""
        if one_of:
            settings[RUNNER] = runner
        points[row["point"]] = Point(
            row["point"], label, settings, tuple(row["seed"]), command, one_of
        )
    return dict(sorted(points.items()))
