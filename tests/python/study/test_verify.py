"""`fullpipe verify`: kept results of every kind are repeated, and a changed number is found and named."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import polars as pl
import pytest

import fullpipe as package
from conftest import SCENARIO
from fake_runners import write_own_runners
from fullpipe.results.sums import write_json
from fullpipe.study.verify.sample import chosen
from test_evaluate import SMALL
from test_published import GOOD
from test_verify_damage import resealed, rewritten, unsummed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Fullpipe

EXPECT = 'expect = ["flow.*.goodput >= 1kbit"]\n'
MINE = """\
import fullpipe

class Fixed:
    def __init__(self, config):
        self.window = WINDOW * config.smss

    def on_ack(self, cx, ack):
        pass

    def decision(self):
        return fullpipe.Decision(self.window)
"""
# Each kind of kept results: the command, and what `verify` says of it.
KINDS = {
    "run": ("run base.toml --out kept", "1 of 1 equal, 1 with its trace"),
    "run without a trace": ("run base.toml --trace off --out kept", "1 of 1 equal, in "),
    "sweep": (
        "sweep base.toml --buffer 1bdp,2bdp --repeat 3 --out kept",
        "6 of 6 equal, 2 with their traces, fingerprint ",
    ),
    "sample of a range": (
        "sweep base.toml --rtt '10ms..20ms' --sample 3 --trace off --out kept",
        "3 of 3 equal, fingerprint ",
    ),
    "sweep with a rule": (
        "sweep base.toml --repeat 10 --max-repeat 10 --until 'ci(goodput) < 0.1%' --out kept",
        "10 of 10 equal, 1 with its trace, fingerprint ",
    ),
    "sweep until steady": (
        "sweep base.toml --repeat 2 --until steady --out kept",
        " equal, ",
    ),
    "comparison": (
        "compare cubic newreno --duration 2s --repeat 3 --out kept",
        "9 of 9 equal, 3 with their traces, fingerprint ",
    ),
    "check": ("check base.toml --repeat 3 --out kept", "3 of 3 equal, in "),
    "study": ("reproduce small.toml --seeds 2 --out kept", "2 of 2 equal, in "),
    "evaluation": ("evaluate cubic --suite suite.toml --seeds 3 --out kept", " equal, "),
}


@pytest.fixture
def kept(request: pytest.FixtureRequest, fullpipe: Fullpipe, tmp_path: Path) -> Iterator[str]:
    """Makes kept results of a kind; returns what `verify` says of it."""
    import shlex

    (tmp_path / "base.toml").write_text(SCENARIO.replace("seed", EXPECT + "seed", 1))
    (tmp_path / "small.toml").write_text(GOOD)
    (tmp_path / "suite.toml").write_text(SMALL)
    command, said = KINDS[request.param]
    done = fullpipe(*shlex.split(command))
    assert done.returncode in (0, 1, 3), done.stderr
    # Elsewhere, without the files that the results were made from.
    (tmp_path / "elsewhere").mkdir()
    shutil.move(tmp_path / "kept", tmp_path / "elsewhere/moved")
    for file in tmp_path.glob("*.toml"):
        file.unlink()
    yield said


@pytest.mark.parametrize("kept", KINDS, indirect=True)
def test_results_of_each_kind_are_equal_at_another_place(kept: str, fullpipe: Fullpipe) -> None:
    done = fullpipe("verify", "elsewhere/moved")
    assert (done.returncode, done.stderr) == (0, "")
    assert kept in done.stdout
    told = json.loads(fullpipe("verify", "elsewhere/moved", "--json", "--threads", "1").stdout)
    assert told["equal"] == told["runs"] == told["of"]
    assert (told["difference"], told["not_repeated"]) == (None, [])


@pytest.mark.parametrize("kept", KINDS, indirect=True)
def test_a_changed_number_of_each_kind_is_found_and_named(
    kept: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    del kept
    value = _change(tmp_path / "elsewhere/moved")
    done = fullpipe("verify", "elsewhere/moved")
    assert done.returncode == 1, done.stdout
    (first,) = [line for line in done.stdout.splitlines() if line.startswith("first difference")]
    assert f"goodput_bps is {value}" in first
    assert "seed " in first
    told = json.loads(fullpipe("verify", "elsewhere/moved", "--json").stdout)
    assert told["equal"] == told["runs"] - 1
    assert told["difference"]["kept"] == value


def _change(directory: Path) -> float:
    """Adds a bit per second to one goodput of results, with right checksums; returns the new value."""
    unsummed(directory)
    for file in sorted(directory.rglob("*.parquet")):
        frame = pl.read_parquet(file)
        if "goodput_bps" in frame.columns and "cwnd" not in frame.columns:
            frame = frame.with_columns(
                pl.when(pl.int_range(pl.len()) == 0)
                .then(pl.col("goodput_bps") + 1)
                .otherwise("goodput_bps")
            )
            rewritten(file, frame)
            return float(frame["goodput_bps"][0])
    file = next(directory.rglob("metrics.json"))
    metrics = json.loads(file.read_text())
    metrics["flows"][0]["goodput_bps"] += 1
    file.write_text(json.dumps(metrics))
    return float(metrics["flows"][0]["goodput_bps"])


def test_rows_with_other_numbers_and_their_old_fingerprint_are_found(
    fullpipe: Fullpipe, scenario: Path, tmp_path: Path
) -> None:
    fullpipe("sweep", scenario.name, "--repeat", "2", "--trace", "off", "--out", "kept")
    file = tmp_path / "kept/sweep.json"
    about = json.loads(file.read_text())
    resealed(file, fingerprint="0" * 16)
    done = fullpipe("verify", "kept")
    assert done.returncode == 1
    assert f"the fingerprint of its rows is {'0' * 16}, and {about['fingerprint']}" in done.stdout


def test_a_changed_trace_is_found(fullpipe: Fullpipe, scenario: Path, tmp_path: Path) -> None:
    fullpipe("sweep", scenario.name, "--repeat", "2", "--trace", "100ms", "--out", "kept")
    (file,) = (tmp_path / "kept/series").glob("0-7-*.parquet")
    rewritten(file, pl.read_parquet(file).with_columns(pl.col("inflight") + 1))
    done = fullpipe("verify", "kept")
    assert done.returncode == 1
    assert "seed 7, row 0 of the trace flows: inflight is " in done.stdout
    assert "1 of 2 equal, 1 with its trace" in done.stdout


def test_changed_transfers_of_a_later_seed_are_found(fullpipe: Fullpipe, tmp_path: Path) -> None:
    fullpipe(
        *("sweep", "workload", "--duration", "3s", "--repeat", "2"),
        *("--trace", "transfers", "--out", "kept"),
    )
    done = fullpipe("verify", "kept")
    assert "2 of 2 equal, 2 with their traces" in done.stdout
    (file,) = (tmp_path / "kept/series").glob("0-2.transfers-*.parquet")
    rewritten(file, pl.read_parquet(file).with_columns(pl.col("completion") * 2))
    done = fullpipe("verify", "kept")
    assert done.returncode == 1
    assert "of the trace transfers: completion is " in done.stdout
    assert "seed 2, " in done.stdout


def test_a_sweep_has_one_fingerprint_for_any_threads_and_shards(
    fullpipe: Fullpipe, scenario: Path, tmp_path: Path
) -> None:
    words = ["sweep", scenario.name, "--buffer", "1bdp,2bdp", "--trace", "off"]

    def fingerprint(place: str) -> str:
        return str(json.loads((tmp_path / place / "sweep.json").read_text())["fingerprint"])

    fullpipe(*words, "--repeat", "4", "--out", "one", "--threads", "1")
    done = fullpipe(*words, "--repeat", "2", "--out", "two", "--threads", "2")
    assert f"fingerprint {fingerprint('two')}" in done.stdout
    assert fingerprint("two") != fingerprint("one")
    done = fullpipe(*words, "--repeat", "4", "--out", "two", "--json")
    assert fingerprint("two") == fingerprint("one")
    assert json.loads(done.stdout)[0]["fingerprint"] == fingerprint("one")
    assert len(list((tmp_path / "two/runs").iterdir())) > 1


def test_results_of_another_build_are_compared_all_the_same(
    fullpipe: Fullpipe, scenario: Path, tmp_path: Path
) -> None:
    fullpipe("sweep", scenario.name, "--trace", "off", "--out", "kept")
    file = tmp_path / "kept/sweep.json"
    resealed(file, build="0" * 16, commit="0123456789ab-dirty")
    done = fullpipe("verify", "kept")
    assert done.returncode == 0
    assert "commit 0123456789ab with changes, build 0000000000000000; this is " in done.stdout
    assert "1 of 1 equal" in done.stdout


def test_an_interrupted_sweep_is_compared_as_far_as_it_is(
    fullpipe: Fullpipe, scenario: Path, tmp_path: Path
) -> None:
    words = ["sweep", scenario.name, "--trace", "off", "--out", "kept"]
    fullpipe(*words, "--repeat", "2")
    (one,) = (tmp_path / "kept/runs").iterdir()
    assert fullpipe(*words, "--repeat", "6").returncode == 0
    about = json.loads((tmp_path / "kept/sweep.json").read_text())
    for file in (tmp_path / "kept/runs").iterdir():
        if file != one:
            file.unlink()
    write_json(tmp_path / "kept/sweep.json", about)
    resealed(tmp_path / "kept/sweep.json", fingerprint=None)
    done = fullpipe("verify", "kept")
    assert (done.returncode, done.stderr) == (0, "")
    assert "kept has 2 of its 6 runs: it was interrupted" in done.stdout
    assert "2 of 2 equal" in done.stdout


def test_own_code_that_is_missing_or_another_is_told(
    fullpipe: Fullpipe, scenario: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(MINE.replace("WINDOW", "10"))
    words = ["sweep", scenario.name, "--cc", "mine.py:Fixed", "--trace", "off", "--out", "kept"]
    assert fullpipe(*words).returncode == 0
    assert "1 of 1 equal" in fullpipe("verify", "kept").stdout
    (tmp_path / "mine.py").write_text(MINE.replace("WINDOW", "20"))
    done = fullpipe("verify", "kept")
    assert done.returncode == 1
    assert "the code of mine:Fixed is another than that of the kept runs" in done.stdout
    (tmp_path / "mine.py").unlink()
    done = fullpipe("verify", "kept")
    assert done.returncode == 2
    assert "kept: not repeated: " in done.stderr
    assert "mine" in done.stderr
    copy = "--plugin kept/code/mine.py:Fixed"
    assert f"  fix: load the kept copy: {copy}" in done.stderr
    done = fullpipe("verify", "kept", *copy.split())
    assert done.returncode == 0, done.stderr
    assert "1 of 1 equal" in done.stdout
    assert "the code of" not in done.stdout
    done = fullpipe("sweep", "kept")
    assert done.returncode == 2
    assert f"  fix: load the kept copy: {copy}" in done.stderr
    done = fullpipe("sweep", "kept", "--repeat", "2")
    assert done.returncode == 2
    assert done.stderr.startswith("error: kept: there is no module mine")
    assert f"  fix: load the kept copy: {copy}" in done.stderr
    assert "nothing to run" in fullpipe("sweep", "kept", *copy.split()).stdout


def test_runs_on_a_clock_are_named_and_not_repeated(fake: Path, fullpipe: Fullpipe) -> None:
    (fake / "base.toml").write_text(SCENARIO)
    write_own_runners(fake)
    words = ["sweep", "base.toml", "--on", "sim,own_runners:Timed", "--trace", "off"]
    assert fullpipe(*words, "--out", "kept").returncode == 0
    rows = pl.concat(
        [pl.read_parquet(each) for each in (fake / "kept/runs").iterdir()], how="diagonal_relaxed"
    )
    clocked = rows.filter(pl.col("runner") == "timed")
    assert clocked["fingerprint"].null_count() == clocked.height
    assert json.loads((fake / "kept/sweep.json").read_text())["fingerprint"]
    done = fullpipe("verify", "kept")
    assert "1 of 1 equal" in done.stdout
    assert "not repeated: kept: " in done.stdout
    assert "timed" in done.stdout


def test_a_runner_of_the_users_is_named_again(fake: Path, fullpipe: Fullpipe) -> None:
    (fake / "base.toml").write_text(SCENARIO)
    on = ["--on", "own_runners:Fake"]
    words = ["sweep", "base.toml", "--on", "sim,own_runners:Fake", "--repeat", "2", "--out", "kept"]
    assert fullpipe(*words).returncode == 0
    assert fullpipe("run", "base.toml", *on, "--out", "one").returncode == 0
    assert fullpipe("check", "base.toml", *on, "--out", "checked").returncode in (0, 3)
    for words in (["verify", "kept"], ["verify", "one"], ["verify", "checked"], ["sweep", "kept"]):
        done = fullpipe(*words)
        assert done.returncode == 2
        assert "no class of yours with this name is loaded" in done.stderr
        assert "  fix: name the class: --on my.module:MyRunner" in done.stderr
        done = fullpipe(*words, *on)
        assert done.returncode == 0, done.stderr
        assert "equal" in done.stdout or words[0] == "sweep"
    assert fullpipe("sweep", "kept", *on, "--repeat", "3").returncode == 0
    done = fullpipe("verify", "kept", *on)
    assert "6 of 6 equal, 2 with their traces" in done.stdout
    for command, name, said in (
        ("verify", "sim", "--on sim: kept has its runners already"),
        ("sweep", "fake", "--on fake: kept has its runners already"),
        ("sweep", "own_runners:Other", "--on: kept has no runs on other, but on sim, fake"),
    ):
        done = fullpipe(command, "kept", "--on", name)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    # The same run differs on both: each is named.
    for file in (fake / "kept/runs").iterdir():
        rewritten(file, pl.read_parquet(file).with_columns(pl.col("goodput_bps") + 1))
    done = fullpipe("verify", "kept", *on)
    assert "0 of 6 equal" in done.stdout
    assert "kept, on sim, " in done.stdout


def test_a_measurement_and_an_empty_directory_are_refused(
    fullpipe: Fullpipe, scenario: Path, tmp_path: Path
) -> None:
    fullpipe("run", scenario.name, "--trace", "off", "--out", "kept")
    (tmp_path / "kept/SHA256SUMS").unlink()
    (tmp_path / "kept/measured.json").write_text('{"command": "fullpipe link"}')
    done = fullpipe("verify", "kept")
    assert done.returncode == 2
    assert "measured packets instead of a run" in done.stderr
    (tmp_path / "empty").mkdir()
    for name, why in (("empty", "no results"), ("none", "no such directory")):
        done = fullpipe("verify", name)
        assert done.returncode == 2
        assert f"error: {name}: {why}" in done.stderr


def test_a_sample_is_always_the_same_and_spread_over_the_points() -> None:
    groups = [[point + 10 * seed for seed in range(30)] for point in range(10)]
    few, many = chosen(groups, 4), chosen(groups, 25)
    assert few == chosen(groups, 4)
    assert [len(each) for each in few] == [1, 0, 1, 0, 0, 1, 0, 1, 0, 0]
    assert sorted(map(len, many)) == [2] * 5 + [3] * 5
    assert len({run // 10 for each in many for run in each}) > 10  # seeds
    assert all(each == sorted(each) for each in many)
    assert chosen(groups, 1000) == chosen(groups, None) == groups


def test_a_sample_of_a_sweep_says_so(fullpipe: Fullpipe, scenario: Path) -> None:
    words = ["--buffer", "1bdp,2bdp", "--repeat", "5", "--trace", "off", "--out", "kept"]
    fullpipe("sweep", scenario.name, *words)
    done = fullpipe("verify", "kept", "--sample", "3")
    assert done.returncode == 0
    assert "3 of 3 equal, a sample of 10 runs, fingerprint " in done.stdout


def test_a_class_of_a_program_of_the_users_is_refused(
    fullpipe: Fullpipe, scenario: Path, tmp_path: Path
) -> None:
    code = MINE.replace("WINDOW", "10")
    made: dict[str, type] = {}
    exec(code, made)  # a class of no module
    package.sweep(
        scenario, cc="mine", controllers={"mine": made["Fixed"]}, trace="off", out=tmp_path / "kept"
    )
    done = fullpipe("verify", "kept")
    assert done.returncode == 2
    assert "kept: not repeated: " in done.stderr
    assert '"mine"' in done.stderr


def test_a_fleet_is_refused(fullpipe: Fullpipe) -> None:
    words = ["--cc", "cubic,bbr1", "--paths", "1", "--out", "paths"]
    assert fullpipe("fleet", "simulate", *words).returncode == 0
    done = fullpipe("verify", "paths")
    assert (done.returncode, done.stdout) == (2, "")
    assert "paths: not repeated: a fleet directory: its rows are no runs" in done.stderr
