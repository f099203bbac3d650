"""Estimates of each metric of each arm, from all data and from each resample of its clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fullpipe.stats.clusters import Clusters
from fullpipe.stats.sketch import rank_correlation
from fullpipe.wings.fleet.compare import metrics
from fullpipe.wings.fleet.compare.plan import LEAST_ROWS, TABLES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fullpipe.wings.fleet.compare.count import Counted
    from fullpipe.wings.fleet.compare.metrics import Measure, Metric

    Values = NDArray[np.float64]
    Counts = NDArray[np.float32 | np.float64]


@dataclass(frozen=True)
class Estimate:
    """One metric of all arms.

    Attributes:
        metric: The metric.
        values: Shape (arms, 1 + resamples), the first column from all data; NaN for an arm without
            data.
        standard: Like `values`, if all arms had the same mix of RTTs; None if these are unknown.
        without: Shape (arms, hosts): the value without each host; NaN where the arm has no data from
            the host.
    """

    metric: Metric
    values: Values
    standard: Values | None
    without: Values


class Mix(NamedTuple):
    """The difference between the arms' mixes of RTTs.

    Attributes:
        table: The table whose RTTs these are: minimum RTTs of connections, else smoothed RTTs of requests.
        arm: The arm whose mix is the farthest from that of all arms.
        far: Share of its rows that would need another RTT.
        chance: The largest such share among the resamples, each compared with the data that it was drawn from.
    """

    table: str
    arm: str
    far: float
    chance: float

    @property
    def differs(self) -> bool:
        """Whether the mixes differ more than in any resample."""
        return self.far > self.chance


class Estimates:
    """Resamples of one plan's clusters, and the estimates made from them."""

    def __init__(self, counted: Counted) -> None:
        self.counted, self.plan = counted, counted.plan
        self._by: dict[str, dict[str, list[Estimate]]] = {}

    @cached_property
    def clusters(self) -> dict[str, Clusters]:
        """Clusters of each table."""
        found = {}
        for table in TABLES:
            if table in self.counted.size:
                size = self.counted.size[table]
                arms, clusters = np.indices(size.shape)
                found[table] = Clusters(arms.ravel(), clusters.ravel(), size.ravel())
        return found

    @cached_property
    def draws(self) -> dict[str, NDArray[np.float32]]:
        """Number of times each cell occurs, by table: once in all data (row 0), then by resample."""
        return {
            table: np.vstack([np.ones((1, len(each.arm)), np.float32), each.draws()]).reshape(
                -1, *self.counted.size[table].shape
            )
            for table, each in self.clusters.items()
        }

    @cached_property
    def mix(self) -> Mix | None:
        """The difference of the mixes of RTTs; None if RTTs are unknown, or the effect of chance is."""
        arms = self.plan.arms
        for table, measure in (("connections", metrics.MIN_RTT), ("requests", metrics.THROUGHPUT)):
            counts = self.counted.strata.get(("rtt", measure.name))
            if counts is None or counts.shape[2] < 3:
                continue
            numbers = np.array([self.clusters[table].number(arm) for arm in range(len(arms))])
            if numbers.min() < 2:
                return None
            drawn = np.einsum("rac,acs->ras", self.draws[table], counts.sum(axis=3))
            with np.errstate(invalid="ignore"):
                shares = np.nan_to_num(drawn / drawn.sum(axis=2, keepdims=True))
            far = _distances(shares[:1])[0]
            # A resample's spread is that of n clusters around their own mean: too small by n / (n - 1).
            wider = np.sqrt(numbers / (numbers - 1))[:, None]
            most = int(np.argmax(far))
            chance = _distances((shares[1:] - shares[:1]) * wider)[:, most].max()
            return Mix(table, arms[most], float(far[most]), float(chance))
        return None

    @cached_property
    def all(self) -> list[Estimate]:
        """Every metric that at least two arms have."""
        found = [
            self._of(each, self.counted.strata["rtt", each.measure.name])
            for each in metrics.METRICS
            if ("rtt", each.measure.name) in self.counted.strata
        ]
        if self.counted.grid is not None:
            found.append(self._correlation())
        return [each for each in found if np.isfinite(each.values[:, 0]).sum() >= 2]

    def by(self, name: str) -> dict[str, list[Estimate]]:
        """Returns the main metrics in each stratum: by value of a column, or by range of RTTs."""
        if name not in self._by:
            strata = self.plan.rtt if name == "rtt" else self.plan.by
            assert strata is not None
            found: dict[str, list[Estimate]] = {}
            for number, label in enumerate(strata.labels):
                for metric in metrics.MAIN:
                    if name == "rtt" and metric.measure.table != "connections":
                        continue  # the strata of requests are others
                    counts = self.counted.strata.get((name, metric.measure.name))
                    if counts is not None and counts.shape[2] == len(strata.labels):
                        each = self._of(metric, counts[:, :, number : number + 1], hosts=False)
                        if np.isfinite(each.values[:, 0]).sum() >= 2:
                            found.setdefault(label, []).append(each)
            self._by[name] = found
        return self._by[name]

    def over_time(self, metric: Metric) -> Values:
        """Returns a metric over time: shape (arms, times, 1 + resamples)."""
        counts, draws = self.counted.times[metric.measure.name], self.draws[metric.measure.table]
        return np.array(
            [
                [
                    _value(metric, draws[:, arm], counts[arm, :, time])
                    for time in range(counts.shape[2])
                ]
                for arm in range(len(counts))
            ]
        )

    def distribution(self, measure: Measure, arm: int) -> Values:
        """Returns the share of values up to each bucket edge: shape (1 + resamples, edges)."""
        counts = self.counted.strata["rtt", measure.name][arm].sum(axis=1)
        upto = np.cumsum(self.draws[measure.table][:, arm] @ counts, axis=1, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            return np.asarray(upto / upto[:, -1:])

    def _of(self, metric: Metric, counts: Counts, hosts: bool = True) -> Estimate:
        draws = self.draws[metric.measure.table]
        arms = range(len(counts))
        values = np.array([_value(metric, draws[:, arm], counts[arm].sum(axis=1)) for arm in arms])
        shares = _common(metric.measure, counts) if counts.shape[2] > 1 else None
        standard = (
            None
            if shares is None
            else np.array([_standard(metric, draws[:, a], counts[a], shares) for a in arms])
        )
        apart = self.counted.hosts.get(metric.measure.name, counts)
        # Leaving a host's paths out of one arm would break the pairs.
        hosts = hosts and self.plan.unit != "pair"
        without = (
            np.array([_without(metric, apart[arm].sum(axis=1)) for arm in arms])
            if hosts
            else np.empty((0, 0))
        )
        return Estimate(metric, values, standard, without)

    def _correlation(self) -> Estimate:
        """Estimates the rank correlation of RTT and packets in flight."""
        grid, draws = self.counted.grid, self.draws["connections"]
        assert grid is not None
        arms, clusters, x, y = grid.shape
        values = []
        for arm in range(arms):
            drawn = draws[:, arm] @ grid[arm].reshape(clusters, -1)
            values.append(rank_correlation(drawn.reshape(-1, x, y)))
        return Estimate(metrics.FAIRNESS, np.array(values), None, np.empty((arms, 0)))


def _value(metric: Metric, weights: Counts, counts: Counts) -> Values:
    """Returns the metric's value for each row of cluster weights.

    Args:
        metric: The metric.
        weights: Shape (rows, clusters).
        counts: Shape (clusters, buckets).
    """
    there = counts.any(axis=1)
    if not there.any():
        return np.full(len(weights), math.nan)
    first, last = _used(metric, counts)
    return _of_counts(metric, weights[:, there] @ counts[there, first:last], first)


def _used(metric: Metric, counts: Counts) -> tuple[int, int]:
    """Returns the range of buckets that holds all counts."""
    if not metric.measure.buckets:
        return 0, 2
    used = np.flatnonzero(counts.any(axis=tuple(range(counts.ndim - 1))))
    return int(used[0]), int(used[-1]) + 1


def _of_counts(metric: Metric, counts: Counts, first: int = 0) -> Values:
    if metric.measure.buckets:
        return metric.measure.buckets.quantile(counts, metric.quantile, first)
    return _ratio(counts)


def _ratio(sums: Counts) -> Values:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], math.nan))


