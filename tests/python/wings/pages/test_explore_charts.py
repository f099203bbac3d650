"""The charts of `fullpipe explore`: states, data in flight, rate, BDP, drops. See web/explore-charts.mjs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import fullpipe
from browser import built_engine, observed
from fullpipe.runs.view import states
from fullpipe.wings.pages import explore

if TYPE_CHECKING:
    from pathlib import Path

LOOKS = ("light 1200", "dark 1200", "light 400", "dark 400")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Observations on the page in a browser."""
    built_engine()
    file: Path = tmp_path_factory.mktemp("explore") / "explore.html"
    file.write_text(explore.explorer(explore.DEFAULT, "explore"), encoding="utf-8")
    return observed("explore-charts.mjs", file)


@pytest.mark.parametrize("look", LOOKS)
def test_the_picture_alone_answers_the_question_about_the_phases_of_bbr(
    look: str, seen: dict[str, Any]
) -> None:
    [lesson] = [each for each in explore.lessons() if each["name"] == "bbr"]
    run = fullpipe.run(lesson["scenario"], trace="10ms")
    stays = states.stays(run, 30)
    chart = seen["charts"][look]
    assert chart["names"] == list(states.colors(stays["state"].unique().to_list()))
    assert [each["name"] for each in chart["runs"][:3]] == ["startup", "drain", "probe_bw_cruise"]
    # Width of the room for names and of the margin behind the last time, in pixels.
    left, right = 54, 25
    second = (chart["width"] - left - right) / 30
    probes = [
        (each["from"] - left) / second for each in chart["runs"] if each["name"] == "probe_rtt"
    ]
    since = stays.filter(stays["state"] == "probe_rtt")["since"].to_list()
    assert probes == pytest.approx(since, abs=2 / second)
    assert len(probes) == 5


@pytest.mark.parametrize("look", LOOKS)
def test_states_are_readable_on_any_screen_and_by_ear(look: str, seen: dict[str, Any]) -> None:
    chart = seen["charts"][look]
    assert chart["overflow"] <= 0
    assert chart["inside"]
    assert chart["named"] == 0
    assert re.match(r"States over time. bbr3: startup [\d.]+%, drain [\d.]+%, ", chart["label"])


@pytest.mark.parametrize("look", LOOKS)
def test_a_click_on_a_state_shows_its_time(look: str, seen: dict[str, Any]) -> None:
    assert seen["charts"][look]["state"] == "probe_rtt"


def test_charts_have_the_rate_of_the_link_and_the_bdp(seen: dict[str, Any]) -> None:
    for each in (seen["first"], seen["l4s"]):
        assert each["rate"][0][-1] == "link rate"
        assert each["window"][0][-1] == "BDP"
        assert "dotted: BDP" in each["window"][1]
    assert seen["changes"]["rate"][0][-1] == "link rate"
    assert "BDP" not in str(seen["changes"]["window"])


def test_data_in_flight_is_shown_and_hidden_with_its_flow(seen: dict[str, Any]) -> None:
    assert "pale: data in flight" in seen["first"]["window"][1]
    both, none, again = seen["orange"]
    assert both > 500
    assert none == 0
    assert again == both


def test_drops_and_marks_are_ticks_above_the_queue(seen: dict[str, Any]) -> None:
    first, l4s = seen["first"], seen["l4s"]
    assert first["ticks"] > 5
    for each in (first, l4s):
        counts = re.search(r"(\d+) drops, (\d+) marks$", each["links"])
        assert counts
        all_of_them = f"{counts[1]} drops, {counts[2]} marks in the whole run"
        assert each["queue"] == [each["queue"][0], f"Queue over time: {all_of_them}"]
    assert first["queue"][0].split() == ["Queue,", "kB", "drops"]
    assert l4s["queue"][0].split() == ["Queue,", "kB", "drops", "marks"]


def test_packets_that_wait_are_those_of_the_data(seen: dict[str, Any]) -> None:
    counts = re.fullmatch(r"(\d+) packets under way, (\d+) of them in the queue", seen["waiting"])
    assert counts
    assert 500 < int(counts[2]) <= int(counts[1])


def test_many_flows_have_fewer_lines_and_bands(seen: dict[str, Any]) -> None:
    many = seen["many"]
    assert "in flight" not in many["window"][1]
    said, label = many["states"]
    assert said == "of 12 of 21 flows"
    assert label.count(": ") == 12
    assert "bbr3: " in label
