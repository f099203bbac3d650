"""`fullpipe check`: conditions, the repetitions that miss them, and the command that repeats such a run."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import polars as pl
import pytest

import fullpipe as package
from fullpipe.stats.steady import Steadiness
from fullpipe.study.checks.against import against
from fullpipe.study.checks.judge import judged
from fullpipe.study.checks.run import Checked, Given
from fullpipe.study.checks.stored import Before

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conftest import Fullpipe
    from fullpipe.study.checks.stored import ScenarioAbout

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
    assert lines[0] == "base.toml, 4 repetitions; stack linux"
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
    # The command repeats the worst repetition, with its jitter.
    replayed = json.loads(fullpipe(*words[1:], "--json").stdout)
    assert replayed["jain"] == record["measured"] == record["least"]
    shown = fullpipe("check", "base.toml", "--repeat", "3")
    assert shown.returncode == 1
    assert record["replay"] in shown.stdout
    worst = record["failed_seeds"][0]
    assert f"missed in 3 of 3 repetitions, worst with seed {worst}:" in shown.stdout


OWN = """import fullpipe
class Slow:
    def __init__(self, config):
        self.window = 4 * config.smss
    def on_ack(self, cx, ack):
        pass
    def decision(self):
        return fullpipe.Decision(self.window)
