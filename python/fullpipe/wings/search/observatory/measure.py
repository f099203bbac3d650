"""Runs the families, each as a sweep of its own, and reduces the rows to one value per metric and seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from fullpipe.results import disk, write_shard
from fullpipe.results.kept import shards
from fullpipe.stats import Quantity, columns_asked, harm, quantity
from fullpipe.stats.quantity import known_names
from fullpipe.study.engine import HERE
from fullpipe.study.spec import SweepSpec
from fullpipe.study.sweeps.dataset import Sweep
from fullpipe.study.sweeps.execute import Execution
from fullpipe.wings.search.observatory.plan import FIRST_SEED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fullpipe.base.progress import Counter
    from fullpipe.study.engine import Engine
    from fullpipe.wings.search.observatory.plan import Family

COLUMNS = ("family", "cell", "algorithm", "metric", "seed", "value", "version")
VALUES = "values"
"""The name, without checksum, of the file of an observatory with which a later one is compared."""
HARM = Quantity("harm", "harm to the other flow's goodput", "%", 100.0, -1)
"""1 - (goodput of the other flow next to the algorithm) / (its goodput next to its own kind, same seed): Ware et al.,
"Beyond Jain's Fairness Index" (HotNets 2019). Below zero the other flow is better off."""


def measured(
    families: Sequence[Family],
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
    found = []
    for family in families:
        place = out / "sweeps" / family.name
        spec = SweepSpec(
            family.base(algorithms),
            family.name,
            points=list(family.points(algorithms)),
            repeat=seeds,
            seed=FIRST_SEED,
        )
        Execution(place, counter, command, trace="off", engine=engine, push=push).run(spec)
        found.append(_values(family, algorithms, Sweep(place).frame()))
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


def shown(metric: str) -> Quantity:
    """Returns the quantity of a metric of a family."""
    known = HARM if metric == HARM.column else quantity(known_names()[metric])
    assert known is not None
    return known


def _values(family: Family, algorithms: Sequence[str], rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the values of one family from the rows of its sweep."""
    count = len(algorithms)
    rows = rows.with_columns(
        cell=pl.col("point") // count,
        algorithm=pl.lit(pl.Series(algorithms)).gather(pl.col("point") % count),
    )
    keys = ["cell", "algorithm", "seed"]
    there = [name for name in rows.columns if rows[name].null_count() < rows.height]
    tested = rows.filter(pl.col("flow") != "other")
    found = []
    for name in family.metrics:
        if name == HARM.column:
            found.append(_harm(family, rows).with_columns(metric=pl.lit(name)))
            continue
        column = columns_asked([name], there)[0]  # the flow's, or else that of the only link
        mean = pl.col(column).mean().cast(pl.Float64)
        found.append(tested.group_by(keys).agg(value=mean, metric=pl.lit(name)))
    return (
        pl.concat([each.select(*keys, "metric", "value") for each in found])
        .with_columns(family=pl.lit(family.name), version=pl.lit(rows["version"][0]))
        .drop_nulls("value")
        .select(COLUMNS)
        .sort(COLUMNS[:5])
    )


def _harm(family: Family, rows: pl.DataFrame) -> pl.DataFrame:
    assert family.harm is not None
    kinds = pl.Series([cell[family.harm] for cell in family.cells])
    others = rows.filter(pl.col("flow") == "other").select(
        "cell", "algorithm", "seed", "goodput_bps", kind=pl.lit(kinds).gather(pl.col("cell"))
    )
    own = others.filter(pl.col("algorithm") == pl.col("kind"))
    joined = others.join(own, on=["cell", "seed"], suffix="_own")
    lost = [harm(*pair) for pair in joined.select("goodput_bps", "goodput_bps_own").iter_rows()]
    return joined.with_columns(value=pl.Series(lost, dtype=pl.Float64))
