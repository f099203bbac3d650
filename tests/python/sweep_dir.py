"""Makes the results of a sweep by hand from real runs, for tests of reports."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import polars as pl

import fullpipe
from fullpipe.results.rows import rows_of

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
                run.trace("flows").write_parquet(directory / "series" / f"{point}-{seed}.parquet")
                run.trace("links").write_parquet(
                    directory / "series" / f"{point}-{seed}.links.parquet"
                )
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(directory / "runs" / "all.parquet")
    about = {
        "format": 1,
        "version": fullpipe.__version__,
        "build": "0123456789abcdef",
        "command": "fullpipe sweep base.toml",
        "scenario": scenario,
        "file": "base.toml",
        "axes": [{"key": key, "values": values} for key, values in axes.items()],
        "mode": "cartesian",
        "seeds": seeds,
        "points": len(points),
        "runs": len(points) * len(seeds),
        "added_jitter": {},
    }
    (directory / "sweep.json").write_text(json.dumps(about), encoding="utf-8")
    return directory