def _common(measure: Measure, counts: Counts) -> Values | None:
    """Returns each stratum's share in all arms together, 0 for strata with too few rows in an arm."""
    weights = counts.sum(axis=(1, 3)) if measure.buckets else counts[..., 1].sum(axis=1)
    usable = (weights >= LEAST_ROWS).all(axis=0) if measure.buckets else (weights > 0).all(axis=0)
    # Each arm has the same weight, so that a large arm does not dominate the mix.
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = np.where(usable, (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0), 0.0)
    return pooled / pooled.sum() if usable.sum() > 1 else None


def _standard(metric: Metric, weights: Counts, counts: Counts, shares: Values) -> Values:
    """Returns the same as :func:`_value`, with strata weighted by the given shares."""
    mixed: Values | float = 0.0
    drawn_shares = np.zeros(len(weights))
    first, last = _used(metric, counts)
    for stratum in np.flatnonzero(shares):
        drawn = weights @ counts[:, stratum, first:last]
        if metric.measure.buckets:
            total = drawn.sum(axis=1, keepdims=True)
            with np.errstate(invalid="ignore", divide="ignore"):
                mixed = mixed + np.where(total > 0, drawn / total, 0.0) * shares[stratum]
        else:
            mixed = mixed + np.nan_to_num(_ratio(drawn)) * shares[stratum]
            drawn_shares += np.where(drawn[:, 1] > 0, shares[stratum], 0.0)
    if metric.measure.buckets:
        return metric.measure.buckets.quantile(np.asarray(mixed), metric.quantile, first)
    # A resample may lack a stratum that few clusters have.
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(drawn_shares > 0, mixed / drawn_shares, math.nan))


def _distances(shares: Values) -> Values:
    """Returns the total variation distance of each arm's shares from the mean of all arms: shape (rows, arms)."""
    return np.asarray(abs(shares - shares.mean(axis=1, keepdims=True)).sum(axis=2) / 2)


def _without(metric: Metric, counts: Counts) -> Values:
    """Returns the value without each host in turn; NaN for a host with no data, or with all data."""
    there = counts.any(axis=1)
    found = np.full(len(counts), math.nan)
    whole = counts.sum(axis=0, dtype=np.float64)
    found[there] = _of_counts(metric, whole - counts[there])
    return found
