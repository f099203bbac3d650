"""Runs the families, each as a sweep of its own, and reduces the rows to one value per metric and seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from fullpipe.results import disk, write_shard
from fullpipe.results.kept import shards
from fullpipe.study.engine import HERE
from fullpipe.study.question import Contender
from fullpipe.study.sweeps.dataset import Sweep
from fullpipe.study.sweeps.execute import Execution
from fullpipe.wings.search.observatory.plan import FIRST_SEED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fullpipe.base.progress import Counter
    from fullpipe.study.engine import Engine
    from fullpipe.study.question import Question, Runs

_SCHEMA = {
    "family": pl.String,
    "cell": pl.Int64,
    "algorithm": pl.String,
    "metric": pl.String,
    "seed": pl.Int64,
    "value": pl.Float64,
    "version": pl.String,
}
COLUMNS = tuple(_SCHEMA)
VALUES = "values"
"""The name, without checksum, of the file of an observatory with which a later one is compared."""


def measured(
    families: Sequence[Question],
    algorithms: Sequence[str],
    seeds: int,
    out: Path,
    counter: Counter,
    command: str,
    engine: Engine = HERE,
    push: Callable[[], object] = lambda: None,
) -> pl.DataFrame:
    """Executes the missing runs of all families, and writes :data:`VALUES`.

    Returns:
        One row per family, cell, algorithm, metric and seed, with `value` in SI units and fullpipe's `version`: the
        columns of the file. A run without a value of the metric, as a transfer that did not end, has no row.

    Raises:
        FileExistsError: When a family's directory has runs of another build or of other points.
        OSError: When the directory can't be written.
    """
    contenders = [Contender(each) for each in algorithms]
    seeds_of = range(FIRST_SEED, FIRST_SEED + seeds)
    found = []
    for family in families:
        place = out / "sweeps" / family.name
        runs = family.runs(contenders)
        spec = family.spec(runs, seeds_of)
        Execution(place, counter, command, trace="off", engine=engine, push=push).run(spec)
        found.append(_values(family, runs, algorithms, Sweep(place).frame()))
    values = pl.concat(found)
    new = write_shard(values, out, VALUES)
    for old in kept_values(out):
        if old != new:
            disk.remove(old)
    return values


def kept_values(place: Path) -> list[Path]:
    """Returns the files with the values of an observatory: more than one if a process was killed at its end.

    Those before checksums are named `values.parquet`.
    """
    return [each for each in shards(place) if each.stem.partition("-")[0] == VALUES]


def _values(
    family: Question, runs: Runs, algorithms: Sequence[str], rows: pl.DataFrame
) -> pl.DataFrame:
    """Returns the values of one family from the rows of its sweep."""
    version = rows["version"][0]
    found = [
        (family.name, cell, algorithm, number.name, seed, value, version)
        for number, of in family.values(runs, rows).items()
        for (cell, algorithm), by_seed in of.items()
        for seed, value in by_seed.items()
        if algorithm in algorithms
    ]
    return pl.DataFrame(found, _SCHEMA, orient="row").sort(COLUMNS[:5])
