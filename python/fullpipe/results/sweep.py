"""Loads what `sweep` and `compare` saved."""

from __future__ import annotations

import re
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from fullpipe.algorithms.own import facts as facts_of
from fullpipe.algorithms.own import options
from fullpipe.base.build import in_words
from fullpipe.results import about as abouts
from fullpipe.results import fingerprint
from fullpipe.results.kept import read_json, read_parquet, scan_parquet, shards
from fullpipe.results.model import RUNNER, TABLES, Axis, NoResultsError, Point, Results, Series
from fullpipe.results.objects import called
from fullpipe.results.overlay import overlays
from fullpipe.results.sums import is_shard, is_there, stem
from fullpipe.results.words import command_of, short, spans, titled
from fullpipe.runners import SIMULATOR, option

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


PARTS = ("alone", "together")
"""The directories of a comparison's sweeps."""
_SHARD = re.compile(r"(\d+)-(\d+)-([0-9a-f]{16})(?:-([a-z0-9-]+))?")


class ShardFile(NamedTuple):
    """A file with the rows of runs.

    Attributes:
        first: The number of the first run.
        end: The number after that of the last run.
        runner: Their runner.
        file: The file.
    """

    first: int
    end: int
    runner: str
    file: Path


def shard_files(directory: Path, identity: str) -> list[ShardFile]:
    """Returns the shards of a sweep, without files of other sweeps, in the order of their names.

    A process that is killed while it replaces a shard leaves two with the same runs; one of them counts.
    """
    found = {
        stem(file): ShardFile(int(name[1]), int(name[2]), name[4] or SIMULATOR, file)
        for file in shards(directory / "runs")
        if is_shard(file) and (name := _SHARD.fullmatch(stem(file))) and name[3] == identity
    }
    return list(found.values())


def shard_stem(first: int, end: int, identity: str, runner: str) -> str:
    """Returns the name of a shard's file without its checksum."""
    whose = "" if runner == SIMULATOR else f"-{runner}"
    return f"{first:07}-{end:07}-{identity}{whose}"


def fingerprint_of(directory: Path, about: abouts.SweepAbout) -> str | None:
    """Returns the fingerprint of all rows of a sweep that are not of real clocks; None without such rows.

    Raises:
        DamagedError: When a shard is damaged.
    """
    frames = [scan_parquet(each.file) for each in shard_files(directory, about["identity"])]
    names = [each.collect_schema().names() for each in frames]
    known = [
        each.select(fingerprint.NAME).collect()[fingerprint.NAME]
        for each, columns in zip(frames, names, strict=True)
        if fingerprint.NAME in columns
    ]
    sealed = pl.concat(known).drop_nulls().to_list() if known else []
    return fingerprint.of_all(sealed) if sealed else None


def load_sweep(directory: Path) -> Results:
    """Loads what `sweep` saves: a point for each combination of values and each runner."""
    about = abouts.sweep(directory)
    runners = about["runners"]
    rows = _rows(directory, about)
    axes = [Axis(axis["key"], tuple(axis["values"])) for axis in about["axes"]]
    points = _points(rows, axes, directory, about, runners)
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
        overlay=overlays(axes, points),
        transfers=_transfers(directory, runners, about["points"]),
    )


def _transfers(directory: Path, runners: list[str], count: int) -> dict[tuple[int, int], Path]:
    """Returns the transfers of runs, by point and seed."""
    found = {}
    for first, runner in enumerate(runners):
        for name, file in series_files(directory, runner).items():
            if of := re.fullmatch(r"(\d+)-(\d+)\.transfers", name):
                found[int(of[1]) + first * count, int(of[2])] = file
    return dict(sorted(found.items()))


def _rows(directory: Path, about: abouts.SweepAbout) -> pl.DataFrame:
    """Returns the rows of all shards; a point has a different number for each runner."""
    runners, files = about["runners"], shard_files(directory, about["identity"])
    if not files:
        raise NoResultsError(
            f"{directory}: no run has finished: runs/ is empty\n  fix: resume the sweep"
        )
    rows = pl.concat([read_parquet(each.file) for each in files], how="diagonal_relaxed")
    if len(runners) > 1:
        place = pl.col("runner").replace_strict(runners, range(len(runners)), return_dtype=pl.Int64)
        rows = rows.with_columns(point=pl.col("point") + place * about["points"])
    return rows.sort("point", "seed", "flow_index")


