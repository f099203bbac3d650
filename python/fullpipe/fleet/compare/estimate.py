"""What each arm comes to, in all the data and in each resample of its clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.fleet.compare import metrics
from fullpipe.fleet.compare.plan import LEAST_ROWS, TABLES
from fullpipe.stats.clusters import Clusters
from fullpipe.stats.sketch import rank_correlation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fullpipe.fleet.compare.count import Counted
    from fullpipe.fleet.compare.metrics import Measure, Metric

    Values = NDArray[np.float64]
    Counts = NDArray[np.float32 | np.float64]


@dataclass(frozen=True)
class Estimate:
    """One metric of all arms.

    Attributes:
        metric: Which.
        values: Shape (arms, 1 + resamples), the first of all the data; NaN for an arm that has
            nothing.
        standard: The same, if all arms had the same mix of minimum RTTs; None where those are not
            known.
        without: Shape (arms, hosts): without this host; NaN where that has nothing to do with the
            arm.
    """

    metric: Metric
    values: Values
    standard: Values | None
    without: Values


class Estimates:
    """Resamples of one plan's clusters, and what is made of them."""

    def __init__(self, counted: Counted) -> None:
        self.counted, self.plan = counted, counted.plan
        self._by: dict[str, dict[str, list[Estimate]]] = {}

    @cached_property
    def clusters(self) -> dict[str, Clusters]:
        """Of each table."""
        found = {}
        for table in TABLES:
            if table in self.counted.size:
                size = self.counted.size[table]
                arms, clusters = np.indices(size.shape)
                found[table] = Clusters(arms.ravel(), clusters.ravel(), size.ravel())
        return found

    @cached_property
    def draws(self) -> dict[str, NDArray[np.float32]]:
        """Of each table, how often each cell is in all the data (once) and in each resample."""
        return {
            table: np.vstack([np.ones((1, len(each.arm)), np.float32), each.draws()]).reshape(
                -1, *self.counted.size[table].shape
            )
            for table, each in self.clusters.items()
        }

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
        """Of each value of a column, or stratum of RTTs, the main metrics that are known there."""
        if name not in self._by:
            strata = self.plan.rtt if name == "rtt" else self.plan.by
            assert strata is not None
            found: dict[str, list[Estimate]] = {}
            for number, label in enumerate(strata.labels):
                for metric in metrics.MAIN:
                    counts = self.counted.strata.get((name, metric.measure.name))
                    if counts is not None and counts.shape[2] == len(strata.labels):
                        each = self._of(metric, counts[:, :, number : number + 1], hosts=False)
                        if np.isfinite(each.values[:, 0]).sum() >= 2:
                            found.setdefault(label, []).append(each)
            self._by[name] = found
        return self._by[name]

    def over_time(self, metric: Metric) -> Values:
        """Shape (arms, times, 1 + resamples)."""
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
        """The share of values up to each edge of the buckets, shape (1 + resamples, edges)."""
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
        # A host's paths left out of one arm alone would be no pairs any more.
        hosts = hosts and self.plan.unit != "pair"
        without = (
            np.array([_without(metric, apart[arm].sum(axis=1)) for arm in arms])
            if hosts
            else np.empty((0, 0))
        )
        return Estimate(metric, values, standard, without)

    def _correlation(self) -> Estimate:
        """Of RTT and packets in flight."""
        grid, draws = self.counted.grid, self.draws["connections"]
        assert grid is not None
        arms, clusters, x, y = grid.shape
        values = []
        for arm in range(arms):
            drawn = draws[:, arm] @ grid[arm].reshape(clusters, -1)
            values.append(rank_correlation(drawn.reshape(-1, x, y)))
        return Estimate(metrics.FAIRNESS, np.array(values), None, np.empty((arms, 0)))


def _value(metric: Metric, weights: Counts, counts: Counts) -> Values:
    """Of each row of weights of clusters.

    Args:
        metric: Which.
        weights: Shape (rows, clusters).
        counts: Shape (clusters, buckets).
    """
    there = counts.any(axis=1)
    if not there.any():
        return np.full(len(weights), math.nan)
    first, last = _used(metric, counts)
    return _of_counts(metric, weights[:, there] @ counts[there, first:last], first)


def _used(metric: Metric, counts: Counts) -> tuple[int, int]:
    """From which bucket to which there is anything."""
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
    """Of each stratum the share that it has in all arms together, without those that an arm hardly has."""
    weights = counts.sum(axis=(1, 3)) if measure.buckets else counts[..., 1].sum(axis=1)
    usable = (weights >= LEAST_ROWS).all(axis=0) if measure.buckets else (weights > 0).all(axis=0)
    # Each arm counts the same, so that a big one doesn't decide what the mix is.
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = np.where(usable, (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0), 0.0)
    return pooled / pooled.sum() if usable.sum() > 1 else None


def _standard(metric: Metric, weights: Counts, counts: Counts, shares: Values) -> Values:
    """As :func:`_value` of counts by stratum, each of which gets its share of the whole."""
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


def _without(metric: Metric, counts: Counts) -> Values:
    """The value without each host in turn; NaN for a host that had nothing, or was all."""
    there = counts.any(axis=1)
    found = np.full(len(counts), math.nan)
    whole = counts.sum(axis=0, dtype=np.float64)
    found[there] = _of_counts(metric, whole - counts[there])
    return found
