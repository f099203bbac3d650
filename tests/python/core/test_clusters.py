"""Statistics of values that come in clusters, and of values that are only counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from fullpipe.stats.clusters import Clusters, Spread, alone, difference, sample_ratio
from fullpipe.stats.sketch import Buckets, rank_correlation

BUCKETS = Buckets(1e4, 5)


def test_quantiles_of_counts_are_those_of_the_values() -> None:
    values = np.exp(np.random.default_rng(1).normal(15, 1, 100_000))
    counts = np.bincount(BUCKETS.of(values), minlength=BUCKETS.number)
    for share in (0.01, 0.25, 0.5, 0.75, 0.9, 0.99):
        assert BUCKETS.quantile(counts, share) == pytest.approx(
            np.quantile(values, share), rel=5e-3
        )


def test_what_is_zero_or_too_small_is_counted_as_zero_and_what_is_too_great_as_the_greatest() -> (
    None
):
    counts = np.bincount(
        BUCKETS.of(np.array([0.0, -1.0, 1.0, 1e4, 1e30])), minlength=BUCKETS.number
    )
    assert counts[0] == 3
    assert counts[1] == 1
    assert counts[-1] == 1
    assert BUCKETS.quantile(counts, 0.5) == 0
    assert math.isnan(BUCKETS.quantile(np.zeros(BUCKETS.number), 0.5))


def test_empty_buckets_at_the_ends_may_be_left_out() -> None:
    counts = np.bincount(BUCKETS.of(np.array([1e5, 2e5, 4e5])), minlength=BUCKETS.number)
    first, last = np.flatnonzero(counts)[[0, -1]]
    for share in (0.1, 0.5, 0.9):
        assert BUCKETS.quantile(counts[first : last + 1], share, int(first)) == BUCKETS.quantile(
            counts, share
        )


def test_rank_correlation_of_counts_is_spearmans() -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(0, 12, 5000)
    y = np.clip(x + rng.integers(-6, 7, 5000), 0, 14)
    counts = np.zeros((12, 15))
    np.add.at(counts, (x, y), 1)
    assert rank_correlation(counts) == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert math.isnan(rank_correlation(np.eye(1)))


def _medians(
    rng: np.random.Generator, hosts: int, shift: float, resamples: int = 150
) -> tuple[Spread, Spread]:
    """Compares two arms whose hosts differ: by hosts, and as if all values were independent."""
    counts = []
    for arm in range(2):
        for _ in range(hosts):
            values = np.exp(rng.normal(15 + shift * arm + rng.normal(0, 0.1), 1, 200))
            counts.append(np.bincount(BUCKETS.of(values), minlength=BUCKETS.number))
    table, arms = np.array(counts, dtype=np.float32), np.repeat([0, 1], hosts)
    clusters = Clusters(arms, np.arange(2 * hosts), table.sum(axis=1).astype(float))
    weights = np.vstack(
        [np.ones((1, 2 * hosts)), clusters.draws(resamples, int(rng.integers(1 << 30)))]
    )
    a, b = (
        np.log(BUCKETS.quantile(weights[:, arms == each] @ table[arms == each], 0.5))
        for each in (1, 0)
    )
    # The median of n lognormal values with deviation 1 has a standard error of sqrt(π / 2n).
    naive = Spread(float(a[0] - b[0]), math.sqrt(2 * math.pi / 2 / (200 * hosts)), 1e6)
    return difference(a, b, clusters, (1, 0)), naive


def test_intervals_by_cluster_cover_the_truth_where_those_by_row_do_not() -> None:
    rng = np.random.default_rng(3)
    hits, naive = 0, 0
    for _ in range(200):
        found, plain = _medians(rng, hosts=5, shift=0.1)
        hits += found.interval()[0] <= 0.1 <= found.interval()[1]
        naive += plain.interval()[0] <= 0.1 <= plain.interval()[1]
    assert 0.90 <= hits / 200 <= 0.99
    assert naive / 200 < 0.85


def test_what_is_detectable_is_detected_in_four_of_five() -> None:
    rng = np.random.default_rng(4)
    typical = np.median([_medians(rng, hosts=8, shift=0)[0].detectable for _ in range(20)])
    seen = sum(_medians(rng, hosts=8, shift=typical)[0].p <= 0.05 for _ in range(120)) / 120
    assert 0.68 <= seen <= 0.92


def test_clusters_in_both_arms_make_differences_paired() -> None:
    """A cluster that is good in both arms does not affect their difference."""
    rng = np.random.default_rng(5)
    level = rng.normal(0, 1, 60)
    values = np.concatenate([level, level + 0.3 + rng.normal(0, 0.01, 60)])
    arm, cluster = np.repeat([0, 1], 60), np.tile(np.arange(60), 2)
    for both, error in ((True, 0.01), (False, math.sqrt(2))):
        clusters = Clusters(arm, cluster if both else np.arange(120), np.ones(120))
        assert clusters.nested is not both
        weights = np.vstack([np.ones((1, 120)), clusters.draws()])
        a, b = (
            (weights[:, arm == each] @ values[arm == each]) / weights[:, arm == each].sum(axis=1)
            for each in (1, 0)
        )
        found = difference(a, b, clusters, (1, 0))
        assert found.value == pytest.approx(0.3, abs=0.01)
        assert found.error == pytest.approx(error / math.sqrt(60), rel=0.35)


def test_one_cluster_has_no_interval() -> None:
    clusters = Clusters(np.array([0, 1, 1]), np.array([0, 1, 2]), np.ones(3))
    draws = np.ones((11, 1))[:, 0]
    assert math.isnan(difference(draws, draws, clusters, (1, 0)).p)
    assert math.isnan(alone(draws, clusters, 0).error)
    assert alone(draws, clusters, 1).interval() == (1, 1)


def test_a_host_that_is_most_of_an_arm_counts_for_little_more_than_one() -> None:
    clusters = Clusters(np.zeros(5, int), np.arange(5), np.array([96.0, 1, 1, 1, 1]))
    assert clusters.number(0) == 5
    assert clusters.effective(0) == pytest.approx(100**2 / (96**2 + 4))


def test_a_sample_ratio_is_wrong_when_it_is_more_so_than_clusters_are_uneven() -> None:
    rng = np.random.default_rng(6)
    arm = np.repeat([0, 1], 12)
    expected = np.array([0.5, 0.5])
    plain, robust, missing = 0, 0, 0
    for _ in range(100):
        size = rng.negative_binomial(20, 20 / 1020, 24).astype(float)
        clusters = Clusters(arm, np.arange(24), size)
        p = sample_ratio(clusters, clusters.draws(200, int(rng.integers(1 << 30))), expected)
        plain, robust = plain + (p[0] < 0.05), robust + (p[1] < 0.05)
        lost = Clusters(arm, np.arange(24), np.where(arm == 1, size * 0.5, size))
        missing += (
            sample_ratio(lost, lost.draws(200, int(rng.integers(1 << 30))), expected)[1] < 0.05
        )
    assert plain > 50
    assert robust <= 12
    assert missing > 90