"""


def test_an_algorithm_and_keys_of_options_are_checked_and_told(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    written(tmp_path, "flow.a.goodput >= 5mbit")
    (tmp_path / "s01.py").write_text(OWN)
    words = ("check", "base.toml", "--cc", "s01.py:Slow", "--set", "path.rtt=80ms", "--repeat", "2")
    done = fullpipe(*words, "--json", "--junit", "check.xml")
    assert done.returncode == 1, done.stderr
    (record,) = json.loads(done.stdout)
    assert record["set"] == {"path.rtt": "80ms", "flow.0.cc": "s01.py:Slow"}
    assert record["measured"] < 1e6
    again = shlex.split(record["replay"])
    replayed = json.loads(fullpipe(*again[1:], "--json").stdout)
    assert replayed["flows"][0]["goodput_bps"] == record["measured"]
    (suite,) = ET.parse(tmp_path / "check.xml").getroot().findall("testsuite")
    told = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert told == record["set"]
    assert "base.toml with path.rtt=80ms, flow.0.cc=s01.py:Slow, 2 rep" in fullpipe(*words).stdout
    fullpipe("check", "base.toml", "--out", "kept", "--repeat", "2")
    compared = fullpipe(*words, "--against", "kept", "--markdown", "-")
    assert "Set: path.rtt=80ms, flow.0.cc=s01.py:Slow." in compared.stdout
    assert "base.toml" in compared.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cc", "cubik"), "base.toml with --set flow.0.cc=cubik: no algorithm of this name"),
        (("--cc", "nowhere.py:Mine"), "nowhere.py:Mine: no such file"),
        (("--set", "path.rat=9mbit"), "did you mean path.rate?"),
        (("--set", "path.rate"), "not KEY=VALUE"),
        (("--set", "path.rate=9mbit,8mbit"), "path.rate=9mbit,8mbit"),
        (("--recipe", "nowhere.toml"), "nowhere.toml"),
        (
            ("--set", "flow.0.name=other"),
            'base.toml: expect.0 = "flow.a.goodput >= 5mbit": with flow.0.name=other no flow or link has this name',
        ),
    ],
)
def test_wrong_options_are_refused_before_any_run(
    words: Sequence[str], said: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    written(tmp_path, "flow.a.goodput >= 5mbit")
    done = fullpipe("check", "base.toml", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "  fix: " in done.stderr


def test_a_condition_that_is_wrong_in_the_file_is_no_matter_of_options(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    written(tmp_path, "flow.a.goodputs >= 5mbit")
    done = fullpipe("check", "base.toml", "--cc", "bbr3")
    assert done.returncode == 2
    assert 'did you mean "goodput"?' in done.stderr


def test_junit_has_a_suite_a_scenario_and_a_case_a_condition(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "all" / "deep").mkdir(parents=True)
    written(tmp_path / "all", "jain >= 0", "flow.a.goodput >= 11mbit")
    written(tmp_path / "all" / "deep", "jain >= 0", name="good.toml")
    (tmp_path / "all" / "nothing.toml").write_text(BASE.replace("expect = [CONDITIONS]\n", ""))
    done = fullpipe("check", "all", "--repeat", "2", "--junit", "check.xml")
    assert done.returncode == 1
    assert (
        "2 of 3 conditions met in 2 scenarios, 4 runs; 1 scenario without conditions" in done.stdout
    )
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
    errors = ET.parse(tmp_path / "check.xml").getroot().findall("testsuite/testcase/error")
    assert str(errors[0].text) == "not run: the check ended at base.toml"
    assert said in str(errors[1].text)
    # Other commands refuse the file, too.
    assert fullpipe("run", "base.toml").returncode == 2


def test_nothing_expected_and_nothing_there_are_errors(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "nothing.toml").write_text(BASE.replace("expect = [CONDITIONS]\n", ""))
    (tmp_path / "empty").mkdir()
    for path, said in [
        ("nothing.toml", "no conditions in"),
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
    assert done.stdout.startswith("base.toml, 1 run; stack linux\n")


def rows(values: Sequence[float | None]) -> pl.DataFrame:
    """Returns rows with the goodputs of a flow, for seeds from 1 on."""
    return pl.DataFrame({"seed": range(1, len(values) + 1), "flow_index": 0, "goodput_bps": values})


def judge(
    condition: str, values: Sequence[float | None]
) -> tuple[bool, float | None, Sequence[int]]:
    scenario = package.load(BASE.replace("CONDITIONS", f'"{condition}"'))
    (each,) = judged(scenario, rows(values))
    return each.met, each.measured, each.failed_seeds


def test_of_seeds_that_miss_it_alike_the_least_is_named_in_whatever_order_they_ran() -> None:
    scenario = package.load(BASE.replace("CONDITIONS", '"flow.a.goodput >= 10mbit"'))
    (each,) = judged(scenario, rows([1e6, 1e6, 20e6]).reverse())
    assert each.failed_seeds == [1, 2]


def test_a_number_that_is_not_there_meets_nothing() -> None:
    for comparison in (">=", "<="):
        found = judge(f"flow.a.goodput {comparison} 10mbit", [10e6, None, 10e6])
        assert found == (False, None, [2])
    assert judge("p50 of flow.a.goodput <= 10mbit", [10e6, None, 10e6]) == (True, 10e6, [2])


def test_the_projects_scenarios_come_to_what_they_say(fullpipe: Fullpipe) -> None:
    done = fullpipe("check", str(Path(__file__).parents[3] / "scenarios"), "--repeat", "3")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_point_of_a_sweep_in_which_the_flow_has_another_name_is_run_again(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    base = BASE.replace('name = "a"\n', "").replace('"2s"', '"500ms"')
    written(tmp_path, "flow.cubic.goodput >= 1mbit", base=base)
    swept = fullpipe("sweep", "base.toml", "--set", "flow.0.cc=cubic,newreno", "--out", "swept")
    assert swept.returncode == 0, swept.stderr
    assert fullpipe("run", "swept", "--point", "1").returncode == 0


# --- Against kept results ----------------------------------------------------------------------

SHORT = """\
# A download
duration = "4s"
measure_from = "1s"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "4bdp"
queue = "fq_codel"
[[flow]]
name = "a"
cc = "cubic"
"""


def _kept(fullpipe: Fullpipe, directory: Path, *args: str) -> None:
    (directory / "a.toml").write_text(SHORT)
    done = fullpipe("check", "a.toml", *args, "--out", "main")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "kept in main"


def test_the_same_version_is_neither_worse_nor_better(fullpipe: Fullpipe, tmp_path: Path) -> None:
    _kept(fullpipe, tmp_path)
    done = fullpipe("check", "a.toml", "--against", "main")
    assert done.returncode == 0, done.stdout
    assert "0 worse, 0 better of 5 numbers in 1 scenario, against main" in done.stdout


@pytest.mark.parametrize("way", ["worse", "better"])
def test_a_change_is_told_with_its_interval_and_only_a_worse_one_fails(
    fullpipe: Fullpipe, tmp_path: Path, way: str
) -> None:
    _kept(fullpipe, tmp_path, "--repeat", "6")
    if way == "better":
        (tmp_path / "a.toml").write_text(SHORT.replace("fq_codel", "pfifo"))
        assert fullpipe("check", "a.toml", "--repeat", "6", "--out", "old").returncode == 0
        (tmp_path / "a.toml").write_text(SHORT)
    else:
        (tmp_path / "a.toml").write_text(SHORT.replace("fq_codel", "pfifo"))
    before = "main" if way == "worse" else "old"
    done = fullpipe("check", "a.toml", "--repeat", "6", "--against", before, "--markdown", "c.md")
    assert done.returncode == (way == "worse"), done.stdout
    text = (tmp_path / "c.md").read_text(encoding="utf-8")
    table = text.partition("<details>")[0]
    sign = "\\+" if way == "worse" else "−"
    row = rf"\| a.toml \| a \| p95 queueing delay (\| [\d.]+ ms ){{2}}\| {sign}[\d.]+ % \[.+, .+\] \| .. ?{way} \|"
    assert re.search(row, table), table
    assert "The scenario itself differs: a.toml." in text
    again = fullpipe(
        "check",
        "a.toml",
        "--repeat",
        "6",
        "--against",
        before,
        "--limit",
        "1000%",
        "--markdown",
        "-",
    )
    assert (again.returncode, again.stdout.splitlines()[0][:4]) == (0, "### ")


def test_a_significant_change_within_the_limit_does_not_count() -> None:
    rows = [
        pl.DataFrame(
            {
                "seed": range(8),
                "flow": ["a"] * 8,
                "flow_index": [0] * 8,
                "goodput_bps": [scale * 1e6 * (1 + seed / 100) for seed in range(8)],
            }
        )
        for scale in (1.0, 0.97)
    ]
    steady = Steadiness("")
    checked = Checked(
        "a.toml", "", [], Given(), [], 8, 0.0, "sim", False, rows[1], steady, "", True
    )
    about: ScenarioAbout = {
        "file": "a.toml",
        "runner": "sim",
        "resolved": "",
        "met": 0,
        "conditions": 0,
        "rows": "",
    }
    verdicts = [
        [each.verdict for each in against([checked], [Before(about, rows[0])], limit).changes]
        for limit in (0.05, 0.02)
    ]
    assert verdicts == [[0], [-1]]
    chance = checked._replace(rows=rows[0].with_columns(pl.col("goodput_bps").reverse()))
    assert [each.verdict for each in against([chance], [Before(about, rows[0])], 0.0).changes] == [
        0
    ]


def test_scenarios_without_a_partner_are_named(fullpipe: Fullpipe, tmp_path: Path) -> None:
    _kept(fullpipe, tmp_path)
    (tmp_path / "b.toml").write_text(SHORT)
    done = fullpipe("check", "b.toml", "--against", "main", "--markdown", "c.md")
    assert done.returncode == 0
    assert "without results to compare with: b.toml" in done.stdout
    assert "only in the earlier results: a.toml" in done.stdout
    assert "fullpipe check: no numbers to compare" in (tmp_path / "c.md").read_text()


def test_names_in_the_table_can_not_break_it(fullpipe: Fullpipe, tmp_path: Path) -> None:
    file = tmp_path / "a|b_<b>.toml"
    file.write_text(SHORT)
    assert fullpipe("check", file.name, "--out", "main").returncode == 0
    done = fullpipe("check", file.name, "--against", "main", "--markdown", "-")
    assert "| a\\|b\\_\\<b\\>.toml | a | goodput |" in done.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--markdown", "c.md"], "--markdown belongs to a comparison\n  fix: add --against DIR"),
        (["--limit", "1%"], "--limit belongs to a comparison"),
        (
            ["--against", "nowhere"],
            "--against nowhere: no results of a check: there is no check.json\n  fix: ",
        ),
        (
            ["--against", "main", "--limit", "much"],
            "much: not a percentage\n  fix: write one, like 5%",
        ),
        (["--against", "main", "--json", "--markdown", "-"], "both use standard output\n  fix: "),
    ],
)
def test_what_can_not_be_compared_is_refused(
    fullpipe: Fullpipe, tmp_path: Path, args: list[str], said: str
) -> None:
    (tmp_path / "a.toml").write_text(SHORT)
    done = fullpipe("check", "a.toml", *args)
    assert done.returncode == 2
    assert said in done.stderr


def test_damaged_results_are_refused(fullpipe: Fullpipe, tmp_path: Path) -> None:
    _kept(fullpipe, tmp_path)
    file = tmp_path / "main/check.json"
    file.write_text(file.read_text().replace('"conditions": 0', '"conditions": 9'))
    done = fullpipe("check", "a.toml", "--against", "main")
    assert (done.returncode, "damaged" in done.stderr) == (2, True)


def test_a_miss_of_an_own_class_prints_no_command_for_the_page(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(
        "import fullpipe\n\n\nclass Still:\n    def __init__(self, config):\n        pass\n\n"
        "    def on_ack(self, cx, ack):\n        pass\n\n"
        "    def decision(self):\n        return fullpipe.Decision(cwnd=14480, ssthresh=14480)\n",
        encoding="utf-8",
    )
    text = 'duration = "1s"\nexpect = ["jain >= 2"]\n[path]\nrate = "5mbit"\nrtt = "20ms"\nbuffer = "1bdp"\n'
    for name, opens in (("mine:Still", False), ("cubic", True)):
        scenario = f'{text}[[flow]]\ncc = "{name}"\n[[flow]]\ncc = "cubic"\n'
        (tmp_path / "own.toml").write_text(scenario, encoding="utf-8")
        done = fullpipe("check", "own.toml")
        assert done.returncode == 1, done.stderr
        assert "fullpipe run own.toml" in done.stdout
        assert ("fullpipe explore" in done.stdout) == opens


PRINTS = """\
import os
import fullpipe

