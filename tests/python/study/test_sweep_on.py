"""Sweeps, comparisons and checks on runners other than the simulator."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import polars as pl
import pytest

import fullpipe as package
from conftest import SCENARIO
from fullpipe.errors import FailedRunsError
from fullpipe.report.build import build
from fullpipe.report.model import Table, Timeline
from fullpipe.results.load import load
from fullpipe.runners import runner
from fullpipe.study import other_runners
from fullpipe.study.spec import SweepSpec

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe
    from fullpipe.study.engine import Step

AXES = {"path.buffer": ["1bdp", "2bdp", "4bdp", "8bdp"]}
BOTH = "sim,own_runners:Other"
TIMED = "own_runners:Timed"


def test_what_runs_in_no_time_of_its_own_has_the_rows_of_single_runs(fake: Path) -> None:
    sweep = package.sweep(SCENARIO, AXES, repeat=3, out=fake / "out", on=BOTH)
    frame = sweep.frame()
    assert sweep.runners == ["sim", "other"]
    assert frame.group_by("runner").len().sort("runner").rows() == [("other", 24), ("sim", 24)]
    for row in frame.filter(pl.col("flow_index") == 1).iter_rows(named=True):
        on = "sim" if row["runner"] == "sim" else "own_runners:Other"
        added = {} if on == "sim" else {"send_jitter": "0s"}  # a real sender has jitter of its own
        run = package.run(sweep.load(row["point"], seed=row["seed"], set=added), on=on)
        assert row["goodput_bps"] == run.flow_metrics[1]["goodput_bps"]
        assert row["link.bottleneck.drops"] == run.link_metrics[0]["drops"]
        assert row["host.kernel"] == ("9.9" if on != "sim" else None)
    assert not sweep.series(2, on="other").equals(sweep.series(2)), (
        "each runner has the trace of its first seed"
    )


def test_warnings_that_differ_in_numbers_are_one(fake: Path, fullpipe: Fullpipe) -> None:
    out = ("--out", str(fake / "out"), "--on", "own_runners:Doubtful")
    done = fullpipe("sweep", "cubic", "--duration", "1s", "--repeat", "3", *out)
    assert done.returncode == 0, done.stderr
    said = "warning (doubtful, 3 runs): the CPUs were busy for 91 to 93 % of the time"
    assert said in done.stdout + done.stderr


def test_on_a_clock_runs_go_one_at_a_time_and_points_take_turns(fake: Path) -> None:
    sweep = package.sweep(SCENARIO, AXES, repeat=6, out=fake / "out", on=TIMED)
    runs = sweep.frame().filter(flow_index=0).sort("order")
    assert runs["order"].to_list() == list(range(24))
    assert runs["began"].is_sorted()
    assert runs["began"].dtype.is_temporal()
    blocks = [runs["point"].to_list()[at : at + 4] for at in range(0, 24, 4)]
    assert all(sorted(block) == [0, 1, 2, 3] for block in blocks), "each repetition has every point"
    assert len({tuple(block) for block in blocks}) > 2, "in a different order"
    assert [set(runs["seed"].to_list()[at : at + 4]) for at in (0, 20)] == [{7}, {12}]
    again = package.sweep(SCENARIO, AXES, repeat=6, out=fake / "again", on=TIMED)
    assert (
        again.frame()
        .select("point", "seed", "order")
        .equals(sweep.frame().select("point", "seed", "order"))
    )


def test_a_runner_can_be_added_and_what_is_there_is_not_run_again(fake: Path) -> None:
    package.sweep(SCENARIO, AXES, repeat=2, out=fake / "out")
    before = {file: file.stat().st_mtime_ns for file in (fake / "out" / "runs").iterdir()}
    sweep = package.sweep(SCENARIO, AXES, repeat=2, out=fake / "out", on=TIMED)
    assert sweep.runners == ["sim", "timed"]
    assert all(file.stat().st_mtime_ns == at for file, at in before.items())
    assert sweep.frame().group_by("runner").len().sort("runner").rows() == [
        ("sim", 16),
        ("timed", 16),
    ]
    assert sweep.about["runs"] == 16


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_sweep_on_a_clock_goes_on_where_it_was_stopped(
    command: list[str], fake: Path, number: signal.Signals
) -> None:
    (fake / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    call = [
        *command,
        "sweep",
        "mine.toml",
        "--set",
        "path.buffer=1bdp,2bdp",
        "--repeat",
        "4",
        "--on",
        TIMED,
    ]
    call += ["--out", "out", "--trace", "off"]
    slow = {**os.environ, "PAUSE_S": "0.5"}
    runs = fake / "out" / "runs"
    with subprocess.Popen(call, cwd=fake, env=slow, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while (
            not runs.exists() or len(list(runs.glob("[0-9]*"))) < 3
        ) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
    if number == signal.SIGINT:
        assert "of 8 runs; finished runs are kept in out; the same command resumes there" in said
        assert not (fake / "busy").exists(), "the runner cleaned up"
    elif (fake / "busy").exists():
        (fake / "busy").rmdir()  # a real runner cleans up after a killed one
    first = {file: file.stat().st_mtime_ns for file in runs.glob("[0-9]*")}
    assert 3 <= len(first) < 8
    done = subprocess.run(call, cwd=fake, capture_output=True, text=True, timeout=300, check=True)
    assert f"{8 - len(first)} runs, " in done.stdout
    assert "warning (timed, 8 runs): the CPU was busy" in done.stdout
    assert all(file.stat().st_mtime_ns == at for file, at in first.items())
    frame = package.Sweep(fake / "out").frame().filter(flow_index=0).sort("began")
    assert frame["order"].to_list() == list(range(8)), (
        "the order is the same as without an interruption"
    )


@pytest.mark.parametrize("name", ["Failing", "FailingAside"])
def test_a_failed_run_does_not_end_a_sweep_and_is_made_again(
    fake: Path, fullpipe: Fullpipe, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    on = ("--on", f"own_runners:{name}", "--out", str(fake / "out"))
    call = ("sweep", "cubic", "--duration", "1s", "--repeat", "6", *on)

    def runs() -> list[int]:
        frame = package.Sweep(fake / "out").frame()
        return sorted(frame.filter(flow_index=0)["seed"].to_list())

    monkeypatch.setenv("FAIL", "[1, 4]")
    done = fullpipe(*call)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "a run failed: " in said
    assert "2 runs failed; finished runs are kept, and the same command makes the others" in said
    assert "quinn ended with exit code" in said
    assert "fix: run it alone" in said
    assert runs() == [2, 3, 5, 6]
    monkeypatch.setenv("FAIL", "[]")
    done = fullpipe(*call)
    assert done.returncode == 0, done.stderr
    assert runs() == [1, 2, 3, 4, 5, 6]


def test_three_failures_in_a_row_end_a_sweep(
    fake: Path, fullpipe: Fullpipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIL", "[1, 3, 4, 5, 6, 7, 8, 9]")
    call = ("sweep", "cubic", "--duration", "1s", "--repeat", "9", "--out", str(fake / "out"))
    done = fullpipe(*call, "--on", "own_runners:Failing")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "3 runs in a row failed; finished runs are kept" in said
    assert said.count("quinn ended with exit code 3") == 2, "where it failed, and at the end"
    assert "code 6" not in said, "no further run"
    assert package.Sweep(fake / "out").frame()["seed"].unique().to_list() == [2]


def test_a_failed_run_does_not_end_an_evaluation(
    fake: Path, fullpipe: Fullpipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("--criterion", "full-backoff", "--criterion", "feedback-returns", "--quick")
    call = ("evaluate", "cubic", *asked, "--seeds", "3", "--out", str(fake / "out"))
    monkeypatch.setenv("FAIL", "[2]")
    monkeypatch.setenv("FAIL_ONLY", "newreno")
    done = fullpipe(*call, "--on", "own_runners:FailingAside")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "runs of full-backoff, feedback-returns failed; finished runs are kept, and the" in said
    assert said.endswith("quinn ended with exit code 2 fix: run it alone")
    monkeypatch.setenv("FAIL", "[]")
    done = fullpipe(*call, "--on", "own_runners:FailingAside")
    assert done.returncode in (0, 1), done.stderr
    assert "2 criteria: " in done.stdout
    page = (fake / "out" / "dossier.html").read_text(encoding="utf-8")
    assert "--on own_runners:FailingAside" in page, "a command that works"
    assert "--on failing-aside" not in page


def test_a_failure_on_one_runner_leaves_the_others(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIL", "[7]")
    both = "own_runners:FailingAside,own_runners:Timed"
    with pytest.raises(FailedRunsError, match="1 run failed"):
        package.sweep(SCENARIO, {"path.buffer": ["1bdp"]}, repeat=2, out=fake / "out", on=both)
    frame = package.Sweep(fake / "out").frame().filter(flow_index=0)
    assert sorted(frame.select("runner", "seed").rows()) == [
        ("failing-aside", 8),
        ("timed", 7),
        ("timed", 8),
    ]


def test_how_long_transfers_take_is_known_from_those_before(fake: Path) -> None:
    ended = SCENARIO.replace('cc = "', 'bytes = "10kB"\ncc = "').replace(
        'duration = "', 'duration = "600s" # "'
    )
    spec = SweepSpec(ended, "mine.toml", repeat=3)
    todo = other_runners.schedule(spec, {"timed": [(0, 3)]}, [runner(TIMED)])
    said: list[Step] = []
    for step in other_runners.steps(spec, todo, show=said.append):
        said.append(step)  # noqa: PERF402  (some are shown meanwhile)
    assert {step.left_s for step in said if step.runs == 0} == {None}, "600 s are only a limit"
    later = [step.left_s for step in said if step.runs == 2]
    assert all(seconds is not None and 0 <= seconds < 5 for seconds in later)


def test_the_table_and_the_report_tell_runners_apart(fullpipe: Fullpipe, fake: Path) -> None:
    (fake / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    call = (
        "sweep",
        "mine.toml",
        "--set",
        "path.buffer=1bdp,8bdp",
        "--repeat",
        "6",
        "--on",
        BOTH,
        "--out",
        "out",
    )
    shown = fullpipe(*call)
    assert shown.returncode == 0, shown.stderr
    assert [line.split()[:3] for line in shown.stdout.splitlines() if line.startswith("1bdp")] == [
        ["1bdp", "cubic", "sim"],
        ["1bdp", "cubic", "other"],
        ["1bdp", "bbr1", "sim"],
        ["1bdp", "bbr1", "other"],
    ]
    kept = load(fake / "out")
    assert [(point.label, point.runner) for point in kept.points.values()] == [
        ("buffer 1bdp", "sim"),
        ("buffer 8bdp", "sim"),
        ("buffer 1bdp", "other"),
        ("buffer 8bdp", "other"),
    ]
    report = build(fake / "out")
    (beside,) = next(
        section for section in report.sections if section.title == "Runners side by side"
    ).blocks
    assert isinstance(beside, Table)
    assert beside.columns == ("buffer", "contender", "metric", "sim", "other", "other vs. sim")
    (timeline,) = next(
        section for section in report.sections if section.title == "Over time"
    ).blocks
    assert isinstance(timeline, Timeline)
    assert [run.label for run in timeline.runs] == [
        f"buffer {buffer} on {runner}, seed 7"
        for runner in ("sim", "other")
        for buffer in ("1bdp", "8bdp")
    ]
    assert timeline.first == (0, 2), "the same place on each runner"


def test_algorithms_are_compared_on_each_runner(fullpipe: Fullpipe, fake: Path) -> None:
    call = (
        "compare",
        "cubic",
        "bbr1",
        "--duration",
        "2s",
        "--rate",
        "10mbit",
        "--rtt",
        "20ms",
        "--repeat",
        "6",
    )
    shown = fullpipe(*call, "--set", "measure_from=1s", "--on", BOTH, "--out", "out")
    assert shown.returncode == 0, shown.stderr
    for words in ("alone, sim", "alone, other", "together, sim", "together, other"):
        assert words in " ".join(shown.stdout.split()), words
    kept = load(fake / "out")
    assert {(point.settings["case"], point.runner) for point in kept.points.values()} == {
        (case, runner) for case in ("alone", "together") for runner in ("sim", "other")
    }
    assert kept.runs == 6 * 3 * 2


def test_a_check_holds_on_each_runner_or_not(fullpipe: Fullpipe, fake: Path) -> None:
    expected = SCENARIO.replace(
        "seed = 7", 'seed = 7\nexpect = ["jain <= 1", "flow.cubic.goodput >= 20mbit"]'
    )
    (fake / "mine.toml").write_text(expected, encoding="utf-8")
    checked = fullpipe(
        "check", "mine.toml", "--repeat", "2", "--on", f"sim,{TIMED}", "--junit", "check.xml"
    )
    assert checked.returncode == 1
    assert "mine.toml on sim, 2 repetitions" in checked.stdout
    assert "mine.toml on timed, 2 repetitions" in checked.stdout
    assert "fullpipe run mine.toml --on own_runners:Timed --seed" in checked.stdout
    assert "2 of 4 conditions met in 1 scenario, 4 runs" in checked.stdout
    assert 'name="mine.toml on timed"' in (fake / "check.xml").read_text(encoding="utf-8")
    listed = json.loads(
        fullpipe("check", "mine.toml", "--repeat", "2", "--on", TIMED, "--json").stdout
    )
    assert {each["runner"] for each in listed} == {"timed"}


def test_ray_is_the_simulators(fullpipe: Fullpipe, fake: Path) -> None:
    (fake / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    refused = fullpipe("sweep", "mine.toml", "--engine", "ray", "--on", BOTH)
    assert refused.returncode == 2
    assert "--engine ray runs only the simulator" in refused.stderr
