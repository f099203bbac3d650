"""Huitema's loopback: the measures that its claims need, and the ratios with fewer seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest

from fullpipe.study.reproduce import published
from fullpipe.study.reproduce.measures import MEASURES
from fullpipe.study.reproduce.pictures.draw import draw
from fullpipe.study.reproduce.runner import sample
from fullpipe.study.reproduce.study import study
from fullpipe.study.verdicts.judged import Verdict
from hand_made import run_of

if TYPE_CHECKING:
    from fullpipe.study.reproduce.claims import Samples


def test_the_ratios_of_before_after_and_cubic() -> None:
    file = published.load(published.find("huitema"))
    done = study(file.only(["H2/H1", "H3/H2", "H4"]).with_seeds(8))
    assert {judged.subject.metric: judged.verdict for judged in done.claims} == dict.fromkeys(
        (
            "BBR before / CUBIC",
            "BBR after / before",
            "CUBIC limited by its window, share of time",
            "CUBIC limited by the host",
        ),
        Verdict.MET,
    )


def test_both_files_have_one_host() -> None:
    huitema, drift = (published.load(published.find(name)) for name in ("huitema", "drift"))
    texts = [file.claims[0].points[0].setup.text for file in (huitema, drift)]
    host = [text[text.index("[host]") : text.index("[[flow]]")].split("\n") for text in texts]
    assert {line for line in host[0] if line} - set(host[1]) == {'variation = "21%"'}


def test_rate_rtt_and_state_are_drawn_over_time_and_near_to() -> None:
    file = published.load(published.find("huitema"))
    picture = next(picture for picture in file.pictures if picture.draw == "rate_rtt_state")
    quick = [
        tuple(
            replace(
                point,
                seeds=1,
                setup=replace(point.setup, settings=(*point.setup.settings, ("duration", "1.1s"))),
            )
            for point in points
        )
        for points in picture.of
    ]
    picture = replace(picture, of=tuple(quick))
    samples: Samples = {point: (sample(point.setup.run(1), ()),) for point in picture.points}
    panels = draw(picture, samples).axes
    assert len(panels) == 2 * 4 * 2, "two kinds of connections, four panels each, twice"
    rates, near = panels[0], panels[1]
    assert [line.get_label() for line in rates.lines] == ["pacing rate", "delivered"]
    assert rates.get_xlim() == pytest.approx((0, 1.1), rel=0.01), "a short run is shown completely"
    assert near.get_xlim() == (0, 50)
    tops = [float(area.get_datalim(panels[4].transData).y1) for area in panels[4].collections]
    assert max(tops) == pytest.approx(1), "some limit applies at any time"
    assert len({round(top, 3) for top in tops}) > 1, "the limit varies"
    assert len(panels[6].collections) > 3, "states are filled"


def test_what_holds_a_flow_back_is_its_share() -> None:
    run = run_of(10.0)
    flow = run.metrics["flows"][0]
    flow["limited_by"] = {"cwnd": 0.25, "recovery": 0.05, "pacing": 0.6, "host": 0.1}
    flow["rtt_s"] = {**flow["rtt_s"], "min": 20e-6, "p50": 75e-6, "max": 1400e-6}
    names = (
        "limited_by_cwnd",
        "limited_by_pacing",
        "limited_by_host",
        "rtt_min_us",
        "rtt_p50_us",
        "rtt_max_us",
    )
    assert [MEASURES[name](run, 0) for name in names] == pytest.approx(
        [0.3, 0.6, 0.1, 20, 75, 1400]
    )


def test_a_drop_counts_in_cruise_without_a_loss_and_from_a_tenth_on() -> None:
    rows = [
        # time, state, pacing rate, lost
        (0.0, "probe_bw_cruise", 100.0, 0),
        (0.1, "probe_bw_cruise", 95.0, 0),
        (0.2, "probe_bw_cruise", 80.0, 0),  # the only drop that counts
        (0.3, "probe_bw_up", 100.0, 0),
        (0.4, "probe_bw_cruise", 80.0, 0),  # not counted: previous row in another state
        (0.5, "probe_bw_cruise", 60.0, 1448),  # not counted: with a loss
    ]
    run = run_of(
        10.0,
        flows=pl.DataFrame(
            [("cubic-1", time, state, rate, lost, rate * 1e-6) for time, state, rate, lost in rows],
            schema=["flow", "time", "cubic.state", "pacing_rate", "lost", "rtt"],
            orient="row",
        ),
        transitions=pl.DataFrame(
            [
                ("cubic-1", 0.25, "probe_bw_refill", "probe_bw_up", "pipe refilled for a round"),
                ("cubic-1", 0.35, "probe_bw_up", "probe_bw_down", "delay rose"),
                ("cubic-1", 0.45, "probe_bw_up", "probe_bw_down", "bandwidth plateau"),
            ],
            schema=["flow", "time", "from", "to", "reason"],
            orient="row",
        ),
    )
    assert MEASURES["cruise_drops_per_s"](run, 0) == pytest.approx(1 / 0.5)
    assert MEASURES["probes_per_s"](run, 0) == pytest.approx(1 / 0.5)
    assert MEASURES["up_ends_on_delay"](run, 0) == pytest.approx(0.5)
    assert MEASURES["pacing_rtt_correlation"](run, 0) == pytest.approx(1.0)
    assert MEASURES["pacing_variation"](run, 0) == pytest.approx(
        (1220.8 / 5) ** 0.5 / (515 / 6), rel=1e-3
    )
