"""The command: what it prints, what it keeps, how it fails."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fullpipe as package
from conftest import LONG, SCENARIO
from fullpipe import _core

if TYPE_CHECKING:
    from conftest import Fullpipe

ROOT = Path(__file__).parents[2]


def test_help_needs_nothing_slow() -> None:
    slow = {"numpy", "polars", "matplotlib", "rich"}
    check = (
        f"import sys, fullpipe.cli; sys.exit(str({slow!r} & set(sys.modules)) if {slow!r} & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_help_and_version(fullpipe: Fullpipe) -> None:
    assert "run" in fullpipe("--help").stdout
    assert fullpipe("--version").stdout == f"fullpipe {package.__version__}\n"


def test_json_is_one_object_of_the_agreed_shape(fullpipe: Fullpipe, scenario: Path) -> None:
    done = fullpipe("run", scenario.name, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    metrics = json.loads(done.stdout)
    assert {"seed", "duration_s", "flows", "links", "jain", "packets", "events", "trace_hash"} <= set(metrics)
    flow, link = metrics["flows"][0], metrics["links"][0]
    assert {
        *("name", "cc", "goodput_bps", "rtt_s", "queue_delay_s", "retransmits", "loss_fraction", "completion_s"),
        "limited_by",
    } <= set(flow)
    assert {"min", "mean", "p50", "p95", "p99", "max"} <= set(flow["rtt_s"])
    assert {"mean", "p50", "p95", "p99", "max"} <= set(flow["queue_delay_s"])
    assert sum(flow["limited_by"].values()) == pytest.approx(1)
    assert {"name", "utilisation", "queue_delay_s", "drops", "marks"} <= set(link)
    assert metrics == package.run(scenario).metrics


def test_json_names_the_trace(fullpipe: Fullpipe, scenario: Path) -> None:
    assert json.loads(fullpipe("run", scenario.name, "--json").stdout)["trace_hash"] is None
    traced = json.loads(fullpipe("run", scenario.name, "--json", "--trace", "10ms").stdout)
    assert traced["trace_hash"] == package.run(scenario, trace="10ms").trace_hash


def test_a_table_fits_80_columns_and_names_the_seed(fullpipe: Fullpipe, scenario: Path) -> None:
    for flows in ("1", "30"):
        done = fullpipe("run", scenario.name, "--seed", "5", "--set", f"flow.1.count={flows}")
        assert done.returncode == 0, done.stderr
        assert max(len(line) for line in done.stdout.splitlines()) <= 80
        assert "seed 5" in done.stdout
        assert "cubic" in done.stdout
        assert "bottleneck" in done.stdout
        assert "Two flows" in done.stdout


def test_out_keeps_scenario_metrics_trace_and_picture(fullpipe: Fullpipe, scenario: Path, tmp_path: Path) -> None:
    done = fullpipe("run", scenario.name, "--out", "kept", "--set", "path.rate=5mbit", "--json")
    assert done.returncode == 0, done.stderr
    kept = tmp_path / "kept"
    metrics = json.loads((kept / "metrics.json").read_text())
    assert metrics == json.loads(done.stdout)
    assert len(metrics["trace_hash"]) == 16
    assert (kept / "scenario.toml").read_text() == SCENARIO
    assert 'rate = "5mbit"' in (kept / "resolved.toml").read_text()
    assert (kept / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert (kept / "trace.parquet").stat().st_size > 1000


def test_out_without_trace_keeps_the_metrics(fullpipe: Fullpipe, scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()  # an empty directory is as good as none
    assert fullpipe("run", scenario.name, "--out", "kept", "--trace", "off").returncode == 0
    assert {file.name for file in (tmp_path / "kept").iterdir()} == {"scenario.toml", "resolved.toml", "metrics.json"}


def test_results_are_never_overwritten(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "precious").write_text("mine")
    done = fullpipe("run", "long.toml", "--out", "kept")  # fails at once: the run would take long
    assert done.returncode == 2
    assert "kept exists already" in done.stderr
    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["precious"]


def test_an_unwritable_directory_is_seen_before_the_run(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    (tmp_path / "file").write_text("")
    done = fullpipe("run", "long.toml", "--out", "file/kept")
    assert done.returncode == 2
    assert "file/kept can't be written" in done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["run", "nothing.toml"], "nothing.toml: No such file"),
        (["run", "."], "Is a directory"),
        (["run", "short.toml", "--set", "path.rate=0mbit"], "path.rate"),
        (["run", "short.toml", "--set", "path.rate=20"], "--set path.rate=20"),
        (["run", "short.toml", "--set", "path.rates=20mbit"], "did you mean path.rate?"),
        (["run", "short.toml", "--set", "flow.0.cc=cubik"], 'did you mean "cubic"'),
        (["run", "short.toml", "--set", "flow.0.params.betta=0.5"], "beta"),
        (["run", "short.toml", "--set", "rate"], "KEY=VALUE"),
        (["run", "short.toml", "--seed", "-1"], "--seed"),
        (["run", "short.toml", "--trace", "often"], '"10ms"'),
        (["run", "short.toml", "--trace", "1ns", "--set", "duration=1000s"], "GB of memory"),
        (["list", "nonsense"], "algorithms"),
        (["explain", "cubik"], "did you mean 'cubic'?"),
        (["nonsense"], "nonsense"),
    ],
)
def test_what_a_user_gets_wrong_is_explained(
    fullpipe: Fullpipe, scenario: Path, args: list[str], said: str, tmp_path: Path
) -> None:
    done = fullpipe(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == [scenario]


def test_ctrl_c_ends_a_run_and_leaves_nothing(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    with subprocess.Popen([*command, "run", "long.toml", "--out", "kept", "--trace", "off"], cwd=tmp_path) as process:
        deadline = time.monotonic() + 30
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)  # until the directory aside is there: then the run is about to begin
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 130
    assert [file.name for file in tmp_path.iterdir()] == ["long.toml"]


def test_lists_begin_with_the_name(fullpipe: Fullpipe) -> None:
    names = [line.split()[0] for line in fullpipe("list", "algorithms").stdout.splitlines()]
    assert names == [algorithm["name"] for algorithm in _core.algorithms()]
    assert {"bbr1", "cubic", "newreno"} <= set(names)
    assert fullpipe("list", "queues").stdout.split()[0] == "pfifo"


@pytest.mark.parametrize("algorithm", _core.algorithms(), ids=lambda algorithm: algorithm["name"])
def test_every_algorithm_explains_itself(fullpipe: Fullpipe, algorithm: _core.Algorithm) -> None:
    text = fullpipe("explain", algorithm["name"]).stdout
    words = " ".join(text.split())
    assert algorithm["purpose"] in words
    for part in (*algorithm["params"], *algorithm["fields"]):
        assert part["name"] in words
        assert part["purpose"] in words


def test_every_key_of_a_scenario_is_explained(fullpipe: Fullpipe) -> None:
    text = fullpipe("explain", "scenario").stdout
    for key in _core.scenario_keys():
        if not key["kind"].startswith("table"):
            assert key["key"] in text
    assert "default" in fullpipe("explain", "path.queue").stdout
    assert "drop-tail" in fullpipe("explain", "pfifo").stdout


def test_the_committed_schema_is_the_one_of_the_code(fullpipe: Fullpipe) -> None:
    assert fullpipe("schema").stdout == (ROOT / "crates/scenario/scenario.schema.json").read_text()
