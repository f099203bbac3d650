"""The controls of `fullpipe explore`: what each of them changes in the text of a scenario. See web/explore-edit.mjs."""

from __future__ import annotations

import difflib
import itertools
import re
from typing import TYPE_CHECKING, Any

import pytest

import fullpipe
from browser import built_engine, observed
from fullpipe.results.rows import rows_of
from fullpipe.study.checks.judge import judged
from fullpipe.wings.pages import explore

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Observations on the page in a browser."""
    built_engine()
    file: Path = tmp_path_factory.mktemp("explore") / "explore.html"
    file.write_text(explore.explorer(explore.DEFAULT, "explore"), encoding="utf-8")
    return observed("explore-edit.mjs", file)


def _changes(before: str, after: str) -> list[str]:
    """Returns the lines that are gone or new."""
    return [
        line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"
    ]


def test_each_key_press_on_a_slider_changes_the_value(seen: dict[str, Any]) -> None:
    for name, values in seen["sliders"].items():
        assert all(one != other for one, other in itertools.pairwise(values)), name
        rising = values[1:13]
        assert len(set(rising)) == 12
        assert values[13:] == rising[-2:-5:-1], name
    assert seen["sliders"]["rate"][:4] == ["20mbit", "21mbit", "22mbit", "23mbit"]


def test_a_slider_never_overwrites_what_is_no_number(seen: dict[str, Any]) -> None:
    texts = seen["texts"]
    for name in ("loss", "rate", "rtt"):
        assert texts[name]["disabled"], name
        assert texts[name]["kept"], name
    assert texts["loss"]["shown"].startswith("gilbert-elliott p 1%")
    assert texts["rate"]["shown"].startswith("sine 10mbit..30mbit")
    assert texts["rtt"]["shown"] == "by the delay trace"
    assert any("no BDP: the delay follows a trace" in each for each in seen["traced"])
    assert seen["leo"][0]
    assert "NaN" not in seen["leo"][1]


def test_the_slider_of_the_buffer_keeps_its_unit(seen: dict[str, Any]) -> None:
    buffer = seen["texts"]["buffer"]
    assert buffer["shown"] == "100packets"
    assert re.search(r'buffer = "10[1-9]packets"', buffer["text"])


def test_conditions_on_a_renamed_flow_are_left_out_with_a_word(seen: dict[str, Any]) -> None:
    assert 'expect = ["jain >= 0.1"]' in seen["left"]["text"]
    assert "left out" in seen["left"]["status"]
    assert "flow.cubic.goodput >= 1mbit" in seen["left"]["status"]


@pytest.mark.parametrize(
    ("control", "lines"),
    [
        ("algorithm of cubic-1 to cubic-3", ['- cc = "cubic"', '+ cc = "copa"']),
        ("algorithm of bbr3", ['- cc = "bbr3"', '+ cc = "copa"']),
        ("algorithm of last-1 to last-2", ['- cc = "newreno"', '+ cc = "copa"']),
        ("start of bbr3", ['+ start = "1s"']),
        ("count of bbr3", ["+ count = 2"]),
        ("count of last-1 to last-2", ["- count = 2"]),
        ("a parameter", ["+ params = { beta = 0.5 }"]),
    ],
)
def test_a_control_changes_the_table_that_it_names(
    control: str, lines: list[str], seen: dict[str, Any]
) -> None:
    change = seen["several"]["changes"][control]
    assert change["problem"] == ""
    assert _changes(seen["several"]["text"], change["text"]) == lines


def test_a_table_with_a_count_has_one_group_of_controls(seen: dict[str, Any]) -> None:
    assert seen["several"]["groups"] == ["cubic-1 to cubic-3", "bbr3", "last-1 to last-2"]
    assert seen["several"]["changes"]["count of bbr3"]["groups"][1] == "bbr3-1 to bbr3-2"
    removed = seen["several"]["changes"]["remove bbr3"]
    assert removed["groups"] == ["cubic-1 to cubic-3", "last-1 to last-2"]
    assert removed["text"] == seen["several"]["text"].replace('[[flow]]\ncc = "bbr3"\n\n', "")


def test_a_control_keeps_the_focus_when_its_group_has_another_name(seen: dict[str, Any]) -> None:
    assert seen["focused"] == "count of bbr3-1 to bbr3-2"


def test_workloads_have_controls_beside_flows(seen: dict[str, Any]) -> None:
    mixed = seen["mixed"]
    assert mixed["groups"] == ["download", "web"]
    assert mixed["problem"] == ""
    assert 'load = 0.2\ncc = "bbr3"' in mixed["text"]
    assert 'name = "download"\ncc = "newreno"' in mixed["text"]
    assert "workload" not in mixed["removed"]
    assert "[[flow]]" in mixed["removed"]


def test_conditions_are_judged_and_worded_as_by_check(seen: dict[str, Any]) -> None:
    expected = seen["expected"]
    run = fullpipe.run(expected["text"])
    judgments = judged(run.scenario, rows_of(run.metrics))
    assert expected["verdicts"] == [
        f"{'✓ met' if each.met else '✗ missed'} {each.name}: {each.shown}" for each in judgments
    ]
    assert len(judgments) == 10
    assert {each.met for each in judgments} == {True, False}


def test_numbers_that_drift_are_those_of_the_command(seen: dict[str, Any]) -> None:
    [drifts], [changes], steady = seen["steadiness"]["said"]
    metrics = fullpipe.run(seen["steadiness"]["text"]).metrics
    [cubic, bbr3] = [flow["drift"]["goodput_bps"] for flow in metrics["flows"]]
    assert drifts == (
        "Not steady within the measured window: "
        f"goodput of cubic goes from {cubic['first'] / 1e6:.4g} Mbit/s to {cubic['last'] / 1e6:.4g} Mbit/s; "
        f"goodput of bbr3 goes from {bbr3['first'] / 1e6:.4g} Mbit/s to {bbr3['last'] / 1e6:.4g} Mbit/s."
    )
    assert changes == "Not tested for drift: flow bbr3 starts at 15s."
    assert steady == []


def test_flows_that_are_no_tables_are_changed_in_the_text_alone(seen: dict[str, Any]) -> None:
    inline = seen["inline"]
    assert inline["groups"] == []
    assert "change them in the text" in inline["note"]
    assert not inline["adds"]
    assert seen["after"] == {"groups": ["cubic", "bbr3"], "adds": True}


def test_packaged_scenarios_with_counts_take_another_algorithm(seen: dict[str, Any]) -> None:
    assert len(seen["packaged"]) >= 15
    for name, each in seen["packaged"].items():
        assert each["problem"] == "", name
        assert each["groups"] == each["before"].count("[[flow]]"), name
        lines = _changes(each["before"], each["after"])
        assert [line for line in lines if line[0] == "+"] == ['+ cc = "copa"'], name


def test_a_mistake_in_the_text_keeps_the_picture_when_the_time_moves(seen: dict[str, Any]) -> None:
    mistake = seen["mistake"]
    assert "rrt" in mistake["problem"]
    assert mistake["time"] != "15.000 s"
    for told in (mistake["still"], mistake["moved"]):
        assert re.fullmatch(r"[1-9]\d* packets under way, \d+ of them in the queue", told)


def test_a_pinned_run_has_its_numbers_beside_the_next(seen: dict[str, Any]) -> None:
    pinned = seen["pinned"]
    _, cubic, bbr3 = pinned["before"]
    heads, kinds, first, second = pinned["beside"]
    assert heads == pinned["before"][0]
    assert kinds == ["", *["now", "pinned"] * 3]
    assert first[0] == "newreno, pinned cubic"
    assert first[2::2] == cubic[1:]
    assert second[0] == "bbr3"
    assert second[2::2] == bbr3[1:]
    assert second[1::2] != second[2::2]
    assert re.fullmatch(
        r"bottleneck: utilization [\d.]+% \(pinned [\d.]+%\), \d+ \(pinned \d+\) drops, 0 \(pinned 0\) marks",
        pinned["lineBeside"],
    )
    assert len(pinned["unpinned"]) == 3


def test_a_stopped_class_is_used_again_by_a_click_alone(seen: dict[str, Any]) -> None:
    own = seen["own"]
    assert "was stopped" in own["stopped"]
    told = 'flow.0.cc = "Mine": your class is not in use\n  fix: choose *Use this class* again'
    assert told in own["changed"]
    assert own["again"][:2] == ["", ""]
    assert 'cc = "Mine"' in own["again"][2]
    assert told in own["linked"]


def test_a_class_is_named_by_hand_where_flows_are_no_tables(seen: dict[str, Any]) -> None:
    told, text = seen["own"]["inline"]
    assert told.startswith('write cc = "Mine" into the text')
    assert 'flow = [{ cc = "cubic" }, { cc = "bbr3" }]' in text


def test_mistakes_in_a_class_are_told_next_to_it(seen: dict[str, Any]) -> None:
    own = seen["own"]
    assert re.fullmatch(r"✓ met link\.bottleneck\.utilization >= 1%: [\d.]+ %", own["judged"][0]), (
        "a share has the unit of its condition"
    )
    told, verdicts = own["misspelled"]
    assert told.startswith(
        "Mine has a method on_loss, which nothing calls\n  fix: did you mean on_lost? the methods"
    )
    assert verdicts == [], "no verdict of the class before"
    told, _ = own["beside"]
    assert told.startswith(
        "Mine has a method onAck, which nothing calls\n  fix: did you mean on_ack? the methods"
    )
    told, verdicts = own["segments"]
    assert "the window is below one segment (10 of 1448 bytes) after its constructor" in told
    assert "fix: windows are in bytes: write 10 * config.smss for 10 segments" in told
    assert verdicts == []
    told, verdicts = own["absent"]
    assert "the second argument of on_ack has no acked\n  fix: did you mean newly_acked?" in told
    assert verdicts == []


def test_no_verdict_of_the_class_before_stays(seen: dict[str, Any]) -> None:
    told, verdicts = seen["own"]["syntax"]
    assert "SyntaxError" in told
    assert verdicts == []
    told, verdicts = seen["own"]["mended"]
    assert told == ""
    assert len(verdicts) == 1


def test_two_thousand_tables_of_flows_are_answered_like_a_count(seen: dict[str, Any]) -> None:
    many = seen["many"]
    assert many["took"] < 10_000
    assert many["groups"] == 50
    assert many["note"] == "1950 of 2000 tables have no controls here: change them in the text."
    assert "60 of 2000 flows" in many["captions"][0]
    assert many["states"] == "and 1940 flows more"
