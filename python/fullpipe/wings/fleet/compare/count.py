"""Counts a fleet's rows by arm, cluster, stratum and bucket in one pass; only counts are kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fullpipe.wings.fleet import store
from fullpipe.wings.fleet.compare import metrics
from fullpipe.wings.fleet.compare.hexagons import Hexagons
from fullpipe.wings.fleet.compare.plan import COLUMN, TABLES, WHOLE, big_enough

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fullpipe.wings.fleet.compare.metrics import Measure
    from fullpipe.wings.fleet.compare.plan import Plan

    Values = NDArray[np.float64]

GROUPS = 128
"""Number of random groups into which clusters other than hosts are merged. A group of independent
clusters is a cluster itself (Wolter 2007, chapter 2), and memory does not grow with their number."""
MOST_HOSTS = 256
_ROWS = 250_000
_SEED = 1

GRID = (10, 48, 12, 48)
"""RTT: 48 buckets from 0.1 ms, 10 per decade. Packets in flight: 48 buckets from 1, 12 per decade."""
_CONNECTIONS_ONLY = (
    metrics.Measure(
        "ecn", "connections", pl.col("ecn"), weight=pl.when(pl.col("ecn").is_not_null()).then(1)
    ),
    metrics.Measure(
        "ecnseen", "connections", pl.col("ecnseen"), weight=pl.when(pl.col("ecn")).then(1)
    ),
)


@dataclass
class Counted:
    """Counts. The first two axes are always arm and cluster.

    Attributes:
        plan: The plan by which rows are counted.
        size: Rows kept, by table: shape (arms, clusters).
        seen: Rows before the filter by size, by table: shape (arms, clusters).
        strata: Counts by name of strata and name of measure: shape (arms, clusters, strata,
            buckets). A measure without buckets has two sums instead, of values and of weights.
        hosts: Counts by name of measure, by host instead of cluster: shape (arms, hosts, 1,
            buckets). Empty where the clusters are hosts.
        times: Counts over time by name of measure: shape (arms, clusters, times, buckets).
        grid: Counts of (RTT, packets in flight): shape (arms, clusters, x, y).
        near: Hexagons of (minimum RTT, bandwidth), by arm.
        queues: Hexagons of (RTT, packets in flight), by arm.
    """

    plan: Plan
    size: dict[str, Values] = field(default_factory=dict)
    seen: dict[str, Values] = field(default_factory=dict)
    strata: dict[tuple[str, str], NDArray[np.float32 | np.float64]] = field(default_factory=dict)
    hosts: dict[str, NDArray[np.float32 | np.float64]] = field(default_factory=dict)
    times: dict[str, NDArray[np.float32 | np.float64]] = field(default_factory=dict)
    grid: Values | None = None
    near: list[Hexagons] = field(default_factory=list)
    queues: list[Hexagons] = field(default_factory=list)


def count(plan: Plan, advance: Callable[[int], None] = lambda _: None) -> Counted:
    """Counts everything that is compared.

    Args:
        plan: Arms, clusters and strata of the fleet.
        advance: Called with the number of rows counted since the previous call.

    Raises:
        OSError: When a file can't be read.
    """
    counted = Counted(plan)
    for table in TABLES:
        if plan.total(table, "kept"):
            _Pass(counted, table).run(advance)
    return counted


def over_time(plan: Plan) -> tuple[Measure, ...]:
    """Returns the measures that are counted over time."""
    rate = metrics.THROUGHPUT if plan.total("requests", "kept") else metrics.BUSY_RATE
    return rate, metrics.LOSS_BYTES, metrics.RETRANS, metrics.CPU


class _Pass:
    """One pass through a table."""

    def __init__(self, counted: Counted, table: str) -> None:
        self.counted, self.table, self.plan = counted, table, counted.plan
        plan = self.plan
        self.unit = "host" if table == "counters" else plan.unit
        self.by_host = self.unit == "host" and len(plan.hosts) <= MOST_HOSTS
        self.clusters = len(plan.hosts) if self.by_host else GROUPS
        self.measures = [
            *metrics.measures(table),
            *(_CONNECTIONS_ONLY if table == "connections" else ()),
        ]
        self.strata = [{"connections": plan.rtt, "requests": plan.asked}.get(table, WHOLE)]
        self.columns = store.scan(plan.options.directory, table).collect_schema()
        if plan.by and plan.by.name in self.columns and table != "counters":
            self.strata.append(plan.by)
        self.timed = [each for each in over_time(plan) if each.table == table]
        shape = (len(plan.arms), self.clusters)
        counted.size[table], counted.seen[table] = np.zeros(shape), np.zeros(shape)
        for measure in self.measures:
            width = measure.buckets.number if measure.buckets else 2
            kind = np.float32 if measure.buckets else np.float64
            for each in self.strata:
                counted.strata[each.name, measure.name] = np.zeros(
                    (*shape, len(each.labels), width), kind
                )
            if self.hosts_apart:
                counted.hosts[measure.name] = np.zeros(
                    (len(plan.arms), len(plan.hosts), 1, width), kind
                )
            if measure in self.timed:
                counted.times[measure.name] = np.zeros((*shape, plan.times, width), kind)
        if table == "connections":
            counted.grid = np.zeros((*shape, GRID[1], GRID[3]), np.float32)
            counted.near = [Hexagons() for _ in plan.arms]
            counted.queues = [Hexagons() for _ in plan.arms]

    @property
    def hosts_apart(self) -> bool:
        """Whether hosts are counted in addition to the clusters."""
        return not self.by_host and self.plan.unit != "pair" and len(self.plan.hosts) <= MOST_HOSTS

    def run(self, advance: Callable[[int], None]) -> None:
        rows = store.scan(self.plan.options.directory, self.table).select(self._expressions())
        before = 0
        for batch in rows.collect_batches(chunk_size=_ROWS, engine="streaming"):
            self._take(batch, before)
            before += len(batch)
            advance(len(batch))

    def _expressions(self) -> list[pl.Expr]:
        plan = self.plan
        time = pl.col("last_seen" if self.table == "connections" else "time")
        since = (time - plan.start).dt.total_microseconds() // plan.step_us
        found = [
            big_enough(self.table, plan.options.min_bytes).alias("_keep"),
            _number("arm", plan.arms).alias("_arm"),
            (since if plan.start else pl.lit(0)).cast(pl.Int32).alias("_time"),
        ]
        if self.hosts_apart or self.by_host:
            found.append(_number("host", plan.hosts).alias("_host"))
        if not self.by_host and self.unit != "connection":
            found.append(
                (pl.col(COLUMN[self.unit]).hash(_SEED) % GROUPS).cast(pl.Int32).alias("_cluster")
            )
        found += [each.code.cast(pl.Int32).alias(f"_in_{each.name}") for each in self.strata]
        for measure in self.measures:
            found.append(measure.value.cast(pl.Float64).alias(measure.name))
            if measure.weight is not None:
                found.append(measure.weight.cast(pl.Float64).alias(f"{measure.name}_of"))
        return found

    def _take(self, batch: pl.DataFrame, before: int) -> None:
        counted, arms = self.counted, len(self.plan.arms)
        number = np.arange(before, before + len(batch))
        known = batch["_arm"].is_not_null().to_numpy()
        arm = batch["_arm"].fill_null(0).to_numpy().astype(np.int64)
        if self.by_host:
            cluster = batch["_host"].to_numpy().astype(np.int64)
        else:
            cluster = (
                batch["_cluster"].fill_null(0).to_numpy().astype(np.int64)
                if "_cluster" in batch
                else number % GROUPS
            )
        cell = arm * self.clusters + cluster
        keep = known & batch["_keep"].to_numpy()
        for where, mask in ((counted.seen, known), (counted.size, keep)):
            where[self.table] += np.bincount(cell[mask], minlength=arms * self.clusters).reshape(
                arms, self.clusters
            )
        batch = batch.filter(pl.Series(keep))
        cell, arm = cell[keep], arm[keep]
        codes = {each.name: _codes(batch[f"_in_{each.name}"]) for each in self.strata}
        time = _codes(batch["_time"])
        host = arm * len(self.plan.hosts) + _codes(batch["_host"]) if self.hosts_apart else None
        for measure in self.measures:
            values = batch[measure.name].to_numpy()
            weights = batch[f"{measure.name}_of"].to_numpy() if measure.weight is not None else None
            there = (
                np.isfinite(values)
                if weights is None
                else np.isfinite(values) & np.isfinite(weights)
            )
            some = slice(None) if there.all() else there
            values, weights = values[some], None if weights is None else weights[some]
            within = measure.buckets.of(values) if measure.buckets else values
            for name, code in codes.items():
                _add(counted.strata[name, measure.name], cell[some], code[some], within, weights)
            if host is not None:
                _add(
                    counted.hosts[measure.name],
                    host[some],
                    np.zeros(len(values), np.int64),
                    within,
                    weights,
                )
            if measure in self.timed:
                _add(counted.times[measure.name], cell[some], time[some], within, weights)
        if self.table == "connections":
            self._pairs(batch, cell, arm)

    def _pairs(self, batch: pl.DataFrame, cell: NDArray[np.int64], arm: NDArray[np.int64]) -> None:
        """Counts pairs of quantities: RTT and packets in flight, minimum RTT and bandwidth."""
        rtt, inflight = batch["rtt"].to_numpy(), batch["inflight"].to_numpy()
        near, bandwidth = batch["min_rtt"].to_numpy(), batch["bandwidth"].to_numpy()
        there = [np.isfinite(each) & (each > 0) for each in (rtt, inflight, near, bandwidth)]
        both, wide = there[0] & there[1], there[2] & there[3]
        for number in range(len(self.plan.arms)):
            these = arm == number
            self.counted.queues[number].add(rtt[both & these], inflight[both & these])
            self.counted.near[number].add(near[wide & these], bandwidth[wide & these])
        x = np.clip(np.log10(rtt[both] / 1e-4) * GRID[0], 0, GRID[1] - 1).astype(np.int64)
        y = np.clip(np.log10(inflight[both]) * GRID[2], 0, GRID[3] - 1).astype(np.int64)
        assert self.counted.grid is not None
        at = (cell[both] * GRID[1] + x) * GRID[3] + y
        np.add.at(self.counted.grid.reshape(-1), at, np.float32(1))


def _add(
    into: NDArray[np.float32 | np.float64],
    cell: NDArray[np.int64],
    code: NDArray[np.int64],
    within: NDArray[np.int64] | Values,
    weights: Values | None,
) -> None:
    """Adds rows to the counts of their cell and stratum; skips rows without a stratum."""
    strata, width = into.shape[2:]
    known = code >= 0
    if not known.all():
        cell, code, within = cell[known], code[known], within[known]
        weights = None if weights is None else weights[known]
    at = cell * strata + code
    if weights is None:
        np.add.at(into.reshape(-1), at * width + within.astype(np.int64), np.float32(1))
        return
    cells = into.shape[0] * into.shape[1] * strata
    into[..., 0] += np.bincount(at, within, cells).reshape(into.shape[:3])
    into[..., 1] += np.bincount(at, weights, cells).reshape(into.shape[:3])


def _codes(column: pl.Series) -> NDArray[np.int64]:
    """Returns integer codes, -1 for null."""
    return column.fill_null(-1).to_numpy().astype(np.int64)


def _number(column: str, names: tuple[str, ...]) -> pl.Expr:
    """Returns the index of a text among `names`, null for any other text."""
    return pl.col(column).cast(pl.Enum(names), strict=False).to_physical().cast(pl.Int32)
