"""A runner is one module in `runners/` of a wing, and a page: every door offers it without another edit.

The module is planted in a copy of the package, made of links to this one. Its wing has no other part, and the runner
hands its runs to the simulator.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

import fullpipe as package
from fullpipe.commands import app
from fullpipe.runners import names

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[3]
NAME = "twin-sim"
MODULE = '''\
"""The simulator behind another door."""

import json
from pathlib import Path

from fullpipe.runners.sim import RUNNER as SIMULATOR


class Result:
    def __init__(self, made):
        self._made = made
        self.trace_hash, self.tables = made.trace_hash, made.tables
        self.table, self.units = made.table, made.units

    def metrics_json(self):
        return json.dumps(json.loads(self._made.metrics_json()) | {"runner": RUNNER.name})


class Twin:
    name = "twin-sim"
    about = "the simulator, planted by a test"
    real_time = False
    own_controllers = policies = True

    def missing(self):
        return None

    def refuse(self, scenario, trace):
        SIMULATOR.refuse(scenario, trace)

    def execute(self, scenario, trace, progress):
        with Path("runs.txt").open("a") as runs:
            runs.write(f"{scenario.seed}\\n")
        return Result(SIMULATOR.execute(scenario, trace, progress))


RUNNER = Twin()
'''
PAGE = "# Run a scenario on the twin\n\nThe twin hands its runs to the simulator.\n"
SCENARIO = """\
duration = "300ms"
expect = ["flow.*.goodput <= 9.9mbit"]
[path]
rate = "10mbit"
rtt = "10ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
"""
SUITE = '''\
title = "One question"
baselines = ["cubic"]
[[criterion]]
name = "use"
section = "1"
title = "Use"
question = "Which share of the link does it use?"
why = "It should use some of it."
metric = "utilization"
at_least = "1%"
axes = { rate = ["9mbit"] }
scenario = """
duration = "300ms"
measure_from = "0s"
start_jitter = "1ms"
[path]
rate = "{rate}"
rtt = "9ms"
buffer = "1bdp"
[[flow]]
name = "tested"
cc = "{cc}"
"""
'''
CLASS = """\
from fullpipe import Decision


class Mine:
    def on_ack(self, cx, ack):
        pass

    def decision(self):
        return Decision(cwnd=14480)
"""


class Planted(Protocol):
    """Calls Python with the planted package, in the test's directory."""

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs `python WORDS` to its end."""


def _links(inside: Path, of: Path, *, but: str) -> Path:
    """Makes a directory of links to the entries of another, but for one; returns the place of that one."""
    inside.mkdir(parents=True)
    for each in of.iterdir():
        if each.name not in (but, "__pycache__"):
            (inside / each.name).symlink_to(each)
    return inside / but


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with another wing, which has a runner, and with the runner's page."""
    root, real = tmp_path_factory.mktemp("planted"), Path(package.__file__).parent
    wings = _links(root / "fullpipe", real, but="wings")
    own = _links(wings, real / "wings", but="planted") / "runners"
    own.mkdir(parents=True)
    (own.parent / "__init__.py").write_text(
        'from fullpipe.wings import Wing\n\nWING = Wing("a wing of a test")\n'
    )
    (own / "__init__.py").touch()
    (own / f"{NAME.replace('-', '_')}.py").write_text(MODULE)
    docs = root / "fullpipe/docs"
    docs.unlink()
    guide = _links(docs, real / "docs", but="guide")
    _links(guide, real / "docs/guide", but="twin.md").write_text(PAGE)
    return root


@pytest.fixture
def planted(tree: Path, tmp_path: Path) -> Planted:
    (tmp_path / "short.toml").write_text(SCENARIO)
    (tmp_path / "suite.toml").write_text(SUITE)
    (tmp_path / "mine.py").write_text(CLASS)
    environment = {**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "80", "NO_COLOR": "1"}

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def _command(planted: Planted, *words: str, code: int = 0) -> str:
    done = planted("-m", "fullpipe", *words)
    assert done.returncode == code, (words, done.stdout, done.stderr)
    return done.stderr if code == 2 else done.stdout


ON: dict[str, Sequence[str]] = {
    "run": ("run", "short.toml"),
    "sweep": ("sweep", "short.toml", "--set", "path.rtt=10ms,20ms", "--out", "kept"),
    "compare": (
        *("compare", "cubic", "newreno", "--rate", "9mbit", "--duration", "300ms"),
        *("--repeat", "2", "--out", "kept"),
    ),
    "check": ("check", "short.toml"),
    "evaluate": (
        *("evaluate", "newreno", "--suite", "suite.toml", "--seeds", "3"),
        *("--out", "kept"),
    ),
    "reproduce": ("reproduce", "kernel", "--case=k_loss2_cubic", "--repeat=1"),
    "validate": ("validate", "--cell=reno-10m-20ms-2bdp-5s"),
    "test": ("test", "upload", "--duration=1s", "--rate=5mbit"),
}
"""A small call of each command with `--on`."""


