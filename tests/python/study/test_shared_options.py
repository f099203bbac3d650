"""The options that commands share: each command has each of them, or its reason, and they mean the same."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import built_engine
from fullpipe.commands import app
from fullpipe.commands.listing import exited
from fullpipe.commands.shared import SHARED, STORE, sharing
from fullpipe.wings.search.observatory.__main__ import command as observatory

if TYPE_CHECKING:
    import click

    from conftest import Fullpipe

ROOT = Path(__file__).parents[3]
COMMANDS = [(" ".join(names), command) for names, command in app.walk()]
TABLE = {
    name: (command, holes)
    for name, command, holes in sharing([*COMMANDS, ("observatory", observatory)])
}
OF_RUNS = {"--on", "--repeat", "--threads", "--engine", "--programs"}
"""Options of commands that run experiments."""
SCENARIO = """\
duration = "200ms"
measure_from = "0s"
expect = ["flow.*.goodput <= 9.9mbit"]
[path]
rate = "10mbit"
rtt = "10ms"
buffer = "1bdp"
loss = "1%"
[[flow]]
cc = "cubic"
"""
SUITE = '''\
title = "One part"
[[part]]
name = "alone"
cells = 1
scenario = """
duration = "500ms"
measure_from = "0s"
[path]
rate = "5mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
name = "tested"
cc = "{cc}"
"""
[part.prior]
"path.rate" = "4mbit..5mbit log"
[[part.metric]]
name = "goodput"
'''
MINE = "from fullpipe import Controller\n\n\nclass Mine(Controller):\n    pass\n"
BASE = {
    "run": ["run", "short.toml", "--trace=off"],
    "sweep": ["sweep", "short.toml", "--trace=off"],
    "compare": ["compare", "cubic", "bbr3", "--duration=200ms", "--loss=1%"],
    "explore": ["explore", "short.toml"],
    "link": ["link", "--rtt=2ms"],
    "test": ["test", "upload", "--duration=1s", "--rate=5mbit", "--loss=1%"],
    "check": ["check", "short.toml"],
    "evaluate": [
        *("evaluate", "cubic", "--suite=prudentia", "--quick", "--criterion=itself"),
        "--axis=rate=8mbit",
    ],
    "validate": ["validate", "--cell=reno-10m-20ms-2bdp-5s"],
    "reproduce": ["reproduce", "kernel", "--case=k_loss2_cubic"],
    "attack search": ["attack", "search", "cubic", "--random", "--budget=500ms", "--worst=1"],
    "attack shrink": ["attack", "shrink", "short.toml", "--keep=goodput < 9.9mbit"],
    "score": ["score", "cubic", "--suite=suite.toml", "--no-holdout", "--cache=cache"],
    "fleet simulate": ["fleet", "simulate", "--paths=3", "--cc=cubic"],
    "verify": ["verify", "kept"],
    "observatory": ["--small", "--cc=cubic", "--family=alone"],
}
"""A small call of each command."""
WRONG = {
    "path": "--rate=5",
    "--stack": "--stack=lunix",
    "--duration": "--duration=5",
    "--set": "--set=path.rate=5",
    "--cc": "--cc=nothing",
    "--plugin": "--plugin=none.so",
    "--recipe": "--recipe=none.toml",
    "--on": "--on=nothing",
    "--repeat": "--repeat=0",
    "--seed": "--seed=-1",
    "--out": "--out=",
    STORE: "--out=ftp://bucket",
    "--threads": "--threads=0",
    "--engine": "--engine=cloud",
}
"""A wrong value of each option that has one."""
IN_TURN = ["run", "sweep", "compare", "test", "check", "attack shrink"]
"""Commands with a scenario, whose calls take less than a second."""
IDLE = {
    "--plugin": "--plugin=mine.py:Mine",
    "--recipe": "--recipe=mine.toml",
    "--programs": "--programs",
    "--on": "--on=sim",
    "--threads": "--threads=1",
    "--engine": "--engine=local",
}
"""Options that change no result of a small call."""
ONCE = {
    "evaluate": ["--stack=linux", "--seeds=3", "--seed=2", "--out=out"],
    "validate": ["--repeat=1"],
    "reproduce": ["--stack=rfc", "--repeat=1", "--set=path.queue=codel", "--out=out"],
    "attack search": ["--stack=linux", "--seed=2", "--out=out"],
    "score": ["--stack=linux"],
    "fleet simulate": ["--stack=linux", "--seed=2", "--set=path.rtt=20ms", "--out=out"],
}
"""Options of the other commands, all in one call."""
OF_A_FILE = {
    "evaluate": ["--out=DIR"],
    "fleet simulate": ["--out=DIR"],
    "reproduce": ["--repeat=1", "--out=DIR"],
    "score": [],
    "observatory": ["DIR"],
}
"""Options of commands whose scenarios are those of a file, with `stack`, for a small call."""


def takes(name: str) -> set[str]:
    command: click.Command = TABLE[name][0]
    return {each.title for each in SHARED if each.is_of(command)}


@pytest.mark.parametrize("name", TABLE)
def test_a_command_takes_each_option_or_has_its_reason(name: str) -> None:
    assert {each.title for each in SHARED} - takes(name) == TABLE[name][1].keys()


def test_every_command_that_runs_experiments_is_in_the_table() -> None:
    options = {
        name: {each for param in command.params for each in param.opts}
        for name, command in COMMANDS
    }
    assert {name for name, those in options.items() if those & OF_RUNS} <= TABLE.keys()
    assert TABLE.keys() == BASE.keys()


@pytest.fixture
def call(fullpipe: Fullpipe, tmp_path: Path) -> Fullpipe:
    (tmp_path / "short.toml").write_text(SCENARIO)
    (tmp_path / "suite.toml").write_text(SUITE)
    (tmp_path / "mine.py").write_text(MINE)
    shutil.copy(ROOT / "python/fullpipe/algorithms/programs/iperf3.toml", tmp_path / "mine.toml")
    return fullpipe


@pytest.mark.parametrize("name", [name for name in TABLE if name != "observatory"])
def test_a_wrong_value_is_refused_with_a_fix(call: Fullpipe, name: str) -> None:
    out = ["--out=made"] if name == "fleet simulate" else []
    behind = ["--", "true"] if name == "link" else []
    for title in (each for each in WRONG if each in takes(name)):
        done = call(*BASE[name], *out, WRONG[title], *behind)
        assert done.returncode == 2, (title, done.stdout, done.stderr)
        assert "fix: " in done.stderr, (title, done.stderr)
        assert title != "--stack" or "--stack lunix" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr, title
        assert done.stdout == "", title


def test_the_observatory_refuses_wrong_values(capsys: pytest.CaptureFixture[str]) -> None:
    name = observatory.name
    of_out = [("out", WRONG[title]) for title in ("--repeat", "--cc", "--stack")]
    for place, wrong in (*of_out, ("ftp://bucket", "")):
        words = [place, *BASE["observatory"], *filter(None, [wrong])]
        with pytest.raises(SystemExit) as end:
            exited(lambda words=words: observatory.main(words, name, standalone_mode=False))  # type: ignore[misc]
        assert end.value.code == 2
        said = capsys.readouterr()
        assert "fix: " in said.err
        assert said.out == ""


def printed(call: Fullpipe, *words: str) -> object:
    """The JSON that a call prints, its whole output."""
    done = call(*words, "--json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def idle(name: str) -> list[str]:
    """The options of a command that change no result of its small call."""
    return [word for title, word in IDLE.items() if title in takes(name)]


@pytest.mark.parametrize("name", IN_TURN)
def test_an_option_means_the_same_in_every_command(
    call: Fullpipe, tmp_path: Path, name: str
) -> None:
    repeated = "--repeat" in takes(name)
    once = [*BASE[name], *(["--repeat=1"] if repeated else [])]
    base = printed(call, *once)
    rate = printed(call, *once, "--rate=3mbit")
    assert rate != base
    assert rate == printed(call, *once, "--set=path.rate=3mbit")
    assert printed(call, *once, "--duration=700ms") != base
    stack = printed(call, *once, "--stack=rfc")
    assert stack != base
    assert stack == printed(call, *once, "--set=stack=rfc")
    if name == "compare":
        assert base == printed(call, "compare", "--cc=cubic,bbr3", *once[3:])
    else:
        assert printed(call, *once, "--cc=newreno") != base
    if "--seed" in takes(name):
        assert printed(call, *once, "--seed=7") != base
    if repeated:
        twice = printed(call, *once, "--repeat=2")
        assert twice == printed(call, *once, "--seeds=2")
        assert twice != base
    assert printed(call, *once, *idle(name), "--out=out") == base
    assert (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ONCE)
def test_a_command_takes_its_options_in_one_call(call: Fullpipe, tmp_path: Path, name: str) -> None:
    assert printed(call, *BASE[name], *idle(name), *ONCE[name])
    assert ("--out=out" in ONCE[name]) == (tmp_path / "out").is_dir()


@pytest.mark.parametrize("name", OF_A_FILE)
def test_the_stack_of_a_file_is_replaced_and_results_are_kept_apart(
    call: Fullpipe, tmp_path: Path, name: str
) -> None:
    if name == "observatory":
        built_engine()
    (tmp_path / "suite.toml").write_text(f'stack = "rfc"\n{SUITE}')

    def called(*more: str, out: str = "out") -> subprocess.CompletedProcess[str]:
        words = [word.replace("DIR", out) for word in (*OF_A_FILE[name], *BASE[name])]
        if name != "observatory":
            return call(*BASE[name], *words[: len(OF_A_FILE[name])], *more)
        own = [sys.executable, "-m", "fullpipe.wings.search.observatory", *words, *more]
        return subprocess.run(own, cwd=tmp_path, capture_output=True, text=True, check=False)

    def numbers(*more: str, out: str = "out") -> object:
        done = called("--json", *more, out=out)
        assert done.returncode in (0, 1), done.stderr
        found = json.loads(done.stdout)
        return [found["candidates"], found["stack"]] if name == "score" else found

    own = "linux-fq" if name == "reproduce" else "rfc"
    base = numbers()
    assert numbers(f"--stack={own}", out="again") == base
    assert numbers("--stack=linux", out="other") != base
    if name == "reproduce":
        return  # its report has the settings
    assert f"stack {own}" in called().stdout
    assert "stack linux" in called("--stack=linux", out="other").stdout
    refused = called("--stack=linux")
    if name != "score":  # which keeps values by the scenario
        assert refused.returncode == 2
        assert "out" in refused.stderr and "results are never overwritten" in refused.stderr


def test_an_attack_with_another_stack_is_another_one(call: Fullpipe, tmp_path: Path) -> None:
    for given, stack in ((), "rfc"), (["--stack=linux"], "linux"):
        done = call(*BASE["attack search"], *given)
        assert done.returncode == 0, done.stderr
        assert f"stack {stack}" in done.stdout
    kept = sorted((tmp_path / "results").iterdir())
    assert len(kept) == 2
    found = {(each / "worst/1/resolved.toml").read_text().count('stack = "rfc"') for each in kept}
    assert found == {0, 1}


def test_the_cases_of_the_draft_have_their_own_stack(call: Fullpipe) -> None:
    done = call("evaluate", "bbr3", "--suite=bbr-draft", "--stack=linux")
    assert done.returncode == 2
    assert "--stack linux: not for --suite bbr-draft, whose cases have the stack" in done.stderr
    assert "fix: " in done.stderr


def test_a_stack_for_each_cell_is_not_replaced(call: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(
        SUITE.replace("[part.prior]", '[part.prior]\nstack = ["rfc", "linux"]')
    )
    done = call(*BASE["score"], "--stack=linux")
    assert done.returncode == 2
    assert "prior.stack" in done.stderr and "fix: leave out --stack" in done.stderr
    own = SUITE.replace('duration = "500ms"', 'duration = "500ms"\nstack = "rfc"')
    (tmp_path / "suite.toml").write_text(own)
    for given, stack in ((), "rfc"), (["--stack=linux-fq"], "linux-fq"):
        assert f"stack {stack}" in call(*BASE["score"], *given).stdout


def test_a_page_has_the_scenario_of_its_options(call: Fullpipe, tmp_path: Path) -> None:
    built_engine()
    words = ("--cc=bbr3", "--rate=3mbit", "--duration=700ms", "--set=path.rtt=11ms", "--seed=7")
    done = call(*BASE["explore"], *words, "--out=page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(each in page for each in ("bbr3", "3mbit", "700ms", "11ms", "seed = 7"))


@pytest.mark.parametrize("name", ["evaluate", "attack search", "score"])
def test_a_key_of_the_scenario_is_refused_where_set_has_parameters(
    call: Fullpipe, name: str
) -> None:
    done = call(*BASE[name], "--set=path.rate=5mbit")
    assert done.returncode == 2, done.stdout
    assert "path.rate" in done.stderr
