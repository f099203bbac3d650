"""`--on kernel`: this machine's own TCP, through the command. All assertions must also hold on a busy machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import fullpipe
import served

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel runner needs Linux")

RUN = [sys.executable, "-m", "fullpipe", "run"]

SCENARIO = """# on the kernel
duration = "{duration}"

[path]
rate = "5mbit"
rtt = "20ms"
buffer = "20packets"

[[flow]]
cc = "newreno"
"""


def written(folder: Path, duration: str = "1s", more: str = "") -> str:
    file = folder / "scenario.toml"
    file.write_text(SCENARIO.format(duration=duration) + more)
    return str(file)


def test_sim_and_kernel_have_one_schema_and_one_report(folder: Path) -> None:
    out = folder / "both"
    command = [
        *RUN,
        written(folder, "2s"),
        "--on",
        "sim,kernel",
        "--trace",
        "10ms",
        "--out",
        str(out),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sim, kernel = (
        json.loads((out / name / "metrics.json").read_text()) for name in ("sim", "kernel")
    )
    assert sim.keys() == kernel.keys()
    assert sim["flows"][0].keys() == kernel["flows"][0].keys()
    assert kernel["runner"] == "kernel"
    assert {"kernel", "cpu", "clock source", "lateness"} <= kernel["host"].keys()
    flow = kernel["flows"][0]
    assert 2e6 < flow["goodput_bps"] < 5e6 * 1448 / 1500 * 1.02
    assert 0.020 <= flow["rtt_s"]["min"] < 0.030
    assert flow["queue_delay_s"]["max"] <= 20 * 0.0024 + 1e-6, "20 packets of 2.4 ms"
    assert any((out / "kernel").glob("*.parquet"))


def test_python_runs_it_and_has_its_trace(folder: Path) -> None:
    run = fullpipe.run(written(folder, "1s"), on="kernel", trace="10ms")
    flows = run.trace("flows")
    assert flows["time"].is_sorted()
    assert 50 < flows.height <= 102
    assert flows["cwnd"].min() >= 1448  # type: ignore[operator]


def test_many_runs_and_an_expectation(folder: Path) -> None:
    file = written(folder, "600ms", 'receive_window = "64kB"\n')
    text = (
        Path(file)
        .read_text()
        .replace("\n\n[path]", '\nexpect = ["flow.newreno.goodput > 1mbit"]\n\n[path]', 1)
    )
    Path(file).write_text(text)
    done = served.command("check", file, "--on", "kernel", "--repeat", "2")
    assert done.returncode == 0, done.stdout + done.stderr


WORKLOAD = """
[[workload]]
name = "web"
model = "lognormal median 5kB sigma 1 max 100kB"
load = 0.3
cc = "cubic"
rtt = "uniform +0ms..+20ms"
stop = "{stop}"
"""


def test_the_same_flows_arrive_on_sim_and_kernel_and_stand_side_by_side(folder: Path) -> None:
    out = folder / "both"
    file = written(folder, "3s", 'bytes = "100kB"\n' + WORKLOAD.format(stop="1500ms"))
    text = Path(file).read_text()
    expect = 'expect = ["workload.web.refused <= 0", "workload.web.slowdown.p50 < 50"]\n'
    Path(file).write_text(text.replace("\n\n[path]", f"\n{expect}\n[path]", 1))
    command = [*RUN, file, "--on", "sim,kernel", "--trace", "10ms", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sim, kernel = (
        json.loads((out / name / "metrics.json").read_text())["workloads"][0]
        for name in ("sim", "kernel")
    )
    assert sim.keys() == kernel.keys()
    assert kernel["arrived"] == sim["arrived"] > 10
    assert (kernel["completed"], kernel["completed_bytes"]) == (
        sim["completed"],
        sim["completed_bytes"],
    )
    ours, real = (pl.read_parquet(out / name / "transfers.parquet") for name in ("sim", "kernel"))
    same = ["workload", "bytes", "rtt", "alone"]
    assert_frame_equal(ours.select(same), real.select(same))
    assert (real["start"] >= ours["start"]).all()
    slowdown = kernel["slowdown"]["all"]
    assert slowdown["flows"]["count"] == kernel["arrived"]
    assert slowdown["flows"]["mean"] > slowdown["srpt"]["mean"] >= 1
    assert "slowdown of" in done.stdout
    checked = served.command("check", file, "--on", "kernel", "--repeat", "1")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "workload.web.slowdown.p50 < 50" in checked.stdout


def test_more_than_can_be_under_way_at_once_is_refused(folder: Path) -> None:
    long = 'rtt = "10s"'
    file = written(
        folder,
        "5s",
        WORKLOAD.format(stop="5s").replace("median 5kB sigma 1", "median 100B sigma 0.1"),
    )
    text = Path(file).read_text().replace('rtt = "20ms"', long).replace("load = 0.3", "load = 0.9")
    Path(file).write_text(text.replace('buffer = "20packets"', 'buffer = "2000packets"'))
    done = subprocess.run([*RUN, file, "--on", "kernel"], capture_output=True, text=True)
    assert done.returncode == 2, done.stdout
    assert "workload.0.load = 0.9: about " in done.stderr
    assert "flows would be under way at once; this system allows" in done.stderr


def test_a_short_cell_is_near_what_was_recorded_of_linux(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "fullpipe",
        "validate",
        "--on",
        "kernel",
        "--cell",
        "reno-10m-20ms-2bdp-5s",
    ]
    done = subprocess.run(
        [*command, "--seeds", "1", "--json"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode in {0, 1}, done.stderr  # 1 on a busy machine, where cells may be missed
    found = {each["metric"]: (each["published"], each["ours"]) for each in json.loads(done.stdout)}
    assert found.keys() == {"goodput", "RTT", "queue p95", "resent"}
    for metric, allowed in {"goodput": 0.15, "RTT": 0.3, "queue p95": 0.3}.items():
        recorded, live = found[metric]
        assert live == pytest.approx(recorded, rel=allowed), metric


def test_what_a_kernel_has_not_got_is_refused(tmp_path: Path) -> None:
    for more, key in [
        ("params = { abc_limit = 3 }", "flow.0.params.abc_limit = 3"),
        ('receiver = "rledbat"', 'flow.0.receiver = "rledbat"'),
        ("ack_delay = '1ms'", 'flow.0.ack_delay = "1ms"'),
        ('[[flow]]\ncc = "swift"', 'flow.1.cc = "swift"'),
        ('[[flow]]\ncc = "none"\napp_rate = "1mbit"', 'flow.1.cc = "none"'),
    ]:
        done = subprocess.run(
            [*RUN, written(tmp_path, "1s", more), "--on", "kernel"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2, done.stdout + done.stderr
        assert key in done.stderr
        assert "fix: " in done.stderr


def test_what_the_machine_cannot_pace_is_refused_before_it_begins(folder: Path) -> None:
    before = time.monotonic()
    done = subprocess.run(
        [*RUN, written(folder, "60s"), "--on", "kernel", "--set", "path.rate=900gbit"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "faster than this machine can pace packet by packet" in done.stderr
    assert time.monotonic() - before < 50


def _named(file: str) -> list[str]:
    """Returns the processes with this file among their arguments."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and process.name != str(os.getpid()):
            try:
                arguments = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if file.encode() in arguments:
                found.append(process.name)
    return found


@pytest.mark.parametrize(
    ("number", "more"),
    [
        (signal.SIGINT, ""),
        (signal.SIGTERM, ""),
        (signal.SIGKILL, ""),
        (signal.SIGINT, WORKLOAD.format(stop="29s")),
    ],
)
def test_nothing_is_left_of_a_run_that_is_ended(
    folder: Path, number: signal.Signals, more: str
) -> None:
    file = written(folder, "30s", more)
    temporary = folder / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    # SIGINT is not ignored here, even if the tests run under nohup.
    command = subprocess.Popen(
        [*RUN, file, "--on", "kernel"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 20
    # The command, a keeper, its first process, and two agents.
    while len(_named(file)) < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(_named(file)) >= 5
    command.send_signal(number)
    assert command.wait(20) != 0
    deadline = time.monotonic() + 10
    while (left := _named(file)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left
    assert not list(temporary.iterdir())