class Broken:
    def __init__(self, config):
        print("all conditions met")
        os.write(1, b"met without Python\\n")

    def on_ack(self, cx, ack):
        {}

    def decision(self):
        return fullpipe.Decision(20_000)
"""


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (PRINTS.format("1 / 0"), "controller own:Broken failed at"),
        (PRINTS.format("raise EOFError"), "controller own:Broken failed at"),
        (PRINTS.format("self.cwnd = ack.acked"), "controller own:Broken failed at"),
        (PRINTS.replace("on_ack", "onAck").format("pass"), "a method onAck, which nothing calls"),
        ("class Broken(:", "SyntaxError"),
        ("", "has no class Broken"),
    ],
)
def test_a_broken_class_has_a_record_of_each_scenario(
    code: str, said: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(code)
    for name in ("one.toml", "two.toml"):
        written(tmp_path, "jain >= 1%", name=name)
    words = ("check", "one.toml", "two.toml", "--cc", "own:Broken", "--repeat", "2")
    done = fullpipe(*words, "--json", "--junit", "check.xml")
    assert done.returncode == 2
    first, second = json.loads(done.stdout)
    assert (first["file"], first["verdict"]) == ("one.toml", "error")
    assert said in first["error"]
    assert first["set"] == {"flow.0.cc": "own:Broken"}
    assert second == {
        **first,
        "file": "two.toml",
        "error": "not run: the check ended at one.toml",
    }
    suites = ET.parse(tmp_path / "check.xml").getroot().findall("testsuite")
    assert [(each.get("tests"), each.get("errors")) for each in suites] == [("1", "1")] * 2
    [error] = suites[0].findall("testcase/error")
    assert said in str(error.text)
    assert said in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("check", "one.toml", "--cc", "own:Broken", "--repeat", "2"),
        ("run", "own:Broken", "--duration", "1s"),
        ("sweep", "own:Broken", "--duration", "1s", "--repeat", "2", "--out", "kept"),
        ("compare", "own:Broken", "cubic", "--duration", "11s", "--repeat", "2", "--out", "kept"),
        ("evaluate", "own:Broken", "--criterion", "fairness", "--quick", "--out", "kept"),
        ("attack", "search", "own:Broken", "--budget", "2s", "--out", "kept"),
    ],
    ids=lambda words: words[0],
)
def test_json_is_alone_though_a_class_prints(
    words: tuple[str, ...], fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(PRINTS.format("pass"))
    written(tmp_path, "jain >= 0.01%", name="one.toml")
    done = fullpipe(*words, "--json")
    assert json.loads(done.stdout)
    assert "all conditions met" in done.stderr
    assert "met without Python" in done.stderr


def test_markdown_is_alone_though_a_class_prints(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(PRINTS.format("pass"))
    written(tmp_path, "jain >= 0.01%", name="one.toml")
    words = ("check", "one.toml", "--cc", "own:Broken", "--repeat", "2")
    assert fullpipe(*words, "--out", "kept").returncode == 0
    done = fullpipe(*words, "--against", "kept", "--markdown", "-")
    assert done.stdout.startswith("### fullpipe check")
