"""Scenarios from algorithms, names and standard input; options of the path; new scenarios."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

import fullpipe as package
from fullpipe.scenario import origin
from fullpipe.scenario.path_options import PATH_OPTIONS

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

SHORT = ("--duration", "6s")
OPTIONS = {
    "rate": "20mbit",
    "rtt": "40ms",
    "buffer": "2bdp",
    "queue": "fq_codel",
    "loss": "1%",
    "profile": "lte",
    "stack": "linux",
    "duration": "7s",
}


def test_algorithms_are_flows_on_one_path(fullpipe: Fullpipe) -> None:
    done = fullpipe("run", "cubic", "bbr3", "--rate", "20mbit", *SHORT, "--json")
    assert done.returncode == 0, done.stderr
    metrics = json.loads(done.stdout)
    assert [flow["cc"] for flow in metrics["flows"]] == ["cubic", "bbr3"]
    text = """duration = "6s"\nmeasure_from = "auto"\n
        [path]\nrate = "20mbit"\nrtt = "50ms"\nbuffer = "1bdp"\n
        [[flow]]\ncc = "cubic"\n[[flow]]\ncc = "bbr3"\n"""
    assert package.run(text).metrics == metrics
    assert fullpipe("run", "cubic,bbr3", "--rate", "20mbit", *SHORT, "--json").stdout == done.stdout


@pytest.mark.parametrize("option", PATH_OPTIONS, ids=lambda each: each.name)
def test_an_option_sets_the_key_that_it_names(fullpipe: Fullpipe, option: object) -> None:
    name, key = option.name, option.key  # type: ignore[attr-defined]
    value = OPTIONS[name]
    run = ("run", "cubic-deep-buffer", "--json", "--set", "measure_from=1s")
    short = () if name == "duration" else ("--set", "duration=6s")
    one = fullpipe(*run, *short, f"--{name}", value)
    other = fullpipe(*run, *short, "--set", f"{key}={value}")
    assert one.returncode == 0, one.stderr
    assert one.stdout == other.stdout
    compared = fullpipe("compare", "cubic", "bbr3", f"--{name}", "what", "--repeat", "1")
    assert compared.returncode == 2
    assert compared.stderr.startswith(f"error: --{name} what: ")


def test_an_error_about_the_usual_path_names_its_option(fullpipe: Fullpipe) -> None:
    done = fullpipe("run", "cubic", "--rate", "8kbit")
    assert done.returncode == 2
    assert done.stderr == (
        "error: --buffer default (usual): this buffer holds less than one packet of 1500 bytes\n"
        '  fix: a BDP is rate x RTT: give a larger rate or rtt, or a buffer like "100packets"\n'
    )


def test_a_list_of_an_option_is_an_axis_of_a_sweep_and_no_run(fullpipe: Fullpipe) -> None:
    done = fullpipe("sweep", "cubic", "bbr3", "--buffer", "1bdp,4bdp", *SHORT, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["path.buffer"] for row in rows] == ["1bdp", "1bdp", "4bdp", "4bdp"]
    refused = fullpipe("run", "cubic", "--buffer", "1bdp,4bdp")
    assert refused.returncode == 2
    assert "several values are a sweep\n  fix: " in refused.stderr


def test_a_short_duration_shortens_the_warm_up(fullpipe: Fullpipe, tmp_path: Path) -> None:
    for command in (
        ("run", "cubic-vs-bbr1", "--duration", "12s", "--json"),
        ("compare", "cubic", "bbr3", "--duration", "12s", "--repeat", "1"),
        ("sweep", "cubic-vs-bbr1", "--duration", "12s", "--out", "swept"),
    ):
        done = fullpipe(*command)
        assert done.returncode == 0, done.stderr
    assert json.loads(fullpipe("run", "cubic-vs-bbr1", "--duration", "12s", "--json").stdout)[
        "measure_from_s"
    ] == pytest.approx(6)
    # A warm-up that fits, or one that the user gave, stays.
    assert origin.warm_up('measure_from = "10s"', [("duration", "30s")]) is None
    given = ("run", "cubic", "--duration", "12s", "--set", "measure_from=11s", "--json")
    assert json.loads(fullpipe(*given).stdout)["measure_from_s"] == 11


_LONG_WARM_UP = """
duration = "60s"
measure_from = "20s"
path = { rate = "2mbit", rtt = "40ms", buffer = "1bdp" }
flow = [{ cc = "cubic" }]
"""


@pytest.mark.parametrize("words", [("--duration",), ("--set", "duration=")])
def test_a_list_with_a_short_duration_shortens_the_warm_up(
    words: tuple[str, ...], fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "long.toml").write_text(_LONG_WARM_UP)
    option = (
        [*words[:-1], f"{words[-1]}10s,50s"] if words[-1].endswith("=") else [*words, "10s,50s"]
    )
    done = fullpipe("sweep", "long.toml", *option, "--json")
    assert done.returncode == 0, done.stderr
    assert [row["duration"] for row in json.loads(done.stdout)] == ["10s", "50s"]


@pytest.mark.parametrize(
    "given",
    [
        {"duration": "10s"},
        {"duration": ["10s", "50s"]},
        {"set": {"duration": "10s"}},
        {"axes": {"duration": ["10s", "50s"]}},
    ],
    ids=lambda given: "-".join(given),
)
def test_a_short_duration_shortens_the_warm_up_in_python(
    given: dict[str, Any], tmp_path: Path
) -> None:
    swept = package.sweep(_LONG_WARM_UP, out=tmp_path / "swept", **given)
    assert (swept.frame()["goodput_bps"] > 1e6).all()  # measured after the start


def test_the_package_has_its_scenarios_and_tables_outside_of_a_checkout(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    names = [line.split()[0] for line in fullpipe("list", "scenarios").stdout.splitlines()]
    assert len(names) > 60
    assert "cubic-vs-bbr1" in names
    for name in ("cubic-vs-bbr1", "cubic-vs-bbr1.toml", "scenarios/cubic-vs-bbr1.toml"):
        done = fullpipe("run", name, *SHORT)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(
            "cubic-vs-bbr1: CUBIC against BBRv1 in a deep buffer; stack linux\n"
        )
    assert fullpipe("run", "cellular-trace", *SHORT).returncode == 0, "it needs a file of its own"
    (tmp_path / "cubic-vs-bbr1").write_text("duration", encoding="utf-8")
    assert "cubic-vs-bbr1:1" in fullpipe("run", "cubic-vs-bbr1").stderr, "a file comes first"
    assert "the tables are drift, dropbox, huitema" in fullpipe("reproduce", "nothing").stderr


def test_a_new_scenario_runs_as_it_is_and_with_each_of_its_comments(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    made = fullpipe("new", "cubic", "bbr1", "--rate", "30mbit", "--set", "flow.1.start=1s", *SHORT)
    assert (made.returncode, made.stderr) == (0, "")
    written = tomllib.loads(made.stdout)
    assert written["path"]["rate"] == "30mbit"
    assert [flow.get("start") for flow in written["flow"]] == [None, "1s"]
    hints = [line for line in made.stdout.splitlines() if re.match(r"# \w+ = ", line)]
    assert len(hints) > 8
    for hint in hints:
        text = made.stdout.replace(hint, hint.removeprefix("# "))
        try:
            package.run(text)
        except package.ScenarioError as error:
            pytest.fail(f"{hint}: {error}")
    piped = subprocess.run(
        [sys.executable, "-m", "fullpipe", "run", "-", "--json"],
        input=made.stdout,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert piped.returncode == 0, piped.stderr
    assert len(json.loads(piped.stdout)["flows"]) == 2
    profile = fullpipe("new", "--profile", "lte").stdout
    assert tomllib.loads(profile)["path"] == {"profile": "lte"}
    assert fullpipe("new", "cubik").returncode == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["run"], "name a scenario or algorithms\n  fix: fullpipe run cubic bbr3"),
        (["run", "cubic", "bbr33"], "bbr33: not an algorithm\n  fix: did you mean bbr3?"),
        (["run", "cubic", "lossy.toml"], "lossy.toml: not an algorithm\n  fix: name it alone"),
        (["run", "cubic-vs-bb1"], "no such file\n  fix: did you mean cubic-vs-bbr1?"),
        (["sweep", "cubik"], "no such file\n  fix: "),
        (["new", "cubicdeep"], "no scenario\n  fix: did you mean cubic or cubic-deep-buffer?"),
        (["run", "westwood"], "one of Linux alone is a cc in a file, for --on uml"),
        (["run", "cubic", "--rtt", "100"], '--rtt 100: a duration needs a unit, like "50ms"'),
    ],
)
def test_wrong_names_have_a_fix(fullpipe: Fullpipe, args: list[str], said: str) -> None:
    done = fullpipe(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