def test_each_command_with_runners_is_tried() -> None:
    having = {
        " ".join(words)
        for words, command in app.walk()
        if any("--on" in param.opts for param in command.params)
    }
    # `verify --on` names classes of runners that kept results have: tests/python/study/test_verify.py.
    assert having - {"verify"} == ON.keys()


@pytest.mark.parametrize("name", ON)
def test_a_command_runs_on_it(name: str, planted: Planted, tmp_path: Path) -> None:
    done = planted("-m", "fullpipe", *ON[name], "--on", NAME)
    # Claims about Linux may be missed here.
    assert done.returncode in ((0, 1) if name in ("reproduce", "validate") else (0,)), done
    assert "Traceback" not in done.stderr
    assert (tmp_path / "runs.txt").exists(), done
    # Kept files name the runner, such as the commands that repeat a run.
    kept = [file.read_bytes() for file in tmp_path.glob("kept/**/*") if file.is_file()]
    assert not kept or any(NAME.encode() in each for each in kept)


def test_runs_are_those_of_the_simulator_and_stand_next_to_them(planted: Planted) -> None:
    both = json.loads(_command(planted, "run", "short.toml", "--on", f"sim,{NAME}", "--json"))
    assert [each["runner"] for each in both] == ["sim", NAME]
    assert both[0]["flows"] == both[1]["flows"]


def test_reports_name_it(planted: Planted, tmp_path: Path) -> None:
    _command(planted, "run", "short.toml", "--on", f"sim,{NAME}", "--out", "both")
    _command(planted, "report", "both", "--format", "md")
    text = (tmp_path / "both/report-md/report.md").read_text(encoding="utf-8")
    assert re.search(rf"\| *sim *\| *{NAME} *\| *{NAME} vs\. sim *\|", text), text
    words = ("--set", "path.rtt=10ms,20ms", "--on", f"sim,{NAME}", "--out", "swept")
    _command(planted, "sweep", "short.toml", *words)
    _command(planted, "report", "swept", "--format", "md")
    assert NAME in (tmp_path / "swept/report-md/report.md").read_text(encoding="utf-8")


def test_doctor_and_completion_offer_it(planted: Planted) -> None:
    found = json.loads(_command(planted, "doctor", "--json"))["runners"]
    [each] = [each for each in found if each["what"] == NAME]
    assert (each["state"], each["found"]) == ("ok", "the simulator, planted by a test")
    completed = planted(
        "-c",
        "from fullpipe.commands.complete import KINDS; print(dict(KINDS['runners']('tw')))",
    )
    assert f"'{NAME}': ''" in completed.stdout, completed


def test_wrong_names_and_other_kinds_are_refused_with_it(planted: Planted) -> None:
    listed = ", ".join(sorted([*names()[1:], NAME]))
    said = _command(planted, "run", "short.toml", "--on", "twin-sin", code=2)
    assert f"fix: did you mean {NAME}? there are sim, " in said
    plain = said.replace(" (not on this machine)", "")
    assert f"there are sim, {listed}; see fullpipe doctor" in plain
    # A class of the user's needs the trait `own_code`, which the runner lacks.
    said = _command(planted, "run", "short.toml", "--cc", "mine.py:Mine", "--on", NAME, code=2)
    assert re.search(r"error: .*\n  fix: run it with --on sim", said), said
    # A policy needs `policies`, which it has.
    said = _command(planted, "run", "short.toml", "--cc", "policy:power", "--on", "uml", code=2)
    assert NAME in said, said
    words = ("run", "short.toml", "--on", NAME, "--trace", "10ms packets")
    assert f"--on {NAME} records no packets, which only sim does" in _command(
        planted, *words, code=2
    )


def test_the_pages_list_it(planted: Planted) -> None:
    done = planted(
        "-c",
        f"import sys; sys.path.append({str(ROOT / 'tools')!r}); import reference\n"
        "print(reference.runners_table()); print(reference.pages()['commands.md'])",
    )
    assert done.returncode == 0, done.stderr
    assert f"| [`{NAME}`](twin.md) | the simulator, planted by a test | " in done.stdout
    [policies] = [
        line for line in done.stdout.splitlines() if line.startswith("| trained policy |")
    ]
    assert f"`{NAME}`" in policies
    assert "Run a scenario on the twin" in _command(planted, "explain", "--docs", "guide/twin")
