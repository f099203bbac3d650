"""Loads what `reproduce` and `evaluate` saved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe import _core
from fullpipe.results.about import CellRecord, ConditionRecord
from fullpipe.results.kept import read_json, read_parquet, read_text
from fullpipe.results.model import NoResultsError, Point, Results
from fullpipe.results.single import load_run
from fullpipe.results.sums import is_there
from fullpipe.results.words import replay

if TYPE_CHECKING:
    from pathlib import Path


_STUDY = {
    "rtt_mean_s": "rtt_s.mean",
    "utilization": "link.bottleneck.utilization",
    "queue_p50_s": "link.bottleneck.queue_delay_s.p50",
    "queue_p99_s": "link.bottleneck.queue_delay_s.p99",
    "link_lost": "link.bottleneck.drops",
}


def load_study(directory: Path) -> Results:
    """Loads what `reproduce` saves, one point per case, or `evaluate`: the same table, without `runs.parquet`."""
    if not is_there(directory / "runs.parquet"):
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
        scenario = read_text(file) if file.exists() else ""  # not kept for every runner
        points[number] = Point(
            number, case, {"case": case}, seeds, replay(file, seeds[0]), scenario=scenario
        )
    heading, source = _heading(directory / "table.md")
    facts = [("Version", f"report by fullpipe {_core.__version__}"), ("Source", source)]
    facts.append(("Runs", f"{runs.select('case', 'seed').n_unique():,}: {len(cases):,} cases"))
    return Results(
        directory,
        heading,
        "",
        [fact for fact in facts if fact[1]],
        rows,
        [],
        points,
        published=[dict(each) for each in read_json(directory / "table.json", list[CellRecord])],
    )


def _conformance(directory: Path) -> Results:
    """Loads what `evaluate` saves: a run for each scene, and a record for each condition."""
    file = directory / "table.json"
    if (directory / "criteria").is_dir():
        raise NoResultsError(
            f"{directory}: an evaluation, whose page is there already\n"
            f"  fix: open {directory / 'dossier.html'}, or read {directory / 'dossier' / 'report.md'}"
        )
    if not all("condition" in each for each in read_json(file, list[dict[str, Any]])):
        raise NoResultsError(
            f"{directory}: a study of fleets has no report\n"
            f"  fix: read {directory / 'table.md'}, or name a fleet in {directory / 'fleets'}"
        )
    records = read_json(file, list[ConditionRecord])
    scenes = [
        scene
        for scene in dict.fromkeys(each["case"] for each in records)
        if (directory / scene).is_dir()
    ]
    runs = [load_run(directory / scene) for scene in scenes]
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
    return Results(
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
    """Rounds the bounds of a count that must be exact: its tolerance is a millionth on each side."""
    return round(side) + 0.0 if abs(side - round(side)) < 2e-6 else side


def _heading(page: Path) -> tuple[str, str]:
    """Returns the title of a study's page, and its source."""
    lines = read_text(page).splitlines() or [""]
    source = next(
        (
            line.removeprefix("Source: ").removesuffix(".")
            for line in lines
            if line.startswith("Source: ")
        ),
        "",
    )
    return lines[0].removeprefix("# "), source
