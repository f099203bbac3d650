"""Every command has the same results on threads and on a Ray cluster, and refuses an engine that can't be.

`make setup-all` installs Ray.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from fullpipe import ScenarioError
from fullpipe.commands import app
from fullpipe.commands.options import ENGINE, THREADS
from fullpipe.study.engine import Engine, NoClusterError
from fullpipe.study.execute import repeat
from fullpipe.study.repeated import Repeated, Setup
from test_published import GOOD
from test_score import SUITE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fullpipe.run import Run

ray = pytest.importorskip("ray", reason="Ray is not installed; `make setup-all` installs it")

# Ray's own warnings are not errors.
pytestmark = pytest.mark.filterwarnings("default")

MINE = '''\
"""An algorithm of a user, which needs another module of the same folder."""

from fullpipe import Decision
from {name}_window import packets


class Mine:
    def __init__(self, config):
        self.mss = config.smss

    def on_ack(self, ack, conn):
        {ack}

    def decision(self):
        return Decision(cwnd=packets() * self.mss)
'''
SCENARIO = """\
# Losses from a file
duration = "2s"
expect = ["flow.*.goodput >= 1mbit"]
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"
loss = "list file losses.txt"
[[flow]]
cc = "cubic"
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a user's files, which the workers, in another folder, do not see."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "losses.txt").write_text("3\n70\n71\n")
    (tmp_path / "lossy.toml").write_text(SCENARIO)
    return tmp_path


def own(place: Path, name: str, ack: str = "pass") -> str:
    """Writes an algorithm of two modules, and returns its name; each test has another one, as workers import once."""
    (place / f"{name}.py").write_text(MINE.format(name=name, ack=ack))
    (place / f"{name}_window.py").write_text("def packets():\n    return 20\n")
    return f"{name}.py:Mine"


def called(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, words)
    assert done.exit_code in (0, 1, 3), done.output
    return done.exit_code, done.stdout


def results(*words: str, out: bool = True) -> tuple[Any, Any]:
    """Returns exit code and JSON of a command by each engine."""
    found = []
    for engine in ("ray", "local"):
        place = ("--out", f"kept-{engine}") if out else ()
        code, text = called(*words, "--engine", engine, "--threads", "2", "--json", *place)
        found.append((code, json.loads(text.replace(f"kept-{engine}", "kept"))))
    return found[0], found[1]


@pytest.mark.usefixtures("cluster")
def test_check_sends_files_and_modules(place: Path) -> None:
    mine = own(place, "checked")
    on_ray, here = results("check", "lossy.toml", "--cc", mine, "--repeat", "3", out=False)
    assert on_ray == here
    assert here[1]


@pytest.mark.usefixtures("cluster")
def test_compare(place: Path) -> None:
    words = ("compare", "cubic", own(place, "compared"), "--rate", "10mbit", "--duration", "2s")
    on_ray, here = results(*words, "--repeat", "3")
    assert on_ray == here


@pytest.mark.usefixtures("cluster", "place")
def test_validate() -> None:
    cells = ("--cell", "cubic-10m-5ms-8bdp", "--cell", "reno-10m-20ms-2bdp-loss")
    on_ray, here = results("validate", *cells, "--seeds", "3", out=False)
    assert on_ray == here
    assert here[1]


@pytest.mark.usefixtures("cluster")
def test_reproduce_with_its_reports(place: Path) -> None:
    (place / "small.toml").write_text(GOOD)
    on_ray, here = results("reproduce", "small.toml", "--seeds", "2")
    assert on_ray == here
    for name in ("runs.csv", "numbers.csv", "table.md"):
        both = [(place / f"kept-{engine}" / name).read_text() for engine in ("ray", "local")]
        assert both[0] == both[1]


@pytest.mark.usefixtures("cluster")
def test_a_canned_test(place: Path) -> None:
    words = ("test", "upload", "--rate", "10mbit", "--duration", "3s", "--repeat", "3")
    on_ray, here = results(*words, "--cc", own(place, "loaded"), out=False)
    assert on_ray == here


@pytest.mark.usefixtures("cluster")
def test_attack_and_shrink(place: Path) -> None:
    words = ("attack", "search", own(place, "attacked"), "--than", "cubic", "--goal", "utilization")
    on_ray, here = results(*words, "--budget", "1ms", "--worst", "1")
    assert on_ray == here
    shrunk = []
    for engine in ("ray", "local"):
        words = ("attack", "shrink", "lossy.toml", "--keep", "goodput < 99%", "--engine", engine)
        shrunk.append(called(*words, "--seeds", "2", "--least", "1s")[1])
    assert shrunk[0] == shrunk[1]


@pytest.mark.usefixtures("cluster")
def test_score_with_a_policy_of_a_file(place: Path) -> None:
    from fullpipe.algorithms.policies import TRAINED

    (place / "mine.toml").write_text(SUITE)
    (place / "mine.json").write_text((TRAINED / "power.json").read_text())
    found = []
    for engine in ("ray", "local"):
        words = ("score", "bbr3", "policy:mine.json", "--suite", "mine.toml", "--no-holdout")
        _, text = called(*words, "--cache", f"cache-{engine}", "--engine", engine, "--json")
        found.append({**json.loads(text), "seconds": 0})
    assert found[0] == found[1]
    code = own(place, "scored")
    refused = CliRunner().invoke(app, ["score", code, "--engine", "ray", "--suite", "mine.toml"])
    assert refused.exit_code == 2
    assert f"--engine ray: {code} is code, whose processes are contained" in refused.stderr


