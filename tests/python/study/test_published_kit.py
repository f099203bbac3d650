"""KIT's claims: all cases exist, every point of every group can run, and some points are run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fullpipe.study.reproduce import published
from fullpipe.study.reproduce.measures import OF_WORKLOADS
from fullpipe.study.reproduce.pictures.draw import draw
from fullpipe.study.reproduce.runner import sample
from fullpipe.study.reproduce.study import study
from fullpipe.study.verdicts.judged import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fullpipe.study.reproduce.claims import Claim, Samples

KIT = published.load(published.find("kit"))
POINTS = {point.name: point for claim in KIT.claims for point in claim.points}


def test_every_case_of_the_slides_is_there() -> None:
    assert {claim.case for claim in KIT.claims} == {f"K{number}" for number in range(1, 17)}
    assert {picture.case for picture in KIT.pictures} == {
        *(f"K{number}" for number in range(2, 13)),
        "K15",
    }


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


def test_short_flows_are_the_same_for_every_algorithm() -> None:
    first, *others = (
        point.setup.scenario(1).to_toml()
        for name, point in POINTS.items()
        if name.endswith("collapsed 0.73")
    )
    assert len(others) == 2
    for line in ('source = "mawi-2020-06-10"', "load = 0.73", 'rate = "3gbit"', 'stop = "30s"'):
        assert all(line in text for text in (first, *others))


def test_whole_traces_are_judged_by_the_claims_of_30_s() -> None:
    whole = published.load(published.find("kit-whole"))

    def judged(claims: Iterable[Claim]) -> set[tuple[str, str, str, tuple[float, float], str]]:
        short = (each for each in claims if each.case in ("K12", "K15") and each.report is None)
        return {
            (each.case, each.metric, each.measure, each.within, points.label)
            for each in short
            for points in each.of[0]
        }

    assert judged(whole.claims) == judged(KIT.claims)
    stops = {"whole": 'stop = "900s"', "short": 'stop = "30s"'}
    for claims, name in ((whole.claims, "whole"), (KIT.only(["K15"]).claims, "short")):
        assert all(
            stops[name] in point.setup.scenario(1).to_toml()
            for claim in claims
            for point in claim.points
        )


def test_short_flows_are_served_best_by_srpt() -> None:
    point = POINTS["short-v3 collapsed 0.5"]
    settings = (*point.setup.settings, ("duration", "8s"), ("workload.0.stop", "7s"))
    run = replace(point.setup, settings=settings).run(1)
    done = sample(run, [(name, 0) for name in (*OF_WORKLOADS, "queue_within_2_rttmin")])
    assert done.values["flows_arrived", 0] > 1_000
    assert 0 <= done.values["flows_unfinished", 0] < 0.1
    assert done.values["slowdown_over_srpt", 0] >= 1
    assert 1 <= done.values["slowdown_p50_by_decade", 0] <= done.values["slowdown_p99_by_decade", 0]
    assert done.values["flow_p90_kb", 0] == pytest.approx(18.2, rel=0.2)
    assert 0.1 < done.values["byte_p10_mb", 0] < 100
    assert 0 < done.values["queue_within_2_rttmin", 0] <= 1


def test_a_picture_of_slowdowns_has_a_row_a_label_and_a_line_a_group_beside_the_servers() -> None:
    picture = next(picture for picture in KIT.pictures if picture.draw == "slowdown")
    settings = (("duration", "3s"), ("measure_from", "1s"), ("workload.0.stop", "2s"))
    samples: Samples = {}
    for point in picture.points:
        setup = replace(point.setup, settings=(*point.setup.settings, *settings))
        samples[point] = (sample(setup.run(1), []),)
    panels = draw(picture, samples).axes
    assert len(panels) == 3 * 3
    assert [line.get_label() for line in panels[0].lines] == [
        *("short-cubic", "short-v1", "short-v3", "SRPT", "processor sharing"),
    ]
    srpt, cubic = (np.asarray(panels[1].lines[place].get_ydata(), dtype=float) for place in (3, 0))
    assert (srpt <= cubic).all()
