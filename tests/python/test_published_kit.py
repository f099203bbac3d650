"""KIT's claims: all cases are there, every point of every group can run, and some of it is run."""

from __future__ import annotations

import re

import pytest

from fullpipe.reproduce import published
from fullpipe.reproduce.study import study
from fullpipe.reproduce.verdict import Verdict

KIT = published.load(published.find("kit"))
POINTS = {point.name: point for claim in KIT.claims for point in claim.points}


def test_every_case_of_the_slides_is_there_but_short_flows() -> None:
    assert {claim.case for claim in KIT.claims} == {*(f"K{number}" for number in range(1, 12)), "K16"}
    assert {picture.case for picture in KIT.pictures} == {*(f"K{number}" for number in range(2, 12))}


@pytest.mark.parametrize("name", POINTS)
def test_every_point_is_a_scenario(name: str) -> None:
    scenario = POINTS[name].setup.scenario(1)
    assert scenario.is_random
    assert "bbr3" not in scenario.to_toml() or 'profile = "linux"' in scenario.to_toml()


def test_a_lone_flow_is_measured_as_the_slides_have_it() -> None:
    for name in ("one-v3", "one-v1"):
        text = POINTS[name].setup.scenario(1).to_toml()
        for line in ('duration = "60s"', 'measure_from = "5s"', 'rate = "100mbit"', 'rtt = "50ms"'):
            assert line in text
        assert POINTS[name].seeds == 30


def test_grid_reaches_10_gbit() -> None:
    rates = {POINTS[name].setup.scenario(1).rate_bps for name in POINTS if re.match("grid", name)}
    assert rates == {100_000_000, 1_000_000_000, 10_000_000_000}


def test_a_lone_flow_meets_its_claims() -> None:
    done = study(KIT.only(["K1", "K2"]).with_seeds(2))
    assert len(done.claims) == 8
    assert set(done.verdicts) == {Verdict.MET}


def test_noise_makes_the_estimate_too_high() -> None:
    done = study(KIT.only(["K3"]).with_seeds(1))
    assert set(done.verdicts) == {Verdict.MET}
    none, *noisy = (judged.ours.value for judged in done.claims[:5])
    assert none < 0.001 < min(noisy)
