"""Sweeps: points, repetitions, the data set, and the rest of a killed one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import fullpipe as package
from fullpipe.errors import DamagedError
from fullpipe.results import write_shard
from fullpipe.results.sums import stem, write_json
from fullpipe.study import spec as sweep_spec
from fullpipe.study.sweeps.store import SweepStore, plain

if TYPE_CHECKING:
    from conftest import Fullpipe

BASE = """\
# Two flows, half a second
duration = "500ms"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
[[flow]]
cc = "bbr1"
"""
WORKLOAD = """\
[[workload]]
cc = "cubic"
name = "web"
model = "lognormal median 10kB sigma 2 max 200kB"
load = 0.2
stop = "400ms"
"""
# 16 runs of it are about a second of work.
LONG = BASE.replace('"500ms"', '"5s"').replace("10mbit", "1gbit")
# The command with shards of a few runs.
SHORT_SHARDS = """\
import fullpipe.study.sweeps.execute
from fullpipe.commands import main
fullpipe.study.sweeps.execute.SHARD_S = 0.05
main()
"""
# The same with a slow disk, so that there is time to kill it.
SLOW_DISK = """\
import time
from fullpipe.study.sweeps.store import SweepStore
add = SweepStore.add
SweepStore.add = lambda *given, **named: (add(*given, **named), time.sleep(0.5))
"""
BUFFERS = "path.buffer=0.5bdp,1bdp,8bdp"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "base.toml"
    path.write_text(BASE)
    return path


def test_a_row_a_flow_and_run_with_all_metrics_and_what_was_varied(
    base: Path, tmp_path: Path
) -> None:
    axes = {"path.buffer": ["0.5bdp", "8bdp"], "flow.0.cc": ["cubic", "bbr3"]}
    sweep = package.sweep(base, axes, repeat=3, out=tmp_path / "out")
    frame = sweep.frame()
    assert frame.shape[0] == 2 * 2 * 3 * 2
    assert frame["point"].to_list() == [point for point in range(4) for _ in range(6)]
    assert frame.filter(point=1).select("path.buffer", "flow.0.cc").unique().rows() == [
        ("0.5bdp", "bbr3")
    ]
    assert frame["path.buffer.value"].unique().sort().to_list() == [0.5, 8.0]
    assert "flow.0.cc.value" not in frame.columns
    assert set(frame["version"]) == {package.__version__}
    for row in frame.iter_rows(named=True):
        run = package.run(sweep.load(row["point"], seed=row["seed"]))
        flow, link = run.flow_metrics[row["flow_index"]], run.link_metrics[0]
        assert (row["flow"], row["cc"], row["jain"]) == (
            flow["name"],
            flow["cc"],
            run.metrics["jain"],
        )
        assert row["goodput_bps"] == flow["goodput_bps"]
        assert row["rtt_s.p95"] == flow["rtt_s"]["p95"]
        assert row["limited_by.cwnd"] == flow["limited_by"]["cwnd"]
        assert row["retransmits"] == flow["retransmits"]
        assert row["completion_s"] is None
        assert row["link.bottleneck.queue_delay_s.mean"] == link["queue_delay_s"]["mean"]
        assert row["packets"] == run.metrics["packets"]


def test_every_metric_of_a_flow_and_link_has_its_column(base: Path, tmp_path: Path) -> None:
    sweep = package.sweep(base, {"path.rtt": ["20ms"]}, out=tmp_path / "out")
    columns = sweep.frame().columns
    run = package.run(base)

    def names(metrics: object, at: str) -> list[str]:
        if not isinstance(metrics, dict):
            return [at]
        return [
            name
            for key, value in metrics.items()
            for name in names(value, f"{at}.{key}" if at else key)
        ]

    wanted = [*names(run.flow_metrics[0], ""), *names(run.link_metrics[0], "link.bottleneck")]
    missing = (
        {*wanted, "jain", "packets", "events"} - {"name", "link.bottleneck.name"} - set(columns)
    )
    assert not missing


def test_the_command_says_what_it_did_and_goes_on_where_it_was(
    fullpipe: Fullpipe, base: Path, tmp_path: Path
) -> None:
    def sweep(*more: str) -> str:
        done = fullpipe("sweep", base.name, "--set", BUFFERS, "--out", "out", *more)
        assert done.returncode == 0, done.stderr
        assert max(len(line) for line in done.stdout.splitlines()) <= 80
        return done.stdout

    first = sweep("--repeat", "2")
    assert "base.toml: 3 points × 2 seeds" in first
    assert "jitter added so that repetitions differ: send_jitter 1.2ms, start_jitter 20ms" in first
    assert "6 runs," in first
    rows = package.Sweep(tmp_path / "out").frame()
    assert "nothing to run; 6 runs were already finished" in sweep("--repeat", "2")
    assert "6 runs were already finished" in sweep("--repeat", "4")
    more = package.Sweep(tmp_path / "out")
    assert more.seeds == [1, 2, 3, 4]
    assert_frame_equal(more.frame().filter(pl.col("seed") <= 2), rows)
    assert more.frame().shape[0] == 3 * 4 * 2


def test_without_out_the_same_call_finds_its_directory_again(
    fullpipe: Fullpipe, base: Path
) -> None:
    kept = [fullpipe("sweep", base.name, "--repeat", "2").stdout.splitlines()[-1] for _ in range(2)]
    assert kept[0] == kept[1]
    assert kept[0].startswith("kept in results/base-")
    assert (
        fullpipe("sweep", base.name, "--repeat", "2", "--seed", "9").stdout.splitlines()[-1]
        != kept[0]
    )


def test_a_row_is_replayed_by_its_command(fullpipe: Fullpipe, base: Path, tmp_path: Path) -> None:
    fullpipe("sweep", base.name, "--set", BUFFERS, "--repeat", "2", "--out", "out")
    sweep = package.Sweep(tmp_path / "out")
    row = sweep.frame().row(
        by_predicate=(pl.col("point") == 2) & (pl.col("seed") == 2) & (pl.col("flow_index") == 1),
        named=True,
    )
    command = package.Sweep("out").replay if (Path("out") / "sweep.json").exists() else sweep.replay
    words = command(2, 2).split()
    assert words[0] == "fullpipe"
    done = fullpipe(*words[1:], "--json")
    assert json.loads(done.stdout)["flows"][1]["goodput_bps"] == row["goodput_bps"]
    with pytest.raises(IndexError, match="has points 0 to 2, but not 3"):
        sweep.replay(3, 1)
    assert "choose one of its points, like --point 0" in fullpipe("run", "out").stderr
    assert (
        "--point 1 needs the directory of a sweep"
        in fullpipe("run", base.name, "--point", "1").stderr
    )


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_what_is_killed_goes_on_and_has_every_row_once(how: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    sweep = [
        "sweep",
        "long.toml",
        "--set",
        "flow.1.cc=cubic,bbr1",
        "--repeat",
        "8",
        "--out",
        "out",
        "--trace",
        "off",
    ]
    call = [sys.executable, "-c", SHORT_SHARDS, *sweep, "--threads", "1"]
    slowly = [*call[:2], SLOW_DISK + SHORT_SHARDS, *call[3:]]
    process = subprocess.Popen(
        slowly, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list((tmp_path / "out").glob("runs/[0-9]*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(how)
    _, said = process.communicate(timeout=20)
    assert process.returncode == (-9 if how == signal.SIGKILL else 128 + how)
    before = package.Sweep(tmp_path / "out").frame()
    assert 0 < len(before) < 32
    if how != signal.SIGKILL:
        assert "finished runs are kept in out; the same command resumes there" in said
    again = subprocess.run(
        call, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert again.returncode == 0, again.stderr
    assert f"{len(before) // 2} runs were already finished" in again.stdout
    frame = package.Sweep(tmp_path / "out").frame()
    assert frame.select("point", "seed", "flow_index").unique().shape[0] == len(frame) == 2 * 8 * 2
    whole = package.sweep(
        tmp_path / "long.toml",
        {"flow.1.cc": ["cubic", "bbr1"]},
        repeat=8,
        out=tmp_path / "whole",
        trace="off",
    )
    assert_frame_equal(frame, whole.frame())


def test_only_one_process_fills_a_directory(
    command: list[str], fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "long.toml").write_text(LONG.replace('"5s"', '"1000s"'))
    call = ["sweep", "long.toml", "--repeat", "2", "--out", "out", "--trace", "off"]
    with subprocess.Popen([*command, *call], cwd=tmp_path, stderr=subprocess.DEVNULL) as first:
        deadline = time.monotonic() + 60
        while not (tmp_path / "out/.lock").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
        second = fullpipe(*call)
        first.kill()
    assert second.returncode == 2
    assert "another process is adding to it" in second.stderr


def test_another_sweep_or_build_is_not_mixed_in(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package.sweep(base, {"path.rtt": ["10ms", "20ms"]}, out=tmp_path / "out")
    with pytest.raises(
        FileExistsError, match="holds a sweep of a different scenario or different points"
    ):
        package.sweep(base, {"path.rtt": ["10ms", "30ms"]}, out=tmp_path / "out")
    with pytest.raises(FileExistsError, match="exists already"):
        package.sweep(base, out=tmp_path)
    commented = base.with_name("commented.toml")
    commented.write_text(f"{BASE}# comments decide nothing\n")
    package.sweep(commented, {"path.rtt": ["10ms", "20ms"]}, out=tmp_path / "out")
    for module in ("fullpipe.study.spec", "fullpipe.study.store"):
        monkeypatch.setattr(f"{module}.build", lambda: "0123456789abcdef")
    with pytest.raises(FileExistsError, match="by a different build of fullpipe"):
        package.sweep(base, {"path.rtt": ["10ms", "20ms"]}, out=tmp_path / "out")


def test_a_file_that_the_scenario_names_is_part_of_it(tmp_path: Path) -> None:
    scenario, losses = tmp_path / "base.toml", tmp_path / "losses.txt"
    scenario.write_text(BASE.replace("[path]", '[path]\nloss = "list file losses.txt"'))
    losses.write_text("10\n11\n")
    sweep = package.sweep(scenario, {"path.rtt": ["10ms", "20ms"]}, out=tmp_path / "out")
    losses.write_text("12\n")
    assert sweep.frame().filter(pl.col("drops") >= 2).height > 0
    assert (
        package.run(sweep.load(0)).flow_metrics[0]["goodput_bps"] == sweep.frame()["goodput_bps"][0]
    ), "the sweep does not read the file again"
    with pytest.raises(FileExistsError, match="of a different scenario"):
        package.sweep(scenario, {"path.rtt": ["10ms", "20ms"]}, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--set", "flow.0.cc=cubic,qubic"],
            "point 1 of 2 (flow.0.cc=qubic): no algorithm of this name",
        ),
        (["--set", "path.rtt=1ms..10ms"], "a range needs --sample"),
        (
            [
                "--set",
                "start_jitter=0s",
                "--set",
                "send_jitter=0s",
                "--set",
                "flow.1.cc=cubic",
                "--repeat",
                "3",
            ],
            "every repetition would be the same run",
        ),
        (
            ["--zip", "path.rate,path.rtt", "--set", "path.rate=1mbit,2mbit"],
            "is zipped with other keys, but has no values",
        ),
        (["--set", "path.buffer"], "not KEY=VALUE"),
        (["--trace", "often"], "neither a level nor an interval"),
    ],
)
def test_nothing_is_run_when_something_is_wrong(
    arguments: list[str], words: str, fullpipe: Fullpipe, base: Path, tmp_path: Path
) -> None:
    done = fullpipe("sweep", base.name, "--out", "out", *arguments)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


def test_values_with_commas_stand_in_quotes(fullpipe: Fullpipe, base: Path, tmp_path: Path) -> None:
    setting = 'flow.0.app_schedule="100ms 1mbit, 300ms unlimited","200ms pause"'
    done = fullpipe("sweep", base.name, "--set", setting, "--out", "out")
    assert done.returncode == 0, done.stderr
    sweep = package.Sweep(tmp_path / "out")
    assert sweep.axes == {"flow.0.app_schedule": ["100ms 1mbit, 300ms unlimited", "200ms pause"]}
    assert [plain(text) for text in ('"a, b"', "'a'", "8bdp")] == ["a, b", "a", "8bdp"]


def test_samples_and_functions_make_points(base: Path, tmp_path: Path) -> None:
    drawn = package.sweep(
        base,
        {"path.rtt": "5ms..50ms log", "flow.0.cc": ["cubic", "bbr1"]},
        sample=20,
        out=tmp_path / "drawn",
    )
    assert drawn.about["mode"] == "sample"
    assert drawn.points["path.rtt.value"].is_between(0.005, 0.05).all()
    assert drawn.points["path.rtt"].n_unique() == 20

    def points() -> list[dict[str, str]]:
        return [
            {"path.rate": f"{rate}mbit", "path.rtt": f"{200 // rate}ms"} for rate in (5, 10, 20)
        ]

    made = package.sweep(base, points, out=tmp_path / "made")
    assert made.about["mode"] == "callable"
    assert made.points.select("path.rate.value", "path.rtt.value").rows() == [
        (5e6, 0.04),
        (1e7, 0.02),
        (2e7, 0.01),
    ]


def test_few_points_are_recorded_over_time(base: Path, tmp_path: Path) -> None:
    sweep = package.sweep(base, {"path.rtt": ["10ms", "20ms"]}, repeat=2, out=tmp_path / "out")
    flows, links = sweep.series(1), sweep.series(1, "links")
    traced = package.run(sweep.load(1), trace="100us")
    assert flows.columns == traced.trace().columns
    assert set(links["link"]) == {"bottleneck"}
    assert {file.name.rpartition("-")[0] for file in (tmp_path / "out/series").iterdir()} == {
        f"{run}{table}"
        for run in ("0-1", "1-1")
        for table in ("", ".links", ".queues", ".transitions")
    }
    quiet = package.sweep(
        base, {"path.rtt": ["10ms", "20ms"]}, repeat=2, trace="off", out=tmp_path / "quiet"
    )
    with pytest.raises(FileNotFoundError):
        quiet.series(0)


def test_what_reads_parquet_opens_it(base: Path, tmp_path: Path) -> None:
    package.sweep(base, {"path.rtt": ["10ms", "20ms"]}, repeat=2, out=tmp_path / "out")
    assert pl.read_parquet(tmp_path / "out/runs/*.parquet").shape[0] == 8
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    counted = duckdb.sql(f"select count(*) from '{tmp_path}/out/runs/*.parquet'")
    assert counted.fetchall() == [(8,)]


def test_the_build_is_part_of_the_identity(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = sweep_spec.SweepSpec(BASE, "base.toml", repeat=3)
    assert sweep_spec.SweepSpec(BASE, "base.toml", repeat=5).identity == spec.identity
    assert sweep_spec.SweepSpec(BASE, "base.toml", repeat=1).identity != spec.identity, (
        "one run has no jitter added"
    )
    assert sweep_spec.SweepSpec(BASE, "base.toml", repeat=3, seed=2).identity != spec.identity
    monkeypatch.setattr(sweep_spec, "build", lambda: "0123456789abcdef")
    assert sweep_spec.SweepSpec(BASE, "base.toml", repeat=3).identity != spec.identity
    assert len(os.listdir(base.parent)) == 1, "nothing is written"  # noqa: PTH208


@pytest.mark.parametrize("same", [True, False])
def test_another_process_may_begin_in_the_same_new_directory(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same: bool
) -> None:
    make, out = SweepStore._make, tmp_path / "out"
    others = ["10ms", "20ms"] if same else ["30ms"]

    def late(self: SweepStore, aside: Path) -> None:
        monkeypatch.setattr(SweepStore, "_make", make)
        package.sweep(base, {"path.rtt": others}, out=out)
        make(self, aside)

    monkeypatch.setattr(SweepStore, "_make", late)
    if same:
        assert package.sweep(base, {"path.rtt": ["10ms", "20ms"]}, out=out).frame().height == 4
    else:
        with pytest.raises(FileExistsError, match="holds a sweep of a different scenario"):
            package.sweep(base, {"path.rtt": ["10ms", "20ms"]}, out=out)
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_a_damaged_shard_is_made_again_and_nothing_else(base: Path, tmp_path: Path) -> None:
    def run() -> package.Sweep:
        return package.sweep(base, {"path.rtt": ["10ms", "20ms"]}, repeat=3, out=tmp_path / "out")

    whole = run().frame()
    (shard,) = (tmp_path / "out/runs").iterdir()
    content = shard.read_bytes()
    series = sorted((tmp_path / "out/series").iterdir())
    for damaged in (content[:100], b"", content.replace(b"PAR1", b"PAR2", 1)):
        shard.write_bytes(damaged)
        with pytest.raises(DamagedError, match=f"{shard.name}: damaged: its checksum is another"):
            package.Sweep(tmp_path / "out").frame()
        before = {file: file.stat().st_mtime_ns for file in series}
        assert run().frame().equals(whole)
        assert shard.read_bytes() == content
        assert before == {file: file.stat().st_mtime_ns for file in series}
    series[0].write_bytes(b"PAR1")
    (tmp_path / "out/points.parquet").write_bytes(b"PAR1")
    (tmp_path / "out/sweep.json").write_text("{}")
    assert run().frame().equals(whole)
    assert sorted((tmp_path / "out/series").iterdir()) == series
    assert package.Sweep(tmp_path / "out").series(0).height > 100
    assert package.Sweep(tmp_path / "out").points["path.rtt"].to_list() == ["10ms", "20ms"]


def test_runs_are_written_about_once_a_second(base: Path, tmp_path: Path) -> None:
    settings = {"duration": "20s", "path.rate": "1gbit"}
    begun, out = time.monotonic(), tmp_path / "out"
    package.sweep(base, {"path.rtt": ["20ms"]}, repeat=14, set=settings, threads=1, out=out)
    took = time.monotonic() - begun
    written = len(list((out / "runs").iterdir()))
    assert written >= max(2, took / 4), "a shard has about a second of work, or a single run"


TRACED = """\
duration = "2s"
measure_from = "500ms"
[path]
rate_pattern = "mahimahi file up.trace"
rtt = "20ms"
buffer = "20packets"
[[flow]]
cc = "cubic"
"""


def test_all_files_of_a_data_set_have_the_same_columns(
    fullpipe: Fullpipe, base: Path, tmp_path: Path
) -> None:
    for repeat in ("2", "4"):
        done = fullpipe("sweep", base.name, "--set", BUFFERS, "--out", "out", "--repeat", repeat)
        assert done.returncode == 0, done.stderr
    runs = tmp_path / "out/runs"
    first, _ = sorted(runs.glob("*.parquet"))
    rows = package.Sweep(tmp_path / "out").frame()

    def written_without_a_column(file: Path) -> None:
        few = pl.read_parquet(file).drop("completion_s")
        assert write_shard(few, runs, stem(file)) != file

    written_without_a_column(first)  # as if only later runs had this number
    first.unlink()
    assert "nothing to run" in fullpipe("sweep", "out").stdout
    files = sorted(runs.glob("*.parquet"))
    assert len(files) == 2
    assert pl.read_parquet_schema(files[0]) == pl.read_parquet_schema(files[1])
    assert_frame_equal(package.Sweep(tmp_path / "out").frame(), rows, check_column_order=False)
    assert "12 of 12 equal" in fullpipe("verify", "out").stdout

    written_without_a_column(files[1])  # as a process that was killed before it removed the other
    assert len(list(runs.glob("*.parquet"))) == 3
    assert_frame_equal(package.Sweep(tmp_path / "out").frame(), rows, check_column_order=False)
    assert "nothing to run" in fullpipe("sweep", "out").stdout
    assert len(list(runs.glob("*.parquet"))) == 2


def test_repetitions_begin_at_places_of_a_trace(fullpipe: Fullpipe, tmp_path: Path) -> None:
    """The first second of the trace has a tenth of the opportunities of the second one."""
    times = [*range(10, 1_001, 10), *range(1_001, 2_001)]
    (tmp_path / "up.trace").write_text("".join(f"{at}\n" for at in times))
    text = TRACED.replace("2s", "500ms").replace('500ms"\n[', '100ms"\n[')
    goodputs = {}
    for begin in ("", " from 1s", " from random"):
        (tmp_path / "traced.toml").write_text(text.replace("up.trace", f"up.trace{begin}"))
        out = f"kept{begin.replace(' ', '-')}"
        done = fullpipe("sweep", "traced.toml", "--repeat", "12", "--out", out)
        assert done.returncode == 0, done.stderr
        goodputs[begin] = (package.Sweep(tmp_path / out).frame()["goodput_bps"] / 1e6).to_list()
    assert max(goodputs[""]) < 1.3 < 5 < min(goodputs[" from 1s"])
    drawn = goodputs[" from random"]
    assert min(drawn) < 1.3 < 5 < max(drawn), "repetitions see different parts"
    assert len(set(drawn)) > 4
    assert fullpipe("verify", "kept-from-random").returncode == 0


def test_a_directory_alone_goes_on_at_another_place_without_its_files(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "up.trace").write_text("".join(f"{at}\n" for at in range(1, 200, 2)))
    (tmp_path / "traced.toml").write_text(TRACED)
    words = ["traced.toml", "--buffer", "20packets,40packets", "--trace", "100ms", "--out", "kept"]
    done = fullpipe("sweep", *words, "--repeat", "3")
    assert done.returncode == 0, done.stderr
    moved = tmp_path / "elsewhere/moved"
    moved.parent.mkdir()
    (tmp_path / "kept").rename(moved)
    for name in ("up.trace", "traced.toml"):
        (tmp_path / name).unlink()
    once = json.loads((moved / "sweep.json").read_text())
    finished = fullpipe("sweep", "elsewhere/moved")
    assert finished.returncode == 0, finished.stderr
    assert "nothing to run; 6 runs were already finished" in finished.stdout
    rows = package.Sweep(moved).frame()
    # Killed: neither rows nor traces.
    for file in [*(moved / "runs").iterdir(), *(moved / "series").iterdir()]:
        file.unlink()
    done = fullpipe("sweep", "elsewhere/moved", "--threads", "1")
    assert done.returncode == 0, done.stderr
    assert f"fingerprint {once['fingerprint']}" in done.stdout
    assert json.loads((moved / "sweep.json").read_text()) == once
    assert package.Sweep(moved).frame().equals(rows)
    assert package.Sweep(moved).trace(point=1).height > 10
    more = fullpipe("sweep", "elsewhere/moved", "--repeat", "4")
    assert "2 runs, " in more.stdout
    assert package.Sweep(moved).seeds == [1, 2, 3, 4]
    about = json.loads((moved / "sweep.json").read_text())
    for key in ("command", "mode", "axes", "zip", "added_jitter", "trace"):
        assert about[key] == once[key], key
    verified = fullpipe("verify", "elsewhere/moved")
    assert "8 of 8 equal, 2 with their traces" in verified.stdout


def test_a_directory_takes_no_option_that_changes_it(fullpipe: Fullpipe, scenario: Path) -> None:
    assert fullpipe("sweep", scenario.name, "--repeat", "2", "--out", "kept").returncode == 0
    for words in ([], ["--repeat", "2"], ["--repeat", "3"], ["--threads", "1"]):
        done = fullpipe("sweep", "kept", *words)
        assert done.returncode == 0, done.stderr
    for words, said in (
        (["--rate", "5mbit"], "the option of path.rate: kept is a kept sweep"),
        (["--set", "seed=3"], "--set: kept is a kept sweep"),
        (["--out", "other"], "--out: kept is a kept sweep"),
        (["--repeat", "1"], "--repeat 1: kept has 3 seeds"),
    ):
        done = fullpipe("sweep", "kept", *words)
        assert done.returncode == 2
        assert said in done.stderr
        assert "  fix: " in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("level", ["100ms", "100ms transfers", "off"])
def test_a_directory_keeps_its_trace_level_from_the_beginning(
    fullpipe: Fullpipe, tmp_path: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_given: object, **_named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    base = tmp_path / "base.toml"
    base.write_text(BASE + WORKLOAD)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(SweepStore, "add", stop)
        package.sweep(base, repeat=2, trace=level, out="kept")

    def kept() -> str:
        return str(json.loads((tmp_path / "kept/sweep.json").read_text())["trace"])

    def recorded() -> int:
        return len(list((tmp_path / "kept").glob("series/*.parquet")))

    assert kept() == level
    assert fullpipe("sweep", "kept").returncode == 0
    once = recorded()
    assert (kept(), bool(once)) == (level, level != "off")
    assert fullpipe("sweep", "kept", "--repeat", "3").returncode == 0
    assert (kept(), recorded()) == (level, once + ("transfers" in level))
    assert ("3 with" if "transfers" in level else "3 of 3 equal") in fullpipe(
        "verify", "kept"
    ).stdout


def test_a_directory_of_another_build_is_shown_and_does_not_go_on(
    fullpipe: Fullpipe, scenario: Path, tmp_path: Path
) -> None:
    words = ["--repeat", "2", "--trace", "off", "--out", "kept"]
    assert fullpipe("sweep", scenario.name, *words).returncode == 0
    file = tmp_path / "kept/sweep.json"
    about = json.loads(file.read_text())
    for shard in (tmp_path / "kept/runs").iterdir():
        shard.rename(shard.with_name(shard.name.replace(about["identity"], "1" * 16)))
    del about["checksum"]
    other = {**about, "identity": "1" * 16, "build": "0" * 16}
    write_json(file, other)
    done = fullpipe("sweep", "kept")
    assert done.returncode == 0, done.stderr
    assert "finished; made by fullpipe " in done.stdout
    assert "build 0000000000000000, and this is" in done.stdout
    del other["fingerprint"]
    write_json(file, other)
    done = fullpipe("sweep", "kept")
    assert done.returncode == 2
    assert "which is a different build of fullpipe" in done.stderr
    assert "fix: fullpipe verify kept tells" in done.stderr