def _series(
    directory: Path, points: dict[int, Point], runners: list[str], count: int
) -> list[Series]:
    """Returns the traces, in the order of points and seeds."""
    found = []
    for first, runner in enumerate(runners):
        files = series_files(directory, runner)
        for name in files:
            point, _, seed = name.partition("-")
            if point.isdigit() and seed.isdigit() and int(point) + first * count in points:
                whose = points[int(point) + first * count]
                tables = {each: files.get(series_name(name, each)) for each in TABLES}
                found.append(
                    Series(whose, int(seed), {each: file for each, file in tables.items() if file})
                )
    return sorted(found, key=lambda each: (each.point.number, each.seed))


def series_files(directory: Path, runner: str) -> dict[str, Path]:
    """Returns the recorded tables of a runner, by the names that :func:`series_name` gives them."""
    folder = series_folder(directory, runner)
    return {stem(file): file for file in shards(folder) if is_shard(file)}


def series_name(run: str, table: str) -> str:
    """Returns the name of a run's table: `POINT-SEED` for flows, else `POINT-SEED.TABLE`."""
    return run if table == "flows" else f"{run}.{table}"


def series_folder(directory: Path, runner: str) -> Path:
    """Returns the folder of a runner's recorded traces."""
    return directory / "series" / ("" if runner == SIMULATOR else runner)


def _facts(
    about: abouts.SweepAbout, rows: pl.DataFrame, runners: list[str]
) -> list[tuple[str, str]]:
    facts = [
        ("Command", about["command"]),
        ("Version", in_words(about)),
        *facts_of(about.get("algorithms", [])),
    ]
    runs = rows.select("point", "seed").n_unique()
    whole = "" if runs == about["runs"] else f" of {about['runs']:,}, the sweep is incomplete"
    if runners != ["sim"]:
        facts.append(("Run on", ", ".join(runners)))
    settings = "one setting" if about["points"] == 1 else f"{about['points']:,} settings"
    facts.append(("Runs", f"{runs:,}{whole}: {settings}, seeds {spans(about['seeds'])}"))
    facts += [("Machine", ", ".join(words)) for words in _machines(rows)]
    if added := about["added_jitter"]:
        facts.append(
            (
                "Added for repetitions",
                ", ".join(f"{key} = {_spanned(value)}" for key, value in added.items()),
            )
        )
    return facts


def load_comparison(directory: Path) -> Results:
    """Loads what `compare` saves: two data sets, whose points differ in the setting `case`."""
    file = directory / "compare.json"
    if "arms" in read_json(file, dict[str, Any]):
        of_fleet = read_json(file, abouts.FleetComparisonAbout)
        raise NoResultsError(
            f"{directory}: a comparison of a fleet's arms, which has its report already\n"
            f"  fix: make a new report of the fleet: fullpipe report {quote(of_fleet['directory'])}"
        )
    about = read_json(file, abouts.ComparisonAbout)
    missing = [part for part in PARTS if not is_there(directory / part / "sweep.json")]
    if missing:
        raise NoResultsError(
            f"{directory}: an interrupted comparison, without runs {' and '.join(missing)}\n"
            f"  fix: continue it: {about['command']}"
        )
    parts = [(part, load_sweep(directory / part)) for part in PARTS]
    rows, series = [], []
    overlay = []
    points: dict[int, Point] = {}
    for part, results in parts:
        first = max(points, default=-1) + 1
        overlay.append([first + number for number in results.points])
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
        overlay=overlay,
    )


def _spanned(value: str | list[str]) -> str:
    """Returns a value that all points have, or the least and the greatest one of the points, in words."""
    return value if isinstance(value, str) else " to ".join(value)


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
    rows: pl.DataFrame,
    axes: list[Axis],
    directory: Path,
    about: abouts.SweepAbout,
    runners: list[str],
) -> dict[int, Point]:
    keys, count = [axis.key for axis in axes], about["points"]
    file = directory / "points.parquet"
    scenarios = read_parquet(file, ["scenario"])["scenario"] if is_there(file) else None
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
        place = ["--point", str(row["point"] % count)]
        seed = ["--seed", str(row["seed"][0])]
        again = options(about.get("algorithms", []))
        command = command_of("run", [called(directory), *place, *option(runner), *again, *seed])
        one_of = runner if len(runners) > 1 else ""
        if one_of:
            settings[RUNNER] = runner
        points[row["point"]] = Point(
            row["point"],
            label,
            settings,
            tuple(row["seed"]),
            command,
            one_of,
            "" if scenarios is None else scenarios[row["point"] % count],
            about["scenario"],
        )
    return dict(sorted(points.items()))
