"""Real QUIC, through the command and Python. Skipped where `make quic` has not built it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING

import polars as pl
import pytest

import fullpipe
import served
from fullpipe.runners import runner
from fullpipe.wings.quic.runners._quic import Quic

if TYPE_CHECKING:
    from pathlib import Path

built = pytest.mark.skipif(
    Quic("quic", "", real_time=True).missing() is not None,
    reason="fullpipe-quic is not built; make quic does that",
)

PATH = """\
duration = "5s"

[path]
rate = "20mbit"
rtt = "40ms"
buffer = "2bdp"

[[flow]]
cc = "bbr3"
"""

LOOPBACK = """\
duration = "20s"

[path]
kind = "loopback"

[[flow]]
cc = "cubic"
bytes = "20MB"
receive_window = "8MB"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "quic.toml"
    file.write_text(PATH)
    return file


def test_a_runner_that_is_not_built_says_what_builds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fullpipe.wings.quic.runners._quic._program", lambda: None)
    missing = Quic("quic", "", real_time=True).missing()
    assert missing is not None
    assert "make quic" in missing.fix


def test_both_clocks_are_runners() -> None:
    monkeyed = [
        Quic("quic", "", real_time=True).name,
        Quic("quic-virtual", "", real_time=False).name,
    ]
    assert monkeyed == ["quic", "quic-virtual"]


@built
def test_virtual_time_repeats_itself(scenario: Path) -> None:
    first, second = (fullpipe.run(scenario, trace="ack", on="quic-virtual") for _ in range(2))
    assert first.trace_hash == second.trace_hash
    assert first.metrics["runner"] == "quic-virtual"
    assert first.flow_metrics[0]["goodput_bps"] > 17e6
    trace = first.trace()
    assert {"cwnd", "bbr3.state", "limited_by"} <= set(trace.columns)
    # The emulator's queue is the simulator's: both report queueing delays.
    assert first.flow_metrics[0]["queue_delay_s"]["mean"] is not None


@cache
def _not_allowed(folder: Path) -> str | None:
    """Returns the reason if no sandbox can be made here."""
    file = folder / "short.toml"
    file.write_text(PATH)
    try:
        fullpipe.run(file, on="quic", duration="50ms")
    except fullpipe.ScenarioError as error:
        return str(error)
    return None


@pytest.fixture
def sandboxed(scenario: Path) -> Path:
    """A scenario; tests that use it are skipped where namespaces are not allowed."""
    if said := _not_allowed(scenario.parent):
        pytest.skip(said)
    return scenario