@pytest.mark.usefixtures("cluster", "place")
def test_the_observatory() -> None:
    import polars as pl

    from fullpipe.wings.search.observatory.__main__ import command

    for engine in ("ray", "local"):
        words = ["--small", "--cc", "cubic", "--family", "policer", "--repeat", "1"]
        done = CliRunner().invoke(command, [*words, "--engine", engine, engine])
        assert done.exit_code == 0, done.output
    values = [pl.read_parquet(f"{engine}/values-*.parquet") for engine in ("ray", "local")]
    assert values[0].equals(values[1])


@pytest.mark.usefixtures("cluster")
def test_errors_of_runs_are_those_of_threads(place: Path) -> None:
    mine = own(place, "failing", "raise ValueError(7)").replace(".py", "")
    for text, kind in (
        (SCENARIO.replace('"cubic"', f'"{mine}"'), ValueError),
        (SCENARIO.replace("losses.txt", "none.txt"), ScenarioError),
    ):
        said = []
        for engine in ("ray", "local"):
            jobs = [Repeated(Setup(text, "lossy.toml"), [1], "off", attrgetter("warnings"))]
            with pytest.raises(kind) as error:
                repeat(jobs, engine=Engine(engine))
            said.append((type(error.value), str(error.value)))
        assert said[0] == said[1]


KEEP = {
    "reproduce": ["reproduce", "long.toml", "--seeds", "500"],
    "check": ["check", "expected.toml", "--repeat", "100000"],
    "validate": ["validate", "--cell", "*-loss", "--seeds", "1000"],
    "test": ["test", "upload", "--duration", "60s", "--rate", "100mbit", "--repeat", "1000"],
}
"""Commands that keep finished runs next to the results, with runs for hours."""


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("name", KEEP)
def test_ctrl_c_ends_a_command_on_a_cluster_and_keeps_its_runs(place: Path, name: str) -> None:
    (place / "long.toml").write_text(GOOD.replace('"2s"', '"400s"'))
    (place / "expected.toml").write_text(SCENARIO)
    words = [sys.executable, "-m", "fullpipe", *KEEP[name]]
    address = ray.get_runtime_context().gcs_address

    def finished() -> bool:
        lines = place / "kept.unfinished/runs.jsonl"
        return lines.exists() and lines.read_bytes().count(b"\n") > 1

    with subprocess.Popen(
        [*words, "--engine", "ray", "--out", "kept"],
        cwd=place,
        env={**os.environ, "RAY_ADDRESS": address},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not finished():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130, said
    assert "finished runs are kept in kept.unfinished; the same command resumes there" in said


@pytest.mark.usefixtures("cluster", "place")
def test_results_that_can_not_be_sent_are_refused_before_the_first_run() -> None:
    lock = threading.Lock()

    def reduce(_run: Run) -> bool:
        return lock.locked()

    jobs = [Repeated(Setup(SCENARIO, "lossy.toml"), [1], "off", reduce)]
    with pytest.raises(
        NoClusterError, match="--engine ray can't send the runs to a worker"
    ) as error:
        repeat(jobs, engine=Engine("ray"))
    assert error.value.fix == "leave --engine out"


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    "words",
    [
        ("sweep", "lossy.toml"),
        ("check", "lossy.toml"),
        ("compare", "cubic", "bbr3"),
        ("evaluate", "cubic"),
        ("reproduce", "microsoft"),
        ("validate",),
        ("test", "upload"),
    ],
)
def test_a_runner_other_than_the_simulator_is_refused_alike(
    place: Path, words: tuple[str, ...]
) -> None:
    refused = CliRunner().invoke(app, [*words, "--on", "own_runners:Timed", "--engine", "ray"])
    assert refused.exit_code == 2
    assert refused.stderr == (
        "error: --engine ray runs only the simulator\n  fix: omit --engine or --on\n"
    )
    assert not (place / "results").exists()


@pytest.mark.parametrize(
    "option", [("--record",), ("--traces", "side-by-side"), ("--random", "1", "--out", "drawn")]
)
def test_linux_is_refused_alike(place: Path, option: tuple[str, ...]) -> None:
    refused = CliRunner().invoke(app, ["validate", *option, "--engine", "ray"])
    assert refused.exit_code == 2
    assert refused.stderr == (
        f"error: --engine ray runs only the simulator\n  fix: omit --engine or {option[0]}\n"
    )
    assert not (place / option[-1]).exists()


def test_the_options_are_the_same_everywhere() -> None:
    """Every command with many runs has both, with one help, and no other command has one of them."""

    def walk(group: object, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        if not isinstance(group, click.Group):
            yield " ".join(words), group
            return
        for name in group.list_commands(None):  # type: ignore[arg-type]
            yield from walk(group.get_command(None, name), (*words, name))  # type: ignore[arg-type]

    found: dict[str, dict[str, str]] = {}
    for name, command in walk(app, ()):
        for param in command.params:
            if set(param.opts) & {"--engine", "--threads"}:
                found.setdefault(name, {})[param.opts[0]] = param.help
    assert set(found) == {
        *("sweep", "compare", "check", "evaluate", "reproduce", "validate", "test"),
        *("attack search", "attack shrink", "score", "fleet simulate", "verify"),
    }
    assert all(
        each == {"--engine": ENGINE.help, "--threads": THREADS.help} for each in found.values()
    )
