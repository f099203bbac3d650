"""Commands with many runs keep those that are finished next to `--out`, and the same command runs the others only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import polars as pl
import pytest
from click.testing import CliRunner

from fullpipe.commands import app
from fullpipe.results.sums import in_name
from fullpipe.study.checkpoint import Checkpoint
from fullpipe.study.store import alone

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe
    from fullpipe.study.checkpoint import Key

# The simulator with a name of its own, which takes its time and counts its runs.
COUNTED = """\
import json
import os
import time
from fullpipe.runners import runner

class Counted:
    name, about, real_time = "counted", "the simulator, counted", True
    def missing(self):
        return None
    def refuse(self, scenario, trace):
        runner("sim").refuse(scenario, trace)
    def execute(self, scenario, trace, progress):
        time.sleep(float(os.environ.get("PAUSE_S", "0")))
        made = runner("sim").execute(scenario, trace, progress)
        with open("ran", "a") as file:
            file.write(f"{scenario.to_toml()!r}\\n")
        return made
"""
SCENARIO = """\
duration = "200ms"
measure_from = "0s"
expect = ["jain >= 0", "flow.*.goodput >= 90mbit"]
[path]
rate = "10mbit"
rtt = "10ms"
buffer = "1bdp"
loss = "1%"
[[flow]]
cc = "cubic"
"""
COMMANDS = {
    "check": (["check", "first.toml", "second.toml", "--repeat=3"], 6),
    "test": (["test", "upload", "--duration=1s", "--rate=5mbit", "--loss=1%", "--repeat=5"], 5),
    "validate": (["validate", "--cell=reno-10m-20ms-2bdp-loss", "--seeds=5"], 5),
}
"""The words of each command, and the number of its runs."""
INTERRUPTED = 130


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "counted.py").write_text(COUNTED)
    for name in ("first", "second"):
        (tmp_path / f"{name}.toml").write_text(f"# The {name}\n{SCENARIO}")
    return tmp_path


def ran(place: Path) -> list[str]:
    file = place / "ran"
    return file.read_text().splitlines() if file.exists() else []


def stopped(
    words: list[str], place: Path, after: int, number: signal.Signals = signal.SIGINT
) -> tuple[int, str]:
    """Sends a signal in the run after some; returns exit code and standard error."""
    slow = {**os.environ, "PAUSE_S": "1"}
    with subprocess.Popen(
        words, cwd=place, env=slow, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 60
        while len(ran(place)) < after and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)  # the run is kept, and the next one pauses
        process.send_signal(number)
        try:
            _, said = process.communicate(timeout=20)
        finally:
            process.kill()
    return process.returncode, said


def results(out: Path) -> dict[str, str]:
    """The contents of what a command has made, without the times of its runs."""
    files = [out] if out.is_file() else [each for each in out.rglob("*") if each.is_file()]
    return {
        each.name: str(pl.read_parquet(each).to_dicts())
        if each.suffix == ".parquet"
        else each.read_text()
        for each in files
        if each.suffix not in (".png", "") and each.name != "host.json"
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_command_goes_on_and_no_run_is_made_twice(
    fullpipe: Fullpipe, command: list[str], place: Path, name: str, number: signal.Signals
) -> None:
    words, runs = COMMANDS[name]
    asked = [*words, "--on=counted:Counted"]
    code, said = stopped([*command, *asked, "--out=out"], place, 2, number)
    if number == signal.SIGINT:
        assert code == INTERRUPTED
        kept = "finished runs are kept in out.unfinished; the same command resumes there\n"
        assert said.endswith(f"; {kept}"), said
    assert not (place / "out").exists()
    assert 2 <= len(ran(place)) < runs
    resumed = fullpipe(*asked, "--out=out")
    assert resumed.returncode in (0, 1), resumed.stderr
    assert len(ran(place)) == len(set(ran(place))) == runs
    assert not (place / "out.unfinished").exists()
    whole = fullpipe(*asked, "--out=whole")
    assert whole.returncode == resumed.returncode
    assert results(place / "out") == results(place / "whole")
    assert len(ran(place)) == 2 * runs


@pytest.mark.parametrize("name", COMMANDS)
def test_without_out_nothing_is_kept(command: list[str], place: Path, name: str) -> None:
    before = {*place.iterdir()}
    words = [*command, *COMMANDS[name][0], "--on=counted:Counted"]
    code, said = stopped(words, place, 1)
    assert code == INTERRUPTED
    assert said.endswith("; nothing kept\n")
    assert {*place.iterdir()} - before <= {place / "ran", place / "__pycache__"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_damaged_run_is_made_again(
    fullpipe: Fullpipe, command: list[str], place: Path, name: str
) -> None:
    words, runs = COMMANDS[name]
    asked = [*words, "--on=counted:Counted", "--out=out"]
    stopped([*command, *asked], place, 3)
    kept = place / "out.unfinished"
    lines = (kept / "runs.jsonl").read_text().splitlines()
    damaged = lines[-1].replace("0", "1")
    (kept / "runs.jsonl").write_text("\n".join([*lines[:-1], damaged, lines[0][:40]]))
    resumed = fullpipe(*asked)
    assert resumed.returncode in (0, 1), resumed.stderr
    assert len(ran(place)) == runs + 1
    assert len(set(ran(place))) == runs


@pytest.mark.parametrize("name", COMMANDS)
def test_a_second_writer_and_other_work_are_refused(
    fullpipe: Fullpipe, command: list[str], place: Path, name: str
) -> None:
    asked = [*COMMANDS[name][0], "--on=counted:Counted", "--out=out"]
    stopped([*command, *asked], place, 2)
    before = ran(place)
    with alone(place / "out.unfinished"):
        second = fullpipe(*asked)
    assert second.returncode == 2
    assert second.stderr == (
        "error: out.unfinished: another process is adding to it; wait until that has finished\n"
    )
    other = fullpipe(*asked[:-2], "--on=sim", "--out=out")
    assert other.returncode == 2
    assert other.stderr.startswith(
        "error: --out out: out.unfinished has finished parts of different work: --on was counted, not sim\n  fix: "
    )
    assert ran(place) == before


def test_a_reused_run_has_its_kept_numbers(
    fullpipe: Fullpipe, command: list[str], place: Path
) -> None:
    words, _ = COMMANDS["validate"]
    asked = [*words, "--on=counted:Counted", "--out=out"]
    stopped([*command, *asked], place, 2)
    kept = place / "out.unfinished"
    first, *lines = (kept / "runs.jsonl").read_text().splitlines()
    record = json.loads(first.partition(" ")[2])
    assert record["key"] == ["reno-10m-20ms-2bdp-loss", 1]
    record["warnings"] = ["a kept warning"]
    about = json.dumps(json.loads((kept / "study.json").read_text())["study"])
    text = json.dumps(record)
    digest = in_name(f"{about}\n{text}".encode())
    (kept / "runs.jsonl").write_text("\n".join([f"{digest} {text}", *lines, ""]))
    assert fullpipe(*asked).returncode in (0, 1)
    assert "a kept warning" in (place / "out").read_text()


SHRUNK = [*("attack", "shrink", "first.toml", "--keep=goodput < 99%", "--seeds=2", "--least=100ms")]


def test_a_shrinking_goes_on_and_asks_nothing_twice(
    fullpipe: Fullpipe, command: list[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Thousands of packets in each run, so that it is interrupted among them.
    text = SCENARIO.replace('"200ms"', '"20s"').replace('"10mbit"', '"100mbit"')
    flows = "".join(f'[[flow]]\nname = "f{n}"\ncc = "cubic"\nstart = "{n}ms"\n' for n in range(8))
    (place / "first.toml").write_text(text + flows)
    whole = fullpipe(*SHRUNK, "--out=whole.toml", "--json")
    assert whole.returncode == 0, whole.stderr
    lines = place / "short.toml.unfinished" / "runs.jsonl"
    with subprocess.Popen(
        [*command, *SHRUNK, "--out=short.toml"], cwd=place, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 60
        while not (lines.exists() and lines.read_text().count("\n") >= 3):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == INTERRUPTED, said
    kept = "finished runs are kept in short.toml.unfinished; the same command resumes there\n"
    assert said.endswith(f"; {kept}")
    before = lines.read_text().splitlines()

    seen: list[object] = []
    add = Checkpoint.add

    def told(self: Checkpoint, key: Key, record: dict[str, object]) -> None:
        seen.append(key)
        add(self, key, record)

    monkeypatch.chdir(place)
    monkeypatch.setattr(Checkpoint, "add", told)
    done = CliRunner().invoke(app, [*SHRUNK, "--out=short.toml", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == json.loads(whole.stdout)
    assert (place / "short.toml").read_text() == (place / "whole.toml").read_text()
    there = [tuple(json.loads(line.partition(" ")[2])["key"]) for line in before]
    assert seen
    assert not set(there) & set(seen)
    assert not lines.parent.exists()


def test_a_condition_that_does_not_hold_leaves_nothing(fullpipe: Fullpipe, place: Path) -> None:
    before = {*place.iterdir()}
    words = ("attack", "shrink", "first.toml", "--keep=goodput > 99%", "--seeds=2")
    done = fullpipe(*words, "--out=short.toml")
    assert done.returncode == 2
    assert "does not hold with seed 1, 2 of 1 to 2" in done.stderr
    assert {*place.iterdir()} == before
