"""`fullpipe attack shrink`: the conditions, the edits, and scenarios of a few lines that still hold them."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from fullpipe.base.toml import document
from fullpipe.errors import UserError
from fullpipe.wings.search.attack.shrink import edits
from fullpipe.wings.search.attack.shrink.conditions import expanded, negated, renamed
from fullpipe.wings.search.attack.shrink.edits import Subject
from fullpipe.wings.search.attack.shrink.holds import Holds
from fullpipe.wings.search.attack.shrink.reduce import reduce

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Fullpipe

LONG = """\
# CUBIC behind a receiver that acknowledges late, with much that does not matter
stack = "rfc"
duration = "23.7s"
measure_from = "5.3s"
seed = 4
send_jitter = "1.348315ms"
start_jitter = "10ms"

[path]
rate = "8.9mbit"
rtt = "11ms"
buffer = "0.47bdp"
reverse_loss = "0.13%"
queue = "codel"

[[path.change]]
at = "7.77s"
rate = "11.3mbit"

[[path.change]]
at = "14.1s"
loss = "list 3, 7, 11, 15, 19, 23"

[[flow]]
name = "own"
cc = "cubic"
delayed_ack = 32
ack_delay = "163ms"

[[flow]]
name = "burst"
cc = "none"
app_rate = "3.1mbit"
app_schedule = "37ms pause every 1.7s"
"""


def tables(text: str = LONG) -> dict[str, Any]:
    return tomllib.loads(text)


# Conditions


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        ("goodput < 10%", "flow.own.goodput < 890kbit"),
        ("burst.goodput >= 1mbit", "flow.burst.goodput >= 1mbit"),
        ("own.rtt.p95 > 4rtt", "flow.own.rtt.p95 > 4rtt"),
        ("median of loss > 3%", "median of flow.own.loss > 3%"),
        ("utilization < 50%", "link.bottleneck.utilization < 50%"),
        ("jain < 0.6", "jain < 0.6"),
        ("flow.own.goodput < 1mbit", "flow.own.goodput < 1mbit"),
    ],
)
def test_short_conditions_are_those_of_expect(short: str, whole: str) -> None:
    assert expanded([short], tables()) == [whole]


def test_a_condition_of_something_else_is_refused_with_the_fix() -> None:
    for text in ("goodput", "speed < 3", "goodput < 10 apples", "late.goodput < 10%"):
        with pytest.raises(UserError, match=r"(?s)--keep .*fix: "):
            expanded([text], tables())


def test_the_opposite_of_a_condition_holds_where_it_fails() -> None:
    assert negated("flow.a.goodput >= 3mbit") == "flow.a.goodput < 3mbit"
    assert negated("p90 of jain > 0.8") == "p90 of jain <= 0.8"


def test_a_flow_with_another_name_keeps_its_conditions() -> None:
    before = ["own.rtt.p95 > 4rtt", "flow.own.goodput < 1mbit", "owner.loss > 1%", "goodput < 3%"]
    after = [
        "cubic.rtt.p95 > 4rtt",
        "flow.cubic.goodput < 1mbit",
        "owner.loss > 1%",
        "goodput < 3%",
    ]
    assert renamed(before, "own", "cubic") == after


# Edits


def applied(edit: Callable[[Subject], Any], text: str = LONG) -> list[dict[str, Any]]:
    return [each.tables for each in edit(Subject(tables(text)))]


def test_elements_go_in_halves_and_alone() -> None:
    left = [
        (len(each["flow"]) if "flow" in each else 0, len(each["path"].get("change", [])))
        for each in applied(edits.fewer_elements)
    ]
    assert left == [(2, 0), (2, 1), (2, 1), (0, 2), (1, 2), (1, 2)]


def test_every_key_goes_but_the_duration() -> None:
    there = applied(edits.fewer_keys)
    assert all("duration" in each for each in there)
    paths = [each["path"] for each in there if "path" in each]
    flows = [each["flow"] for each in there if "flow" in each]
    assert len(paths) == len(there) - 1
    assert any("queue" not in each for each in paths)
    assert any(not each["change"][1:] or "loss" not in each["change"][1] for each in paths)
    assert any("ack_delay" not in each[0] for each in flows)


def test_lists_lose_items_and_counts_get_smaller() -> None:
    losses = {each["path"]["change"][1]["loss"] for each in applied(edits.fewer_items)}
    assert {"list 3, 7, 11", "list 15, 19, 23", "list 7, 11, 15, 19, 23"} <= losses
    many = LONG.replace('cc = "cubic"\n', 'cc = "cubic"\ncount = 9\n')
    counts = [each["flow"][0]["count"] for each in applied(edits.fewer_items, many)]
    assert {1, 2, 4, 8} <= set(counts)


def test_seconds_go_but_a_time_is_measured() -> None:
    shorter = [
        each["duration"]
        for each in applied(lambda subject: edits.fewer_seconds(subject, 5))
        if each["duration"] != "23.7s"
    ]
    assert shorter == ["15s", "20s"]


def test_numbers_are_rounded_to_those_that_people_write() -> None:
    there = applied(edits.rounder)
    assert {"10mbit", "9mbit", "5mbit"} <= {each["path"]["rate"] for each in there}
    assert {"50ms pause every 1.7s", "37ms pause every 2s"} <= {
        each["flow"][1]["app_schedule"] for each in there
    }
    assert all(each["flow"][0]["name"] == "own" for each in there)
    round_ = LONG.replace("8.9mbit", "10mbit")
    assert {each["path"]["rate"] for each in applied(edits.rounder, round_)} == {"10mbit"}


def test_a_change_of_the_path_is_a_table_of_its_own() -> None:
    text = edits.text_of(tables())
    assert text.count("\n[[path.change]]\nat = ") == 2
    assert tomllib.loads(text) == tables()
    assert Subject(tables()).lines == 28 + 1  # that of expect


def test_equal_flows_become_one_and_names_go() -> None:
    text = LONG + '\n[[flow]]\nname = "late"\ncc = "cubic"\ndelayed_ack = 32\nack_delay = "163ms"\n'
    made = list(edits.fewer_words(Subject(tables(text), ("own.goodput < 10%", "late.loss > 1%"))))
    assert [each["count"] for each in made[0].tables["flow"] if "count" in each] == [2]
    assert ("cubic.goodput < 10%", "late.loss > 1%") in [each.keep for each in made]
    path = [each.tables["path"] for each in made]
    assert any(each["rate"] == "11.3mbit" and len(each["change"]) == 1 for each in path)


# The whole


def test_a_scenario_is_reduced_while_its_conditions_hold() -> None:
    subject = Subject(
        {key: value for key, value in tables().items() if key != "seed"},
        ("goodput < 5%", "utilization < 20%"),
    )
    holds = Holds(3)
    found = reduce(subject, lambda each: holds(each.tables, each.keep))
    assert found.lines <= 11
    assert set(found.tables) == {"stack", "duration", "path", "flow"}
    assert set(found.tables["path"]) == {"rate", "rtt", "buffer"}
    [flow] = found.tables["flow"]
    assert set(flow) == {"cc", "delayed_ack", "ack_delay"}
    assert not Holds(3).missed(found.tables, found.keep)


def test_the_command_writes_a_regression_test(tmp_path: Path, fullpipe: Fullpipe) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    keep = ("--keep", "goodput < 5%", "--keep", "utilization < 20%")
    done = fullpipe("attack", "shrink", "long.toml", *keep, "--out", "short.toml", "--seeds", "3")
    assert " lines became 11" in done.stderr
    text = (tmp_path / "short.toml").read_text()
    assert text.startswith("# CUBIC behind a receiver that acknowledges late")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 12
    assert 'expect = ["flow.cubic.goodput < ' in text
    assert fullpipe("check", "short.toml", "--repeat", "3").returncode == 0


def test_a_failed_check_is_shrunk_to_the_opposite_of_its_condition(
    tmp_path: Path, fullpipe: Fullpipe
) -> None:
    failed = LONG.replace(
        "seed = 4\n", 'expect = ["jain >= 0", "flow.own.goodput >= 6mbit"]\nseed = 4\n'
    )
    (tmp_path / "failed.toml").write_text(failed)
    assert fullpipe("check", "failed.toml", "--repeat", "3").returncode == 1
    done = fullpipe("attack", "shrink", "failed.toml", "--seeds", "3")
    assert "goodput < 6mbit" in done.stdout
    made = tomllib.loads(done.stdout)
    assert len(document(made).splitlines()) < len(failed.splitlines()) // 2


def test_with_unlike_the_other_algorithm_must_fail(tmp_path: Path, fullpipe: Fullpipe) -> None:
    text = LONG.replace('cc = "cubic"\ndelayed_ack = 32\nack_delay = "163ms"\n', 'cc = "veno"\n')
    text = text.replace(
        'name = "burst"\ncc = "none"\napp_rate = "3.1mbit"\n', 'name = "other"\ncc = "cubic"\n'
    )
    text = text.replace('app_schedule = "37ms pause every 1.7s"\n', "")
    text = text.replace('queue = "codel"\n', "").replace("0.47bdp", "20bdp")
    (tmp_path / "long.toml").write_text(text.replace("veno", "ledbat"))
    keep = ("--keep", "own.goodput < 20%", "--seeds", "3")
    done = fullpipe("attack", "shrink", "long.toml", *keep, "--unlike", "cubic")
    assert done.returncode == 0, done.stderr
    made = tomllib.loads(done.stdout)
    assert [each["cc"] for each in made["flow"]] == ["ledbat", "cubic"]
    wrong = fullpipe("attack", "shrink", "long.toml", *keep, "--unlike", "ledbat")
    assert wrong.returncode == 2
    assert "the conditions hold with it, too" in wrong.stderr


def test_the_attacked_algorithm_stays_with_unlike() -> None:
    # Without the flow of LEDBAT the bursts alone leave the link idle, but no algorithm fails then.
    burst = {"cc": "none", "app_rate": "5mbit", "app_schedule": "100ms pause every 1s"}
    path = {"rate": "10mbit", "rtt": "20ms", "buffer": "1bdp"}
    bare = {"duration": "5s", "path": path, "flow": [burst]}
    assert not Holds(2).missed(bare, ["utilization < 50%"])
    assert not Holds(2, "ledbat", "cubic")(bare, ["utilization < 50%"])


def test_conditions_that_do_not_hold_are_refused(tmp_path: Path, fullpipe: Fullpipe) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    for words, said in (
        (("--keep", "goodput > 50%", "--seeds", "2"), "does not hold with seed 1, 2 of 1 to 2"),
        (("--keep", "speed > 50%"), "has no metric"),
        ((), "no conditions"),
        (("--set", "path.rate=fast", "--keep", "jain > 0"), "path.rate"),
    ):
        done = fullpipe("attack", "shrink", "long.toml", *words)
        assert done.returncode == 2, words
        assert said in done.stderr
        assert "fix: " in done.stderr
    assert "no such file" in fullpipe("attack", "shrink", "none.toml", "--keep", "jain > 0").stderr


def test_a_warm_up_of_its_own_length_is_a_time_in_what_is_left(
    tmp_path: Path, fullpipe: Fullpipe
) -> None:
    path = '[path]\nrate = "2mbit"\nrtt = "20ms"\nbuffer = "1bdp"\n'
    (tmp_path / "long.toml").write_text(f'duration = "2s"\n{path}[[flow]]\ncc = "cubic"\n')
    done = fullpipe(
        *("attack", "shrink", "long.toml", "--set", "measure_from=auto"),
        *("--keep", "utilization > 10%", "--seeds", "1"),
    )
    assert done.returncode == 0, done.stderr
    assert "auto" not in done.stdout
