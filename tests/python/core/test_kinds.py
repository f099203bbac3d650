"""Kinds of algorithms: every kind by every command and runner works, or its row in the table refuses it."""

from __future__ import annotations

import ast
import json
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fullpipe as package
from fullpipe import _core, gym, runners
from fullpipe.algorithms import resolve
from fullpipe.run import parse
from test_plugin import IN_C, compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conftest import Fullpipe

CLASS = """\
import fullpipe
class Mine:
    def __init__(self, config):
        self.window = 4 * config.smss
    def on_ack(self, cx, ack):
        pass
    def decision(self):
        return fullpipe.Decision(cwnd=self.window)
"""
# An algorithm of each kind, as a user names it.
NAMES = {
    "algorithm of fullpipe": "bbr3",
    "unresponsive traffic": "none",
    "class": "kinds_mine:Mine",
    "class in a file": "sub/kinds_other.py:Mine",
    "library": "./libkinds.so",
    "crate": "./kinds-crate",
    "trained policy": "policy:sub/power.json",
    "program": "program:iperf3:bbr",
    "JavaScript": "kinds.js",
    "BPF": "fp_bbr3",
}
KINDS = {each.name: each for each in resolve.kinds()}
TIMES = 'duration = "100ms"\nmeasure_from = "0s"\n'
TINY = f'{TIMES}expect = ["jain >= 0"]\n[path]\nrate = "9mbit"\nrtt = "9ms"\nbuffer = "1bdp"\n'
FLOW = '[[flow]]\nname = "tested"\ncc = "{cc}"\n'
SUITE = f'''\
title = "Tiny"
[[criterion]]
name = "use"
section = "1"
title = "Use of the link"
question = "Is it used?"
why = "It should be."
metric = "utilization"
at_least = "0%"
axes = {{ rate = ["9mbit"] }}
scenario = """
{TIMES}start_jitter = "1ms"
send_jitter = "1ms"
[path]
rate = "{{rate}}"
rtt = "9ms"
buffer = "1bdp"
{FLOW}"""
'''
SCORE = f'''\
title = "Tiny"
[[part]]
name = "alone"
cells = 1
scenario = """
{TIMES}[path]
rate = "9mbit"
rtt = "9ms"
buffer = "1bdp"
{FLOW}"""
[[part.metric]]
name = "goodput"
'''
PATH = ("--rate", "9mbit", "--rtt", "9ms", "--duration", "100ms")
# Commands that run on any runner.
ON_RUNNERS: dict[str, Sequence[str]] = {
    "run": ("run", "{}", *PATH),
    "run --cc": ("run", "tiny.toml", "--cc", "{}"),
    "run --set": ("run", "tiny.toml", "--set", "flow.0.cc={}"),
    "sweep": ("sweep", "{}", *PATH, "--out", "swept"),
    "sweep --set": ("sweep", "tiny.toml", "--set", "flow.0.cc=cubic,{}", "--out", "swept"),
    "compare": ("compare", "cubic", "{}", *PATH, "--repeat", "1", "--out", "compared"),
    "check": ("check", "tiny.toml", "--cc", "{}"),
    "evaluate": (
        *("evaluate", "{}", "--suite", "suite.toml", "--seeds", "3"),
        *("--out", "evaluated", "--allow-unevaluated"),
    ),
    "test": ("test", "download", "--cc", "{}", "--rate", "9mbit", "--duration", "2s"),
}
# Commands without runners.
ALONE: dict[str, Sequence[str]] = {
    "new": ("new", "{}"),
    "explore": ("explore", "{}", "--out", "page.html"),
    "explore --cc": ("explore", "tiny.toml", "--cc", "{}", "--out", "page.html"),
    "score": ("score", "{}", "--suite", "score.toml", "--no-holdout"),
    "attack search": (
        *("attack", "search", "{}", "--goal", "utilization", "--budget", "0.1s"),
        *("--random", "--worst", "1", "--out", "attacked"),
    ),
    "attack shrink": (
        *("attack", "shrink", "tiny.toml", "--keep", "jain >= 0"),
        *("--cc", "{}", "--repeat", "1", "--out", "shrunk.toml"),
    ),
    "evaluate --suite bbr-draft": ("evaluate", "{}", "--suite", "bbr-draft"),
    "plugin check": ("plugin", "check", "{}", "--sequences", "2"),
    "fleet simulate": ("fleet", "simulate", "--cc", "cubic,{}", "--paths", "1", "--out", "fleet"),
    "reproduce": ("reproduce", "--cc", "{}"),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(IN_C, tmp_path_factory.mktemp("kinds") / "libkinds.so")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes an algorithm of each kind, and a cargo that has built the crate."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    shutil.copy(library, tmp_path / "libkinds.so")
    for folder in ("sub", "kinds-crate", "bin"):
        (tmp_path / folder).mkdir()
    (tmp_path / "kinds_mine.py").write_text(CLASS)
    (tmp_path / "sub/kinds_other.py").write_text(CLASS)
    (tmp_path / "kinds.js").write_text("class Mine {}\n")
    shutil.copy(Path(package.__file__).parent / "trained/power.json", tmp_path / "sub")
    (tmp_path / "kinds-crate/Cargo.toml").write_text('[package]\nname = "kinds-crate"\n')
    built = {
        "reason": "compiler-artifact",
        "manifest_path": str(tmp_path / "kinds-crate/Cargo.toml"),
        "target": {"kind": ["cdylib"]},
        "filenames": [str(tmp_path / "libkinds.so")],
    }
    cargo = tmp_path / "bin/cargo"
    cargo.write_text(f"#!/bin/sh\necho '{json.dumps(built)}'\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    (tmp_path / "tiny.toml").write_text(TINY + FLOW.format(cc="cubic"))
    (tmp_path / "suite.toml").write_text(SUITE)
    (tmp_path / "score.toml").write_text(SCORE)


# Refusals that are no matter of the kind: of this algorithm, or of this machine.
OTHERWISE = {
    "evaluate --suite bbr-draft": "is no version of BBR",
    "explore": "the simulator for pages is not built",
    "explore --cc": "the simulator for pages is not built",
    "reproduce": "--cc: not an option of fullpipe reproduce",
}


def sentence(kind: resolve.Kind, command: str) -> str:
    """Returns the sentence with which the table refuses a kind in a simulation; empty if it does not."""
    if kind.name == "JavaScript":
        return kind.only
    command = command.removesuffix(" --cc")
    if command in kind.holes:
        return kind.holes[command][0]
    return "" if runners.runs(runners.SIMULATOR, kind) or command == "new" else kind.only


def called(fullpipe: Fullpipe, words: Sequence[str], name: str) -> tuple[int, str]:
    """Calls a command, and returns exit code and errors: no traceback, and a fix if it refuses."""
    done = fullpipe(*(each.replace("{}", name) for each in words))
    assert "Traceback" not in done.stderr, done.stderr
    if done.returncode == 2:
        assert re.search(r"^error: .*\n  fix: ", done.stderr, re.MULTILINE), done.stderr
    return done.returncode, done.stderr


def test_there_is_a_name_of_each_kind() -> None:
    assert set(KINDS) == set(NAMES)
    for kind, name in NAMES.items():
        assert resolve.kind_of(name) is KINDS[kind], name


def test_no_other_file_tells_names_apart_by_their_beginnings() -> None:
    """A beginning of names stands in the table, or in the row of a wing."""
    root = Path(package.__file__).parent
    table = [root / "algorithms/resolve.py", root / "wings/traces/foreign/kernel_name.py"]
    beginnings = {"program:", "policy:", "fp_"}
    found = {
        f"{file.relative_to(root)}:{node.lineno}"
        for file in root.rglob("*.py")
        if file not in table
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in beginnings
    }
    assert found == set()


@pytest.mark.parametrize("command", ON_RUNNERS)
@pytest.mark.parametrize("kind", NAMES)
def test_a_simulated_algorithm_works_or_is_refused(
    kind: str, command: str, fullpipe: Fullpipe
) -> None:
    code, said = called(fullpipe, ON_RUNNERS[command], NAMES[kind])
    if expected := sentence(KINDS[kind], command):
        assert (code, f": {expected}\n  fix: " in said) == (2, True), said
    elif kind == "unresponsive traffic":
        assert code == 0 or "needs a sending rate" in said
    else:
        assert code == 0, said


@pytest.mark.parametrize("command", ALONE)
@pytest.mark.parametrize("kind", NAMES)
def test_a_command_without_runners_takes_it_or_refuses_it(
    kind: str, command: str, fullpipe: Fullpipe
) -> None:
    code, said = called(fullpipe, ALONE[command], NAMES[kind])
    if command == "reproduce":
        assert OTHERWISE[command] in said
    elif expected := sentence(KINDS[kind], command):
        assert (code, f": {expected}" in said) == (2, True), said
    elif kind == "unresponsive traffic" or command in OTHERWISE:
        assert code in (0, 1) or re.search(
            f"{OTHERWISE.get(command)}|sending rate|arm|called 'none'", said
        )
    else:
        assert code in (0, 1), said


@pytest.mark.parametrize("on", runners.names()[1:])
@pytest.mark.parametrize("kind", NAMES)
def test_a_runner_runs_it_or_refuses_it(kind: str, on: str, fullpipe: Fullpipe) -> None:
    """Where the runner is missing, it is asked for its refusal alone."""
    runner = next(each for each in runners.every() if each.name == on)
    row, name = KINDS[kind], NAMES[kind]
    if row.name == "JavaScript":
        assert not runners.runs(on, row)
        return
    if runners.runs(on, row):
        if runner.missing() is None:
            code, _ = called(fullpipe, [*ON_RUNNERS["run"], "--on", on], name)
            assert code in (0, 2)
        return
    known = resolve.name_of(name)
    text = TINY + FLOW.format(cc=known)
    with pytest.raises(_core.ScenarioError) as refused:
        runners.refuse(runner, parse(text, "tiny.toml"), "off")
    assert (refused.value.problem, refused.value.fix) == (row.only, runners.elsewhere(row))
    if runner.missing() is None:
        for words in ON_RUNNERS.values():
            code, said = called(fullpipe, [*words, "--on", on], name)
            assert (code, f": {row.only}\n  fix: " in said) == (2, True), (words, said)


@pytest.mark.parametrize("kind", NAMES)
def test_a_function_takes_it_or_refuses_it(kind: str) -> None:
    row, name = KINDS[kind], NAMES[kind]
    options: dict[str, Any] = {"rate": "9mbit", "rtt": "9ms", "duration": "100ms"}
    steered = TINY.replace("100ms", "9s") + FLOW.format(cc="agent").replace("tested", "agent")

    def known() -> str:
        return resolve.name_of(name)

    calls: dict[str, Callable[[], object]] = {
        "run": lambda: package.run([name], **options),
        "run by name": lambda: package.run(name, **options),
        "run cc": lambda: package.run("tiny.toml", cc=name),
        "run set": lambda: package.run("tiny.toml", set={"flow.0.cc": name}),
        "load": lambda: package.load([name], on="sim", **options),
        "sweep": lambda: package.sweep([name], out="a", **options),
        "sweep cc": lambda: package.sweep("tiny.toml", cc=["cubic", name], out="b"),
        "sweep axes": lambda: package.sweep("tiny.toml", axes={"flow.0.cc": [name]}, out="c"),
        "compare": lambda: package.compare("cubic", name, repeat=1, out="d", **options),
        "gym": lambda: gym.Env(scenario=steered + FLOW.format(cc=known())).reset(),
    }
    for call, function in calls.items():
        expected = sentence(row, "gym" if call == "gym" else "run")
        if call in ("run set", "sweep axes") and row.is_path and not expected:
            expected = "a scenario "  # which names no files
        try:
            function()
        except _core.ScenarioError as error:
            if kind != "unresponsive traffic":
                assert expected, (call, error)
                assert error.problem.startswith(expected), (call, error)
        else:
            assert not expected, call


def test_a_class_object_is_an_algorithm_of_its_name() -> None:
    mine = import_module("kinds_mine").Mine
    made = package.run([mine], rate="9mbit", rtt="9ms", duration="100ms")
    assert made.metrics["flows"][0]["cc"] == "Mine"
    for on in runners.names():
        runner = next(each for each in runners.every() if each.name == on)
        if not runners.runs(on, resolve.CLASS):
            with pytest.raises(_core.ScenarioError, match=resolve.CLASS.only):
                runners.refuse(runner, made.scenario, "off")
