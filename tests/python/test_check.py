"""`fullpipe check`: what is expected, in how many repetitions it holds, and how to see again what does not."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import polars as pl
import pytest

import fullpipe as package
from fullpipe.checks.judge import judged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conftest import Fullpipe

BASE = """\
# Two flows, two seconds
duration = "2s"
expect = [CONDITIONS]
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
name = "a"
cc = "cubic"
[[flow]]
name = "b"
cc = "bbr1"
"""


def written(directory: Path, *conditions: str, name: str = "base.toml", base: str = BASE) -> Path:
    path = directory / name
    path.write_text(
        base.replace("CONDITIONS", ", ".join(f'"{condition}"' for condition in conditions))
    )
    return path


def test_what_holds_is_met(fullpipe: Fullpipe, tmp_path: Path) -> None:
    written(
        tmp_path,
        "link.bottleneck.utilization >= 50%",
        "flow.*.goodput > 0.1mbit",
        "median of jain <= 1",
    )
    done = fullpipe("check", "base.toml", "--repeat", "4")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "base.toml, 4 repetitions"
    assert [line.split()[-1] for line in lines[1:5]] == ["met"] * 4
    assert "(flow a)" in lines[2]
    assert "(flow b)" in lines[3]
    assert lines[-1].startswith("4 of 4 conditions met in 1 scenario, 4 runs, in ")
    assert all(len(line) <= 80 for line in lines)


def test_what_does_not_hold_fails_and_its_command_shows_it_again(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    written(tmp_path, "jain >= 0.999999")
    done = fullpipe("check", "base.toml", "--repeat", "3", "--json")
    assert done.returncode == 1
    (record,) = json.loads(done.stdout)
    assert (record["verdict"], record["repetitions"]) == ("missed", 3)
    assert sorted(record["failed_seeds"]) == [1, 2, 3]
    words = shlex.split(record["replay"])
    assert words[:5] == ["fullpipe", "run", "base.toml", "--seed", str(record["failed_seeds"][0])]
    # The worst repetition, with the jitter that made it one.
    replayed = json.loads(fullpipe(*words[1:], "--json").stdout)
    assert replayed["jain"] == record["measured"] == record["least"]
    shown = fullpipe("check", "base.toml", "--repeat", "3")
    assert shown.returncode == 1
    assert record["replay"] in shown.stdout
    assert f"3 of 3 repetitions miss it, seed {record['failed_seeds'][0]} the most:" in shown.stdout


def test_junit_has_a_suite_a_scenario_and_a_case_a_condition(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "all" / "deep").mkdir(parents=True)
    written(tmp_path / "all", "jain >= 0", "flow.a.goodput >= 11mbit")
    written(tmp_path / "all" / "deep", "jain >= 0", name="good.toml")
    (tmp_path / "all" / "nothing.toml").write_text(BASE.replace("expect = [CONDITIONS]\n", ""))
    done = fullpipe("check", "all", "--repeat", "2", "--junit", "check.xml")
    assert done.returncode == 1
    assert "2 of 3 conditions met in 2 scenarios, 4 runs; 1 scenario without any" in done.stdout
    suites = ET.parse(tmp_path / "check.xml").getroot().findall("testsuite")
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in suites] == [
        ("all/base.toml", "2", "1"),
        ("all/deep/good.toml", "1", "0"),
    ]
    (failure,) = suites[0].iter("failure")
    assert "Mbit/s" in failure.get("message", "")
    assert "fullpipe run all/base.toml --seed" in (failure.text or "")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (
            "flow.c.goodput >= 1mbit",
            'base.toml:3: expect.0 = "flow.c.goodput >= 1mbit": there is no flow "c"',
        ),
        ("flow.a.goodputs >= 1mbit", 'did you mean "goodput"?'),
        ("flow.a.goodput >= 1", "a rate needs a unit"),
    ],
)
def test_a_wrong_condition_is_refused_before_any_run(
    fullpipe: Fullpipe, tmp_path: Path, condition: str, said: str
) -> None:
    written(tmp_path, condition)
    written(tmp_path, "jain >= 0", name="a-good-one.toml")
    done = fullpipe("check", ".", "--junit", "check.xml")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not (tmp_path / "check.xml").exists()
    # Other commands say it, too: a file that is wrong is wrong.
    assert fullpipe("run", "base.toml").returncode == 2


def test_nothing_expected_and_nothing_there_are_errors(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "nothing.toml").write_text(BASE.replace("expect = [CONDITIONS]\n", ""))
    (tmp_path / "empty").mkdir()
    for path, said in [
        ("nothing.toml", "nothing is expected"),
        ("empty", "no .toml file"),
        ("none.toml", "none.toml"),
    ]:
        done = fullpipe("check", path)
        assert done.returncode == 2
        assert said in done.stderr


def test_a_scenario_that_wants_no_jitter_is_run_once(fullpipe: Fullpipe, tmp_path: Path) -> None:
    base = BASE.replace('cc = "bbr1"', 'cc = "newreno"').replace(
        "[path]", 'start_jitter = "0ms"\nsend_jitter = "0ms"\n[path]'
    )
    written(tmp_path, "jain >= 0", base=base)
    done = fullpipe("check", "base.toml")
    assert done.stdout.startswith("base.toml, 1 run\n")


def rows(values: Sequence[float | None]) -> pl.DataFrame:
    """Goodputs of a flow by seed, from 1."""
    return pl.DataFrame({"seed": range(1, len(values) + 1), "flow_index": 0, "goodput_bps": values})


def judge(condition: str, values: Sequence[float | None]) -> tuple[bool, float, list[int]]:
    scenario = package.load(BASE.replace("CONDITIONS", f'"{condition}"'))
    (each,) = judged(scenario, rows(values))
    return each.met, each.ours.value, list(each.failed)


def test_of_seeds_that_miss_it_alike_the_least_is_named_in_whatever_order_they_ran() -> None:
    scenario = package.load(BASE.replace("CONDITIONS", '"flow.a.goodput >= 10mbit"'))
    (each,) = judged(scenario, rows([1e6, 1e6, 20e6]).reverse())
    assert list(each.failed) == [1, 2]


def test_every_repetition_has_to_meet_it_unless_a_quantile_is_named() -> None:
    # seed 10 has the least, 10 Mbit/s, seed 9 the most
    ten = [10e6 + 1e6 * (seed % 10) for seed in range(1, 11)]
    assert judge("flow.a.goodput >= 10mbit", ten) == (True, 10e6, [])
    assert judge("flow.a.goodput > 10mbit", ten) == (False, 10e6, [10])
    assert judge("flow.a.goodput <= 17.5mbit", ten) == (False, 19e6, [9, 8])
    # The least value that nine in ten do not exceed is the ninth.
    assert judge("p90 of flow.a.goodput <= 18mbit", ten) == (True, 18e6, [9])
    assert judge("p90 of flow.a.goodput < 18mbit", ten) == (False, 18e6, [9, 8])
    assert judge("p10 of flow.a.goodput >= 11mbit", ten) == (False, 10e6, [10])
    assert judge("median of flow.a.goodput >= 14mbit", ten)[:2] == (True, 14e6)


def test_a_number_that_is_not_there_meets_nothing() -> None:
    for comparison in (">=", "<="):
        met, measured, failed = judge(f"flow.a.goodput {comparison} 10mbit", [10e6, None, 10e6])
        assert (met, failed) == (False, [2])
        assert math.isnan(measured)
    assert judge("p50 of flow.a.goodput <= 10mbit", [10e6, None, 10e6]) == (True, 10e6, [2])


def test_the_projects_scenarios_come_to_what_they_say(fullpipe: Fullpipe) -> None:
    done = fullpipe("check", str(Path(__file__).parents[2] / "scenarios"), "--repeat", "3")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_point_of_a_sweep_in_which_the_flow_has_another_name_is_run_again(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    base = BASE.replace('name = "a"\n', "").replace('"2s"', '"500ms"')
    written(tmp_path, "flow.cubic.goodput >= 1mbit", base=base)
    swept = fullpipe("sweep", "base.toml", "--set", "flow.0.cc=cubic,newreno", "--out", "swept")
    assert swept.returncode == 0, swept.stderr
    assert fullpipe("run", "swept", "--point", "1").returncode == 0