@built
def test_one_file_on_simulator_kernel_and_quic_gives_one_report(
    sandboxed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "three"
    settings = ["--set", "duration=2s", "--set", "flow.0.cc=cubic", "--trace", "10ms"]
    command = [
        sys.executable,
        "-m",
        "fullpipe",
        "run",
        str(sandboxed),
        "--on",
        "sim,kernel,quic",
        *settings,
    ]
    done = subprocess.run(
        [*command, "--out", str(out)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    metrics = {
        name: json.loads((out / name / "metrics.json").read_text())
        for name in ("sim", "kernel", "quic")
    }
    for name, found in metrics.items():
        assert found["runner"] == name
        assert found["flows"][0]["goodput_bps"] > 5e6, name
        assert found["links"][0]["queue_delay_s"]["max"] <= 0.0805, f"{name}: two BDP are 80 ms"
    schema = {name: pl.read_parquet(out / name / "links.parquet").schema for name in metrics}
    assert schema["sim"] == schema["kernel"] == schema["quic"]
    links = pl.read_parquet(out / "quic" / "links.parquet")
    assert links.height == 200, "rows of 10 ms"
    assert links["queue_packets"].max() in range(60, 135), "the queue has room for 133"
    done = served.command("report", out)
    assert done.returncode == 0, done.stderr
    page = (out / "report.html").read_text()
    for name in metrics:
        assert f'"label":"{name}, seed 1"' in page
    assert '"first":[0,1,2]' in page, "runs of one scenario are laid over each other"


@built
def test_behind_the_path_drops_and_waits_are_the_emulators(sandboxed: Path) -> None:
    chance = {"path.loss": "10%", "path.reverse_loss": "10%", "flow.0.bytes": "200kB"}
    run = fullpipe.run(sandboxed, set=chance, on="quic")
    flow, link = run.flow_metrics[0], run.link_metrics[0]
    assert flow["completion_s"] is not None, (
        "even if its last packet, which is sent only once, is lost"
    )
    assert flow["drops"] == link["drops"] + link["losses"] > 0
    assert flow["ack_drops"] > 0
    assert flow["queue_delay_s"]["mean"] is not None
    assert flow["rtt_s"]["min"] == pytest.approx(0.04, rel=0.2)
    assert run.metrics["host"]["lateness"]
    assert "noq" in run.metrics["host"]["stack"]


@built
def test_a_path_that_is_too_fast_is_refused_before_it_begins(sandboxed: Path) -> None:
    with pytest.raises(fullpipe.ScenarioError, match="faster than this machine can pace"):
        fullpipe.run(sandboxed, set={"path.rate": "900gbit"}, on="quic")


@built
def test_a_cpu_that_is_not_there_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "loopback.toml"
    file.write_text(LOOPBACK)
    with pytest.raises(
        fullpipe.ScenarioError, match="this process may not use this CPU"
    ) as refused:
        fullpipe.run(file, set={"quic.client_cpu": "1023"}, on="quic")
    assert refused.value.key == "quic.client_cpu"


@built
def test_threads_stay_where_they_are_told_and_awake(tmp_path: Path) -> None:
    file = tmp_path / "loopback.toml"
    server, client = (several := sorted(os.sched_getaffinity(0)))[0], several[-1]
    told = f'[quic]\nserver_cpu = {server}\nclient_cpu = {client}\nbusy_poll = "on"\n'
    file.write_text(f"{LOOPBACK}\n{told}")
    run = fullpipe.run(file, on="quic")
    assert run.flow_metrics[0]["completion_s"] is not None
    said = run.metrics["host"]["threads"]
    assert (
        said
        == f"one thread per side, servers on CPU {server}, clients on CPU {client}, busy polling"
    )
    assert (
        fullpipe.run(file, on="sim", set={"flow.0.bytes": "1MB"}).flow_metrics[0]["completion_s"]
        is not None
    ), "the simulator ignores [quic]"


@built
def test_the_loopback_carries_what_was_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "loopback.toml"
    file.write_text(LOOPBACK)
    run = fullpipe.run(file, trace="ack", on="quic")
    flow = run.flow_metrics[0]
    assert flow["completion_s"] is not None
    assert flow["goodput_bps"] > 1e7, "a bound that even a very busy machine meets"
    assert run.metrics["host"]["kernel"]
    assert run.trace_hash is None, "a run in real time can't be repeated exactly"
    assert run.trace().height > 10


@built
def test_many_connections_at_once_all_end_and_share(tmp_path: Path) -> None:
    file = tmp_path / "loopback.toml"
    file.write_text(LOOPBACK.replace('bytes = "20MB"', 'bytes = "500kB"\ncount = 40'))
    run = fullpipe.run(file, on="quic")
    assert [flow["completion_s"] is not None for flow in run.flow_metrics] == [True] * 40
    jain = run.metrics["jain"]
    assert jain is not None
    assert jain > 0.5


@built
def test_too_many_connections_say_what_is_short(tmp_path: Path) -> None:
    file = tmp_path / "loopback.toml"
    file.write_text(LOOPBACK.replace('bytes = "20MB"', 'bytes = "500kB"\ncount = 100'))
    command = f"ulimit -n 128; exec {sys.executable} -m fullpipe run {file} --on quic"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Too many open files" in done.stderr
    assert "ulimit -n" in done.stderr


@built
def test_what_has_no_links_has_no_table_of_them_and_a_picture_without_a_queue(
    tmp_path: Path,
) -> None:
    file = tmp_path / "loopback.toml"
    file.write_text(LOOPBACK)
    command = [
        sys.executable,
        "-m",
        "fullpipe",
        "run",
        str(file),
        "--on",
        "quic",
        "--out",
        str(tmp_path / "out"),
    ]
    done = subprocess.run(
        [*command, "--set", "duration=1s"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "utilization" not in done.stdout
    assert (tmp_path / "out" / "picture.png").stat().st_size > 10_000


@built
@pytest.mark.parametrize(
    ("change", "on", "message"),
    [
        ({"flow.0.cc": "prague"}, "quic-virtual", "prague needs ECN counts and ECT"),
        ({"flow.0.cc": "ledbat"}, "quic-virtual", "ledbat needs timestamps"),
        ({"flow.0.cc": "rledbat"}, "quic-virtual", "needs timestamps, which QUIC does not have"),
        ({"flow.0.ecn": "ect1"}, "quic-virtual", "noq sends with ECT"),
        ({"path.ack_filter": "on"}, "quic", "only the simulator filters ACKs"),
        ({"host.send": "1us"}, "quic", "behind a path, the host is this machine itself"),
        ({"path.kind": "loopback"}, "quic-virtual", "has no virtual time"),
        (
            {"path.kind": "loopback", "path.loss": "1%"},
            "quic",
            "path.loss.*own loopback can't emulate this",
        ),
    ],
)
def test_what_quic_has_not_got_is_refused_by_name(
    scenario: Path, change: dict[str, str], on: str, message: str
) -> None:
    with pytest.raises(fullpipe.ScenarioError, match=message):
        runner(on)
        fullpipe.run(scenario, set=change, on=on)


@built
def test_a_comparison_without_a_path_is_over_the_loopback(tmp_path: Path) -> None:
    size = ["--bytes", "10MB", "--repeat", "2", "--out", str(tmp_path / "kept")]
    done = served.command("compare", "bbr3", "cubic", "--on", "quic", *size)
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout.splitlines()[1]
        == "this machine's loopback; 10MB each, for 600s at most; stack linux"
    )
    assert (tmp_path / "kept" / "picture.png").is_file()


def test_a_program_that_is_older_than_the_package_says_so(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {
        "file": "x",
        "key": "path.kind",
        "value": '"loopback"',
        "problem": "unknown key",
        "fix": "use another",
    }
    program = scenario.parent / "fullpipe-quic"
    program.write_text(f"#!/bin/sh\necho '{json.dumps(said)}' >&2\nexit 2\n")
    program.chmod(0o755)
    monkeypatch.setattr("fullpipe.wings.quic.runners._quic._program", lambda: str(program))
    with pytest.raises(
        fullpipe.ScenarioError, match=r"a different version.*\n.*run make quic again"
    ):
        fullpipe.run(scenario, on="quic-virtual")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            '{"outdated": "no field flows"}',
            r"a different version: no field flows\n.*run make quic again",
        ),
        ('{"problem": "no room", "fix": "make some"}', r"--on quic-virtual: no room\n.*make some"),
        ('{"problem": "a socket failed"}', r"a socket failed\n.*run it again"),
        ("thread main panicked", r"thread main panicked\n.*run it again"),
    ],
)
def test_what_the_program_says_is_told_with_a_fix(
    said: str, words: str, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = scenario.parent / "fullpipe-quic"
    program.write_text(f"#!/bin/sh\ntest \"$1\" = check || {{ echo '{said}' >&2; exit 1; }}\n")
    program.chmod(0o755)
    monkeypatch.setattr("fullpipe.wings.quic.runners._quic._program", lambda: str(program))
    with pytest.raises(fullpipe.ScenarioError, match=words):
        fullpipe.run(scenario, on="quic-virtual")


def test_a_program_that_is_killed_is_said_to_be(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = scenario.parent / "fullpipe-quic"
    program.write_text('#!/bin/sh\ntest "$1" = check || kill -9 $$\n')
    program.chmod(0o755)
    monkeypatch.setattr("fullpipe.wings.quic.runners._quic._program", lambda: str(program))
    with pytest.raises(
        fullpipe.ScenarioError,
        match=r"was killed, which may mean that memory ran out\n.*longer trace",
    ):
        fullpipe.run(scenario, on="quic-virtual")
