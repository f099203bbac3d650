"""Reads what `run --out`, `sweep`, `compare`, `reproduce` and `conformance` have kept, into one form."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from itertools import takewhile
from shlex import quote
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe import _core
from fullpipe.results import RUNNERS, read_parquet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from fullpipe.metrics import Metrics


RUNNER = "runner"
"""Among a point's settings, which else are keys of scenarios: what it was run on."""


class NoResultsError(ValueError):
    """A directory that no report can be made of; the text says why and what to do."""


@dataclass(frozen=True)
class Axis:
    """A key that was swept, with its values as written, in their order."""

    key: str
    values: tuple[str, ...]

    @property
    def cc_of(self) -> tuple[str, int] | None:
        """Which `[[flow]]` or `[[workload]]` it gives an algorithm; None for any other key."""
        found = re.fullmatch(r"(flow|workload)\.(\d+)\.cc", self.key)
        return (found[1], int(found[2])) if found else None

    @property
    def is_cc(self) -> bool:
        """Whether it says which algorithm a flow has, or flows that arrive."""
        return self.cc_of is not None


@dataclass(frozen=True)
class Point:
    """One combination of values."""

    number: int
    label: str
    settings: Mapping[str, str]
    seeds: tuple[int, ...]
    command: str
    """What replays its first seed."""
    runner: str = ""
    """What it was run on, where that is one of several; it is among the settings then, and not in the label."""

    @property
    def place(self) -> tuple[tuple[str, str], ...]:
        """The settings without the runner: points with the same are the same experiment."""
        return tuple((key, value) for key, value in self.settings.items() if key != RUNNER)


@dataclass(frozen=True)
class Series:
    """Where a run's trace is."""

    point: Point
    seed: int
    flows: Path
    links: Path | None


@dataclass(frozen=True)
class Kept:
    """Results.

    Attributes:
        directory: Where they are.
        title: What they are about.
        about: The rest of the scenario's first comment lines.
        facts: Versions, command and sizes, in words.
        rows: One row a flow and run: `point`, `seed`, `flow`, `flow_index`, `cc` and metrics,
            nested ones with dots.
        axes: What was swept.
        points: Each combination, by its number.
        series: The traces that were kept.
        scenarios: The texts that were run, by name.
        published: The cells and claims of a reproduced study, as `table.json` has them.
    """

    directory: Path
    title: str
    about: str
    facts: list[tuple[str, str]]
    rows: pl.DataFrame
    axes: list[Axis] = field(default_factory=list)
    points: dict[int, Point] = field(default_factory=dict)
    series: list[Series] = field(default_factory=list)
    scenarios: dict[str, str] = field(default_factory=dict)
    published: list[dict[str, Any]] = field(default_factory=list)

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self.rows.select("point", "seed").n_unique()


def read(directory: Path) -> Kept:
    """Reads whatever kind of results a directory has.

    Raises:
        NoResultsError: When it has none, or they are not whole.
        OSError: When it can't be read.
    """
    if not directory.is_dir():
        what = "is a file, not a directory" if directory.exists() else "no such directory"
        raise NoResultsError(
            f"{directory}: {what}\n  fix: name what a run, a sweep or reproduce has kept with --out"
        )
    for file, reader in (
        ("sweep.json", _sweep),
        ("compare.json", _comparison),
        ("table.json", _study),
        (RUNNERS, _runs),
        ("metrics.json", _run),
    ):
        if (directory / file).is_file():
            try:
                return reader(directory)
            except NoResultsError:
                raise
            except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
                problem = f"{directory}: {file} or what belongs to it is not as fullpipe {_core.__version__} writes it"
                raise NoResultsError(f"{problem} ({error!r})\n  fix: run it again") from error
    raise NoResultsError(
        f"{directory}: no results: there is no sweep.json, table.json or metrics.json, and no ingest.json of a fleet\n"
        "  fix: name what a run, a sweep or reproduce has kept with --out, or a fleet directory"
    )


