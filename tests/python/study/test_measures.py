"""Measures of `fullpipe reproduce` on handmade runs."""

from __future__ import annotations

import math

import polars as pl
import pytest

from fullpipe.study.reproduce.measures import MEASURES, TRACED
from hand_made import Ran, run_of


def test_every_measure_says_what_it_is() -> None:
    assert all((measure.__doc__ or "").strip().endswith(".") for measure in MEASURES.values())


@pytest.mark.parametrize(
    ("measure", "flow", "value"),
    [
        ("goodput_mbps", 1, 30),
        ("goodput_share", 1, 0.5),
        ("goodput_ratio", 1, 2),
        ("goodput_ratio", 0, 10 / 25),
        ("rtt_mean_ms", 0, 40),
        ("rtt_p99_ms", 0, math.nan),
        ("retransmits", 0, 7),
        ("packets_lost", 0, 8),
        ("utilization", 0, 0.9),
        ("queue_mean_rttmin", 0, 0.2),
        ("queue_p50_rttmin", 0, 0.1),
        ("queue_p95_rttmin", 0, 0.6),
        ("queue_p99_rttmin", 0, 0.8),
        ("queue_max_rttmin", 0, 1.0),
        ("queue_above_rttmin", 0, 0.4),
        ("queue_within_2_rttmin", 0, 0.9),
        ("goodput_sum_mbps", 0, 60),
        ("min_max_score", 0, 10 / 3),
        ("jain", 0, 1.0),
    ],
)
def test_of_metrics(measure: str, flow: int, value: float) -> None:
    run = run_of(10, 30, 20, lost=7)
    assert MEASURES[measure](run, flow) == pytest.approx(value, nan_ok=True)
    assert measure not in TRACED


def test_of_nothing() -> None:
    assert math.isnan(MEASURES["goodput_share"](run_of(0, 0), 0))
    assert MEASURES["goodput_ratio"](run_of(3, 0), 0) == math.inf
    assert math.isnan(MEASURES["goodput_ratio"](run_of(3), 0))
    assert math.isnan(MEASURES["jain"](run_of(3), 0))
    assert MEASURES["min_max_score"](run_of(0, 0), 0) == 10


def _probing() -> Ran:
    """Returns a run with a row every 10 ms for 10 s, and a gain of 1.25 in four periods.

    The complete ones are 2.0 s to 2.2 s and 6.0 s to 6.1 s; the run begins and ends within two others.
    The queue is 45 ms at 2.2 s and 35 ms at 6.12 s. A peak of 30 ms at 8 s belongs to no probe.
    """
    time = [step / 100 for step in range(1000)]
    probing = [t < 0.1 or 2 <= t < 2.2 or 6 <= t < 6.1 or t >= 9.9 for t in time]
    humps = {2.19: 45, 2.2: 45, 6.12: 35, 8.0: 30}
    run = run_of(
        90,
        flows=pl.DataFrame(
            {
                "time": time,
                "flow": ["cubic-1"] * 1000,
                "cubic.pacing_gain": [1.25 if up else 1.0 for up in probing],
                "cubic.max_bw": [100e6] * 1000,
            }
        ),
        links=pl.DataFrame(
            {
                "time": time,
                "link": ["bottleneck"] * 1000,
                "sojourn": [humps.get(t, 1) / 1e3 for t in time],
            }
        ),
    )
    run.metrics["measure_from_s"] = 0.05
    return run


def test_a_probe_is_whole_and_has_its_peak() -> None:
    run = _probing()
    assert MEASURES["up_length_rttmin"](run, 0) == pytest.approx((0.2 + 0.1) / 2 / 0.05)
    assert MEASURES["up_peak_rttmin"](run, 0) == pytest.approx((45 + 35) / 2 / 50)
    assert MEASURES["peaks_in_up"](run, 0) == pytest.approx(2 / 3)


def test_an_estimate_is_compared_with_what_payload_can_have() -> None:
    assert MEASURES["bw_overestimate"](_probing(), 0) == pytest.approx(1500 / 1448 - 1)
    assert MEASURES["bw_sum_overestimate"](_probing(), 0) == pytest.approx(1500 / 1448 - 1)


def test_without_a_probe_there_is_no_peak() -> None:
    run = _probing()
    run.tables["flows"] = run.tables["flows"].with_columns(pl.lit(1.0).alias("cubic.pacing_gain"))
    assert math.isnan(MEASURES["up_peak_rttmin"](run, 0))
    assert MEASURES["peaks_in_up"](run, 0) == 0


def _latecomer(late_mb_per_s: list[float]) -> Ran:
    """Returns a run of two flows: one delivers 10 MB/s from 0 s, the other the given rates in 20 s from 10 s on."""
    time = [step / 10 for step in range(301)]
    late = [10 + step / 10 for step in range(201)]
    got = [0.0]
    for step in range(200):
        got.append(got[-1] + late_mb_per_s[step // 10] / 10)
    flows = pl.DataFrame(
        {
            "time": time + late,
            "flow": ["cubic-1"] * 301 + ["cubic-2"] * 201,
            "delivered": [round(t * 10e6) for t in time] + [round(mb * 1e6) for mb in got],
        }
    )
    return run_of(80, 40, flows=flows)


def test_a_latecomer_has_its_share_when_a_second_of_it_shows() -> None:
    run = _latecomer([1.0] * 5 + [10.0] * 15)
    assert MEASURES["early_share"](run, 1) == pytest.approx(1 / 11)
    # 80 % of an equal share is 0.4 of the total. A window with a part w at 10 MB/s and 1 - w at 1 MB/s
    # reaches it when 1 + 9 w >= 0.4 (11 + 9 w).
    assert MEASURES["time_to_fair_s"](run, 1) == pytest.approx(5.7, abs=0.1)
    assert MEASURES["time_to_fair_s"](_latecomer([1.0] * 20), 1) == pytest.approx(20)
