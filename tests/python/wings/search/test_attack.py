"""`fullpipe attack`: the space, the goals' values, and the search."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fullpipe import _core
from fullpipe.base.toml import document
from fullpipe.study.checkpoint import Checkpoint
from fullpipe.study.verdicts.reader import PublishedError
from fullpipe.wings.search.attack import words
from fullpipe.wings.search.attack.goals import CALM_S, GOALS, Measurement, goal
from fullpipe.wings.search.attack.optimize import Candidate, Faces
from fullpipe.wings.search.attack.search import Plan, search
from fullpipe.wings.search.attack.search import tables as tables_of
from fullpipe.wings.search.attack.space import Point, Space, listed, read
from fullpipe.wings.search.attack.trial import Target, filled, measured, run

if TYPE_CHECKING:
    from conftest import Fullpipe
    from fullpipe.wings.search.attack.search import Found

SPACE = read()
SMALL = """\
title = "Thin ACKs"
scenario = '''
duration = "2s"

[path]
rate = "{rate}"
rtt = "10ms"
buffer = "1bdp"

[[flow]]
name = "own"
cc = "{cc}"
'''
[vars.rate]
low = "1mbit"
high = "4mbit"
scale = "log"
why = "Short runs"

[[part]]
name = "thin"
purpose = "Thin ACKs."
adds = '''
[own]
delayed_ack = {segments}
'''
[part.vars.segments]
words = ["2", "4", "8", "16", "32", "64"]
why = "GRO"
"""


@pytest.fixture
def small(tmp_path: Path) -> Space:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return read(file)


# The space


@pytest.mark.parametrize("part", [each.name for each in SPACE.parts])
def test_each_part_is_a_scenario_at_random_points(part: str) -> None:
    dice = random.Random(part)
    face = SPACE.face([part] * SPACE.part(part).most)
    for _ in range(20):
        point = Point(
            tuple(dice.random() for _ in range(face.numbers)),
            tuple(dice.randrange(each) for each in face.choices),
        )
        text = document(filled(face.tables(point), "cubic"))
        scenario = _core.Scenario.parse(text, part, [])
        assert scenario.duration_s == 20


def test_every_bound_has_a_reason_and_every_value_is_within_it() -> None:
    for part in SPACE.parts:
        for each in part.variables:
            assert len(each.why) > 5
            if each.numbers == 1:
                for share, bound in (
                    (-1.0, each.low),
                    (0.0, each.low),
                    (1.0, each.high),
                    (2.0, each.high),
                ):
                    value, unit = words.base(each.text([share], 0))
                    assert unit == each.unit
                    assert value == pytest.approx(bound, rel=0.01)


def test_equal_names_are_numbered_and_changes_are_in_order_of_time() -> None:
    face = SPACE.face(["neighbor", "neighbor", "rate-step", "rtt-step"])
    numbers = [0.5] * face.numbers
    tables = face.tables(Point(tuple(numbers), (0,) * len(face.choices)))
    assert [each["name"] for each in tables["flow"]] == ["own", "neighbor", "neighbor2"]
    assert len(tables["path"]["change"]) == 1  # both at the same time
    assert {"at", "rate", "rtt"} == set(tables["path"]["change"][0])


def test_a_face_without_a_part_keeps_the_other_values() -> None:
    face = SPACE.face(["neighbor", "rate-step", "thin-acks"])
    point = Point(
        tuple(number / face.numbers for number in range(face.numbers)), (1,) * len(face.choices)
    )
    whole = face.tables(point)
    less, rest = face.without(1, point)
    assert less.parts == ("neighbor", "thin-acks")
    del whole["path"]["change"]
    assert less.tables(rest) == whole


def test_disturbances_end_before_the_recovery_is_timed() -> None:
    recovery = goal("recovery")
    faces = Faces(SPACE, recovery, seed=3)
    for _ in range(30):
        face = faces.draw()
        tables = tables_of(Candidate(face, faces.point(face)), recovery)
        changes = tables["path"].get("change", [])
        assert all(words.base(each["at"])[0] <= CALM_S for each in changes)
        _core.Scenario.parse(document(filled(tables, "cubic")), "recovery", [])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('high = "4mbit"', 'high = "4ms"', "vars.rate.low"),
        ("{segments}", "{segment}", "declare it in vars.segment"),
        ('why = "GRO"', "", "part[0].vars.segments.why: is missing"),
        ("delayed_ack", "delayed_acks", "flow.0.delayed_acks"),
        ('name = "thin"', 'names = "thin"', "part[0].names: unknown key"),
    ],
)
def test_a_wrong_space_is_refused_with_the_fix(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "space.toml"
    file.write_text(SMALL.replace(old, new))
    with pytest.raises((PublishedError, ValueError), match=r"(?s)fix: ") as error:
        read(file)
    assert said in str(error.value)


# Values


def value(name: str, flows: str, path: str = "", duration: str = "6s") -> float | None:
    text = f"""
