"""Distributions fitted to sizes: the fit recovers the one that sizes were drawn from, with correct distances."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from conftest import Fullpipe
from fullpipe.wings.fleet.workload.fit import Fit, TooFewFlowsError, fits
from fullpipe.wings.fleet.workload.laws import BoundedPareto, Lognormal, Part, size_text

Values = NDArray[np.float64]


def _pareto(shape: float, least: float, most: float, count: int) -> Values:
    uniform = np.random.default_rng(1).random(count)
    return np.asarray(
        np.ceil(least * (1 - uniform * (1 - (least / most) ** shape)) ** (-1 / shape))
    )


def _of(found: list[Fit], start: str) -> Fit:
    return next(fit for fit in found if fit.law.text.startswith(start))


def test_a_bounded_pareto_is_found_again() -> None:
    found = _of(fits(_pareto(1.2, 1000, 1e7, 50_000)), "bounded")
    assert isinstance(found.law, BoundedPareto)
    assert found.law.shape == pytest.approx(1.2, abs=0.03)
    assert found.law.least == pytest.approx(1000, rel=0.02)
    assert found.error < 0.05
    assert found.distance < 0.02
    assert found.byte_distance < 0.05
    assert found.mean == pytest.approx(1, abs=0.05)


def test_two_lognormals_are_found_again() -> None:
    random = np.random.default_rng(2)
    small = 1500 * np.exp(1.0 * random.standard_normal(90_000))
    large = 5e5 * np.exp(1.5 * random.standard_normal(10_000))
    found = next(
        fit for fit in fits(np.ceil(np.append(small, large))) if fit.law.text.count("share") == 2
    )
    assert isinstance(found.law, Lognormal)
    first, second = found.law.parts
    assert first.share == pytest.approx(0.9, abs=0.02)
    assert first.median == pytest.approx(1500, rel=0.1)
    assert second.median == pytest.approx(5e5, rel=0.2)
    assert found.distance < 0.02


def test_the_distance_is_kolmogorov_and_smirnovs() -> None:
    from scipy.stats import kstest

    sizes = _pareto(0.9, 500, 1e8, 2_000)
    for fit in fits(sizes):
        statistic = kstest(sizes, fit.law.below).statistic  # type: ignore[arg-type]
        assert fit.distance == pytest.approx(statistic, abs=1e-9)


@pytest.mark.parametrize(
    "law",
    [
        BoundedPareto(0.603, 400, 2_000_000_000),
        BoundedPareto(1.0, 1_000, 1_000_000),
        BoundedPareto(2.5, 100, 50_000),
        Lognormal((Part(0.9, 1_500, 1.3), Part(0.1, 200_000, 2.0)), 10_000_000),
        Lognormal((Part(1.0, 10_000, 1.0),), 1_000_000_000),
    ],
)
def test_a_laws_mean_and_its_distribution_by_bytes_follow_from_its_distribution(
    law: BoundedPareto | Lognormal,
) -> None:
    grid = np.geomspace(1, law.largest, 200_001)
    parts = np.diff(law.below(grid), prepend=0.0) * np.append(
        grid[0], np.sqrt(grid[1:] * grid[:-1])
    )
    assert law.mean() == pytest.approx(parts.sum(), rel=2e-3)
    np.testing.assert_allclose(law.bytes_below(grid), np.cumsum(parts) / parts.sum(), atol=2e-3)


def test_the_backbones_law_has_both_published_percentiles() -> None:
    # crates/workload/src/preset.rs: F(18.2 kB) = 0.9, and a tenth of the bytes in flows up to 6.4
    # MB.
    law = BoundedPareto(0.603, 400, 2_000_000_000)
    assert law.below(np.array([18.2e3]))[0] == pytest.approx(0.9, abs=0.0005)
    assert law.bytes_below(np.array([6.4e6]))[0] == pytest.approx(0.1, abs=0.0005)


def test_too_few_flows_and_flows_that_are_all_alike_are_refused() -> None:
    with pytest.raises(TooFewFlowsError, match=r"^99 flows: a fit needs at least 100"):
        fits(np.arange(1.0, 100.0))
    with pytest.raises(TooFewFlowsError, match=r"^500 flows, all of 1,000 bytes"):
        fits(np.full(500, 1000.0))


def test_sizes_are_written_as_scenarios_have_them() -> None:
    assert [size_text(size) for size in (1, 999, 1_000, 18_200, 6_400_000, 2_000_000_000)] == [
        *("1B", "999B", "1kB", "18.2kB", "6.4MB", "2GB"),
    ]


def _file(path: Path, sizes: Values) -> str:
    starts = pl.Series(range(len(sizes)), dtype=pl.Int64).cast(pl.Datetime("ns", "UTC"))
    pl.DataFrame({"start": starts, "bytes": sizes.astype("uint64")}).write_parquet(path)
    return str(path)


def test_the_command_prints_the_nearest_law_as_a_scenario_has_it(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    file = _file(tmp_path / "flows.parquet", _pareto(1.2, 1000, 1e7, 20_000))
    done = fullpipe("workload", "fit", file)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith('model = "')
    assert "50 % of the bytes" in done.stdout
    found = json.loads(fullpipe("workload", "fit", file, "--json").stdout)
    assert found["flows"] == 20_000
    assert f'model = "{found["laws"][0]["model"]}"' == done.stdout.splitlines()[-1]


def test_the_command_refuses_what_has_no_fit(fullpipe: Fullpipe, tmp_path: Path) -> None:
    few = fullpipe("workload", "fit", _file(tmp_path / "few.parquet", np.arange(1.0, 21.0)))
    assert few.returncode == 2
    assert "20 flows: a fit needs at least 100" in few.stderr
    assert "fix: " in few.stderr
    assert fullpipe("workload", "fit", "nothing.parquet").returncode == 2
