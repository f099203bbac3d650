"""Makes the results of a sweep by hand from real runs, for tests of reports."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import polars as pl

import fullpipe
from fullpipe.results import write_shard
from fullpipe.results.about import SWEEP_FORMAT
from fullpipe.results.rows import rows_of
from fullpipe.results.sums import write_json
from fullpipe.results.sweep import series_name, shard_stem

if TYPE_CHECKING:
    from pathlib import Path


def write_sweep(
    directory: Path,
    scenario: str,
    axes: dict[str, list[str]],
    seeds: list[int],
    trace: str | None = None,
) -> Path:
    """Runs every combination with every seed, and writes the files of a sweep."""
    (directory / "runs").mkdir(parents=True)
    (directory / "series").mkdir()
    rows = []
    points = list(itertools.product(*axes.values()))
    for point, values in enumerate(points):
        settings = dict(zip(axes, values, strict=True))
        for seed in seeds:
            traced = trace if trace and seed == seeds[0] else "off"
            run = fullpipe.run(scenario, seed=seed, set=settings, trace=traced)
            rows += [{**row, **settings} for row in rows_of(run.metrics, point).rows(named=True)]
            if run.has_trace:
                for table in run.tables:
                    name = series_name(f"{point}-{seed}", table)
                    write_shard(run.trace(table), directory / "series", name)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return write_rows(directory, frame, axes, scenario, seeds)


def write_rows(
    directory: Path,
    rows: pl.DataFrame | None,
    axes: dict[str, list[str]],
    scenario: str,
    seeds: list[int],
    **about: Any,  # noqa: ANN401
) -> Path:
    """Writes the files of a sweep without traces; `about` replaces entries of `sweep.json`."""
    (directory / "runs").mkdir(parents=True, exist_ok=True)
    points = len(list(itertools.product(*axes.values())))
    identity = "fedcba9876543210"
    if rows is not None:
        name = shard_stem(0, points * len(seeds), identity, "sim")
        write_shard(rows, directory / "runs", name)
    told = {
        "format": SWEEP_FORMAT,
        "version": fullpipe.__version__,
        "build": "0123456789abcdef",
        "identity": identity,
        "command": "fullpipe sweep base.toml",
        "scenario": scenario,
        "file": "base.toml",
        "axes": [{"key": key, "values": values, "unit": None} for key, values in axes.items()],
        "mode": "cartesian",
        "zip": [],
        "seeds": seeds,
        "points": points,
        "runners": ["sim"],
        "runs": points * len(seeds),
        "added_jitter": {},
    }
    write_json(directory / "sweep.json", {**told, **about})
    return directory