duration = "{duration}"
measure_from = "2s"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"
{path}
{flows}
"""
    tables = tomllib.loads(text)
    made = run(filled(tables, "cubic"), [], goal(name).trace)
    return goal(name).value(Measurement(made, tables))


OWN = '[[flow]]\nname = "own"\ncc = "{cc}"\n'


def test_utilization_is_the_share_of_the_rate_that_others_leave() -> None:
    assert value("utilization", OWN) == pytest.approx(1, abs=0.02)
    constant = '[[flow]]\ncc = "none"\napp_rate = "3mbit"\n'
    assert value("utilization", OWN + constant) == pytest.approx(1, abs=0.05)
    # Half of the time 10 Mbit/s are there, and half of the time 5: the application writes 2 all the time.
    slow = OWN + 'app_rate = "2mbit"\n'
    change = '[[path.change]]\nat = "4s"\nrate = "5mbit"\n'
    assert value("utilization", slow, change) == pytest.approx(2 / 7.5 / 0.9653, abs=0.02)
    # A policer of 4 Mbit/s, and a link that is silent for a tenth of the time, are no fault of a flow.
    policed = value("utilization", slow, 'policer = "4mbit burst 60kB"\n')
    assert policed == pytest.approx(2 / 4 / 0.9653, abs=0.02)
    silent = value("utilization", slow, 'suspend = "100ms every 1s"\n')
    assert silent == pytest.approx(2 / 9 / 0.9653, abs=0.02)
    neighbor = '[[flow]]\ncc = "newreno"\napp_rate = "1mbit"\n'
    assert value("utilization", slow + neighbor) == pytest.approx(2 / 5 / 0.9653, abs=0.02)


def test_a_link_full_of_other_traffic_says_nothing() -> None:
    flood = '[[flow]]\ncc = "none"\napp_rate = "20mbit"\n'
    assert value("utilization", OWN + flood) is None


def test_starvation_is_the_share_of_the_slowest() -> None:
    rates = "".join(
        f'[[flow]]\nname = "own{rate}"\ncc = "{{cc}}"\napp_rate = "{rate}mbit"\n' for rate in (1, 3)
    )
    assert value("starvation", rates) == pytest.approx(0.5, abs=0.01)


def test_delays_are_in_round_trips() -> None:
    # A window has 25 packets: 16.7 are on the path, 1 on the link, and 7.3 of 1.2 ms wait, 0.44 RTTs.
    window = OWN + 'receive_window = "37500B"\ndelayed_ack = 1\n'
    assert value("delay", window) == pytest.approx(0.44, abs=0.05)
    other = '[[flow]]\nname = "neighbor"\ncc = "newreno"\napp_rate = "200kbit"\n'
    assert value("others-delay", window + other) == pytest.approx(0.44, abs=0.1)
    assert value("others-delay", window) is None


def test_the_time_to_recover_begins_when_the_last_disturbance_has_ended() -> None:
    text = OWN + 'app_rate = "9.5mbit"\napp_schedule = "5s pause, 13s 9.5mbit"\n'
    found = value("recovery", text, duration="20s")
    assert found == pytest.approx(3, abs=0.3)


def test_retransmissions_are_a_share_of_the_sent_packets() -> None:
    lossy = value("retransmissions", OWN, 'loss = "2%"\n')
    assert lossy == pytest.approx(0.02, abs=0.006)


def test_harm_compares_with_a_neighbor_of_the_own_kind() -> None:
    face = SPACE.face(["neighbor"])
    tables = face.tables(Point((0.3,) * face.numbers, (0,) * len(face.choices)))
    assert tables["flow"][1]["cc"] == "cubic"
    same = measured(Target("cubic"), goal("harm"), tables)
    assert same.own == 0
    gentle = measured(Target("ledbat"), goal("harm"), tables)
    assert gentle.own is not None
    assert gentle.own < -0.1
    compared = measured(Target("cubic", than="ledbat"), goal("harm"), tables)
    assert compared.other == gentle.own
    assert compared.score == pytest.approx((gentle.own - 0) / 0.5)


# The search


def test_the_same_seed_proposes_the_same_scenarios(small: Space) -> None:
    runs = [found_in(small, at_random=at_random) for at_random in (False, False, True, True)]
    values = [[tried.value.own for _, tried in each.best] for each in runs]
    scenarios = [each.scenarios for each in runs]
    for one, other in ((0, 1), (2, 3)):
        shared = min(len(values[one]), len(values[other]))
        assert values[one][:shared] == values[other][:shared]
        assert min(scenarios) > 0


def found_in(space: Space, *, at_random: bool, budget_s: float = 0.3) -> Found:
    plan = Plan(Target("cubic"), goal("utilization"), space, budget_s, at_random=at_random)
    return search(plan, None)


def test_a_search_goes_on_where_it_ended(small: Space, tmp_path: Path) -> None:
    plan = Plan(Target("cubic"), goal("utilization"), small, 0.2)
    place = tmp_path / "kept"
    with pytest.raises(KeyboardInterrupt), Checkpoint(place, {"a": "b"}, "kept") as kept:

        def stop(found: Found) -> None:
            if found.scenarios >= 32:
                raise KeyboardInterrupt

        search(plan, kept, stop)
    lines = (tmp_path / "kept.unfinished" / "runs.jsonl").read_text().splitlines()
    assert len(list(filter(None, lines))) == 2
    seen: list[int] = []
    with Checkpoint(place, {"a": "b"}, "kept") as kept:
        first = kept.get((0,))
        again = search(plan, kept, lambda found: seen.append(found.scenarios))
    assert first is not None
    undisturbed = search(plan, None)
    shared = min(again.scenarios, undisturbed.scenarios)
    assert shared > 32
    assert seen[0] == 16
    ours, theirs = (
        [tried.value.own for _, tried in each.best if tried] for each in (again, undisturbed)
    )
    assert ours[:2] == theirs[:2]


def test_the_command_resumes_after_a_kill(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    command = [
        *(sys.executable, "-m", "fullpipe", "attack", "cubic", "--space", "small.toml"),
        *("--budget", "2s", "--worst", "1", "--out", "found", "--json"),
    ]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    kept = tmp_path / "found.unfinished" / "runs.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (kept.exists() and kept.stat().st_size > 2000):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = kept.read_text().splitlines()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    records = json.loads(done.stdout)
    assert records
    assert records[0]["parts"] in (["thin"], [])
    about = json.loads((tmp_path / "found" / "attack.json").read_text())
    assert about["scenarios"] >= 16 * (len(before) - 1)
    assert not (tmp_path / "found.unfinished").exists()


def test_the_results_have_runs_that_report_reads(tmp_path: Path, fullpipe: Fullpipe) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    done = fullpipe(
        *("attack", "cubic", "--space", "small.toml", "--budget", "1s", "--out", "found"),
        *("--worst", "2"),
    )
    assert "cubic: goodput, as a share of the rate that others leave" in done.stdout
    assert "fullpipe attack shrink found/worst/1/scenario.toml --keep" in done.stdout
    assert (tmp_path / "found" / "table.md").is_file()
    assert fullpipe("report", "found/worst/1").returncode == 0
    again = fullpipe("attack", "cubic", "--budget", "1s", "--out", "found")
    assert again.returncode == 2
    assert "found" in again.stderr


@pytest.mark.parametrize("name", ["utilization", "delay", "starvation", "retransmissions"])
def test_the_shrink_command_that_is_printed_works(
    tmp_path: Path, fullpipe: Fullpipe, name: str
) -> None:
    """Each of its conditions holds with each seed, also when another one of equal flows is the slowest."""
    equal = SMALL.replace('cc = "{cc}"', 'cc = "{cc}"\ncount = 3')
    if name == "starvation":
        slow = '\n[[flow]]\nname = "slow"\ncc = "{cc}"\napp_rate = "10kbit"\n'
        equal = equal.replace("count = 3\n", f"count = 3\n{slow}")
    (tmp_path / "small.toml").write_text(equal.replace('"10ms"', '"80ms"'))
    found = ("attack", "cubic", "--space", "small.toml", "--goal", name, "--out", "found")
    assert fullpipe(*found, "--budget", "1s", "--worst", "1").returncode == 0
    [worst] = json.loads((tmp_path / "found" / "attack.json").read_text())["worst"]
    keep = [word for each in worst["keep"] for word in ("--keep", each)]
    assert keep
    done = fullpipe("attack", "shrink", worst["scenario"], *keep)
    assert done.returncode == 0, done.stderr


def test_wrong_options_are_refused_before_the_search(fullpipe: Fullpipe) -> None:
    for words_, said in (
        (("nothing",), "not an algorithm"),
        (("cubic", "--goal", "speed"), "write one of utilization, delay"),
        (("cubic", "--without", "loss"), "write one of rate-step"),
        (("cubic", "--set", "alpha=1"), "alpha"),
        (("cubic", "--budget", "10"), "not a time"),
        (("cubic", "--space", "none.toml"), "none.toml"),
    ):
        done = fullpipe("attack", *words_)
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_without_the_extra_the_search_names_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['cmaes'] = None; from fullpipe.commands import main; "
        "sys.argv = ['fullpipe', 'attack', 'cubic', '--budget', '1s']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "pip install '.[attack]'" in done.stderr
    assert not (tmp_path / "results").exists()


def test_each_goal_has_a_name_a_title_and_known_parts() -> None:
    parts = {each.name for each in SPACE.parts}
    assert len({each.name for each in GOALS}) == len(GOALS) == 7
    for each in GOALS:
        assert {*each.needs, *each.without} <= parts


PAGE = Path(__file__).parents[4] / "docs/guide/attack.md"


def test_the_page_lists_goals_and_bounds() -> None:
    """FULLPIPE_BLESS=1 writes both lists."""
    goals = ["", "| Goal | Number to make as bad as possible |", "|---|---|"]
    goals += [f"| `{each.name}` | {each.title} |" for each in GOALS]
    space = ["", "| Part | Variable | Bounds |", "|---|---|---|"]
    rows = [(part or "base", name, bounds) for part, name, bounds, _ in listed(SPACE)]
    space += [f"| {part} | {name} | {bounds} |" for part, name, bounds in rows]
    whole = made = PAGE.read_text(encoding="utf-8")
    for name, lines in (("goals", goals), ("space", space)):
        before, _, rest = made.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        text = "\n".join([*lines, ""])
        made = f"{before}<!-- {name} -->\n{text}\n{end}{after}"
    if os.environ.get("FULLPIPE_BLESS"):
        PAGE.write_text(made, encoding="utf-8")
    else:
        assert whole == made, "FULLPIPE_BLESS=1 writes it"