def rows_of(metrics: Metrics) -> list[dict[str, Any]]:
    """A run's metrics as a row a flow, and behind them a row a workload, named as in a sweep's data set."""
    whole: dict[str, Any] = {key: metrics[key] for key in ("seed", "jain", "packets", "runner")}
    for link in metrics["links"]:
        whole |= _flat(
            {key: value for key, value in link.items() if key != "name"}, f"link.{link['name']}."
        )
    those: list[Mapping[str, Any]] = [*metrics["flows"], *metrics.get("workloads", [])]
    return [
        {
            **whole,
            "flow": flow["name"],
            "flow_index": index,
            **_flat({k: v for k, v in flow.items() if k != "name"}),
        }
        for index, flow in enumerate(those)
    ]


def _flat(nested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        inner = {each["from_bytes"]: each for each in value} if key == "decades" else value
        flat |= (
            _flat(inner, f"{prefix}{key}.")
            if isinstance(inner, dict)
            else {f"{prefix}{key}": inner}
        )
    return flat


def _sweep(directory: Path) -> Kept:
    about = _json(directory / "sweep.json")
    files = sorted(
        file for file in (directory / "runs").glob("*.parquet") if not file.name.startswith(".")
    )
    if not files:
        raise NoResultsError(
            f"{directory}: no run has ended yet: runs/ is empty\n  fix: let the sweep go on"
        )
    rows = pl.concat([read_parquet(file) for file in files], how="diagonal_relaxed").sort(
        "point", "seed", "flow_index"
    )
    axes = [Axis(axis["key"], tuple(map(str, axis["values"]))) for axis in about["axes"]]
    runners: list[str] = about.get("runners", ["sim"])
    if len(runners) > 1:  # a point on each runner is a point of its own
        place = pl.col("runner").replace_strict(runners, range(len(runners)), return_dtype=pl.Int64)
        rows = rows.with_columns(point=pl.col("point") + place * about["points"]).sort(
            "point", "seed", "flow_index"
        )
    points = _points(rows, axes, directory, about["points"], runners)
    series = [
        Series(points[number], int(seed), file, links if links.is_file() else None)
        for first, runner in enumerate(runners)
        for file in sorted(
            (directory / "series" / ("" if runner == "sim" else runner)).glob("*.parquet")
        )
        if not file.stem.endswith(".links")
        for point, _, seed in [file.stem.partition("-")]
        for links in [file.with_name(f"{file.stem}.links.parquet")]
        if point.isdigit() and seed.isdigit()
        for number in [int(point) + first * about["points"]]
        if number in points
    ]
    title, rest = _titled(about["scenario"], about["file"])
    facts = [
        ("Command", about["command"]),
        ("Version", f"fullpipe {about['version']}, build {about['build']}"),
    ]
    runs = rows.select("point", "seed").n_unique()
    whole = "" if runs == about["runs"] else f" of {about['runs']:,}: the sweep has not ended"
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
    return Kept(
        directory,
        title,
        rest,
        facts,
        rows,
        axes,
        points,
        _by_number(series),
        {about["file"]: about["scenario"]},
    )


def _comparison(directory: Path) -> Kept:
    """What `compare` keeps: two data sets, whose points are told apart by the part that they are of."""
    about = _json(directory / "compare.json")
    if "arms" in about:
        raise NoResultsError(
            f"{directory}: it has a comparison of a fleet's arms, with its report\n"
            f"  fix: make another one of the fleet: fullpipe report {quote(about['directory'])}"
        )
    parts = [(part, _sweep(directory / part)) for part in ("alone", "together")]
    rows, series = [], []
    points: dict[int, Point] = {}
    for part, kept in parts:
        first = max(points, default=-1) + 1
        rows.append(kept.rows.with_columns(pl.col("point") + first))
        for number, point in kept.points.items():
            cc = point.settings.get("flow.0.cc")
            settings = {"case": part, **({RUNNER: point.runner} if point.runner else {})}
            label = f"{cc} alone" if cc else part
            points[first + number] = replace(
                point, number=first + number, label=label, settings=settings
            )
        series += [replace(each, point=points[first + each.point.number]) for each in kept.series]
    _, alone = parts[0]
    facts = [
        ("Command", about["command"]),
        *(fact for fact in alone.facts if fact[0] not in ("Command", "Runs")),
    ]
    seeds = sorted({seed for point in points.values() for seed in point.seeds})
    facts.append(
        ("Runs", f"{sum(len(point.seeds) for point in points.values()):,}, seeds {spans(seeds)}")
    )
    return Kept(
        directory,
        f"{', '.join(about['algorithms'])}: each alone, then together",
        "",
        facts,
        pl.concat(rows, how="diagonal_relaxed"),
        [],
        points,
        series,
        {part: text for part, kept in parts for text in kept.scenarios.values()},
    )


def _listed(value: str | list[str]) -> str:
    return value if isinstance(value, str) else " or ".join(value)


def _machines(rows: pl.DataFrame) -> Iterator[list[str]]:
    """What the runners said of the machine: of each runner what was the same in all of its runs."""
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


def _run(directory: Path) -> Kept:
    metrics: Metrics = _json(directory / "metrics.json")
    text = (directory / "scenario.toml").read_text(encoding="utf-8")
    resolved = directory / "resolved.toml"
    title, about = _titled(text, str(directory))
    rows = pl.DataFrame(rows_of(metrics), infer_schema_length=None).with_columns(point=pl.lit(0))
    seed = metrics["seed"]
    point = Point(0, "the scenario", {}, (seed,), _command(resolved, seed, metrics["runner"]))
    flows, links = directory / "trace.parquet", directory / "links.parquet"
    return Kept(
        directory,
        title,
        about,
        [
            ("Version", f"fullpipe {metrics['version']}"),
            ("Runs", f"1, seed {seed}"),
            *_ran_on(metrics),
        ],
        rows,
        points={0: point},
        series=[Series(point, seed, flows, links if links.is_file() else None)]
        if flows.is_file()
        else [],
        scenarios={
            "scenario.toml": text,
            **({"resolved.toml": resolved.read_text("utf-8")} if resolved.is_file() else {}),
        },
    )


def _runs(directory: Path) -> Kept:
    """What `run` keeps of several runners: the same scenario, and a point each."""
    runners: list[str] = _json(directory / RUNNERS)["runners"]
    parts = [_run(directory / runner) for runner in runners]
    points = {
        number: replace(part.points[0], number=number, settings={RUNNER: runner}, runner=runner)
        for number, (runner, part) in enumerate(zip(runners, parts, strict=True))
    }
    facts = [*parts[0].facts[:2], ("Run on", ", ".join(runners))]
    facts += [
        (f"{name}, {runner}", text)
        for runner, part in zip(runners, parts, strict=True)
        for name, text in part.facts[2:]
        if name != "Run on"
    ]
    return Kept(
        directory,
        parts[0].title,
        parts[0].about,
        facts,
        pl.concat(
            [part.rows.with_columns(point=pl.lit(number)) for number, part in enumerate(parts)],
            how="diagonal_relaxed",
        ),
        points=points,
        series=[
            replace(each, point=points[number])
            for number, part in enumerate(parts)
            for each in part.series
        ],
        scenarios=parts[0].scenarios,
    )


def _ran_on(metrics: Metrics) -> list[tuple[str, str]]:
    """The runner, its machine and what spoiled the run; nothing of a simulation."""
    if metrics["runner"] == "sim":
        return []
    facts = [("Run on", metrics["runner"])]
    facts += [("Machine", ", ".join(f"{name} {value}" for name, value in metrics["host"].items()))]
    return [
        *(fact for fact in facts if fact[1]),
        *(("Warning", warning) for warning in metrics["warnings"]),
    ]


_STUDY = {
    "rtt_mean_s": "rtt_s.mean",
    "utilisation": "link.bottleneck.utilisation",
    "queue_p50_s": "link.bottleneck.queue_delay_s.p50",
    "queue_p99_s": "link.bottleneck.queue_delay_s.p99",
    "link_lost": "link.bottleneck.drops",
}


def _conformance(directory: Path) -> Kept:
    """What `conformance` keeps: a run for each scene, and a record for each condition."""
    records = _json(directory / "table.json")
    scenes = [
        scene
        for scene in dict.fromkeys(each["case"] for each in records)
        if (directory / scene).is_dir()
    ]
    runs = [_run(directory / scene) for scene in scenes]
    points = {
        number: replace(
            run.points[0],
            number=number,
            label=f"{scene} {run.title.partition(' ')[2]}",
            settings={"case": scene},
        )
        for number, (scene, run) in enumerate(zip(scenes, runs, strict=True))
    }
    rows = [run.rows.with_columns(point=pl.lit(number)) for number, run in enumerate(runs)]
    cells = [
        {
            "case": each["case"],
            "metric": f"{each['condition']}, {each['unit']}" if each["unit"] else each["condition"],
            "published": each["because"],
            "ours": each["measured"],
            "tolerance": [None if side is None else _exact(side) for side in each["tolerance"]],
            "verdict": each["verdict"],
        }
        for each in records
    ]
    title, _ = _heading(directory / "table.md")
    return Kept(
        directory,
        title,
        "",
        [runs[0].facts[0], ("Runs", f"{len(runs)}")],
        pl.concat(rows, how="diagonal_relaxed"),
        points=points,
        series=[replace(run.series[0], point=points[number]) for number, run in enumerate(runs)],
        published=cells,
    )


def _exact(side: float) -> float:
    """A count that has to be exact is demanded to be within a millionth."""
    return round(side) + 0.0 if abs(side - round(side)) < 2e-6 else side


def _study(directory: Path) -> Kept:
    if not (directory / "runs.parquet").is_file():
        return _conformance(directory)
    runs = read_parquet(directory / "runs.parquet")
    cases = runs["case"].unique(maintain_order=True).to_list()
    rows = runs.rename(_STUDY).with_columns(
        point=pl.col("case").replace_strict(cases, range(len(cases)), return_dtype=pl.Int64),
        flow_index=pl.col("flow") - 1,
        flow=pl.format("{}-{}", "cc", "flow"),
        loss_fraction=pl.col("retransmits") / pl.col("sent").cast(pl.Float64).replace(0.0, None),
    )
    points = {}
    for number, case in enumerate(cases):
        seeds = tuple(runs.filter(pl.col("case") == case)["seed"].unique().sort())
        file = directory / "scenarios" / f"{case.replace('/', '-').replace(' ', '_')}.toml"
        points[number] = Point(number, case, {"case": case}, seeds, _command(file, seeds[0]))
    heading, source = _heading(directory / "table.md")
    facts = [("Version", f"report by fullpipe {_core.__version__}"), ("Source", source)]
    facts.append(("Runs", f"{runs.select('case', 'seed').n_unique():,}: {len(cases):,} cases"))
    return Kept(
        directory,
        heading,
        "",
        [fact for fact in facts if fact[1]],
        rows,
        [],
        points,
        published=_json(directory / "table.json"),
    )


def _heading(page: Path) -> tuple[str, str]:
    """The title of a study's page, and its source."""
    lines = page.read_text(encoding="utf-8").splitlines()
    source = next(
        (
            line.removeprefix("Source: ").removesuffix(".")
            for line in lines
            if line.startswith("Source: ")
        ),
        "",
    )
    return lines[0].removeprefix("# "), source


def _titled(text: str, otherwise: str) -> tuple[str, str]:
    """The title and the rest of a scenario's first comment lines."""
    lines = [line.strip() for line in first_comment(text)]
    return (lines[0], " ".join(lines[1:])) if lines else (otherwise, "")


def first_comment(text: str) -> list[str]:
    """A scenario's first comment lines: its title, then what it shows."""
    lines = takewhile(lambda line: line.startswith("#"), text.splitlines())
    return [line.removeprefix("#").removeprefix(" ").rstrip() for line in lines]


def _command(file: Path, seed: int, runner: str = "sim") -> str:
    on = "" if runner == "sim" else f" --on {runner}"
    return f"fullpipe run {quote(str(file))}{on} --seed {seed}"


def short(key: str) -> str:
    """A key without the table that everybody knows: `buffer`, `cc` of the first flow, `flow.1.cc`."""
    return key.removeprefix("path.").removeprefix("flow.0.")


def spans(numbers: Iterable[int]) -> str:
    """Whole numbers in few words: "1–30, 40"."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("–".join(map(str, part)) for part in parts)


def _by_number(series: list[Series]) -> list[Series]:
    return sorted(series, key=lambda each: (each.point.number, each.seed))


def _json(file: Path) -> Any:  # noqa: ANN401  (whatever is in it)
    return json.loads(file.read_text(encoding="utf-8"))
