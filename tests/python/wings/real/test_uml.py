"""Linux's TCP in simulated time: refused scenarios, and runs where user-mode Linux was built."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fullpipe
import needs
from fullpipe.wings.real.runners import _uml_boot, uml

if TYPE_CHECKING:
    from fullpipe.base.metrics import FlowMetrics

SCENARIO = """# Linux in simulated time
duration = "3s"
start_jitter = "40ms"

[path]
rate = "10mbit"
rtt = "20ms"
buffer = "20packets"

[[flow]]
cc = "cubic"
pacing = "on"
"""


def test_without_the_oracle_the_step_that_makes_it_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    missing = uml.RUNNER.missing()
    assert missing is not None
    assert "make oracle" in missing.fix


def test_without_the_hosts_tools_the_step_that_brings_them_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_uml_boot, "kernel", dict)
    monkeypatch.setattr(_uml_boot, "SEARCHED", "/nowhere")
    missing = uml.RUNNER.missing()
    assert missing is not None
    assert (missing.problem, missing.root) == ("setpriv is not installed", True)


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ("flow.0.cc", {"flow.0.cc": "bbr3"}),
        ("flow.0.delayed_ack", {"flow.0.delayed_ack": 1}),
        ("flow.0.group", {"flow.0.group": "phone"}),
    ],
)
def test_what_linux_has_not_got_is_refused_by_its_key(
    key: str, settings: dict[str, str | int]
) -> None:
    scenario = fullpipe.load(SCENARIO, set=settings)
    with pytest.raises(fullpipe.ScenarioError) as refused:
        uml.RUNNER.refuse(scenario, "off")
    assert refused.value.key == key
    assert refused.value.fix


@pytest.mark.parametrize(
    ("said", "fix"), [("unshare: unshare failed: no", "user namespaces"), ("panic", "run it again")]
)
def test_a_boot_that_fails_is_an_error_with_its_fix(
    monkeypatch: pytest.MonkeyPatch, said: str, fix: str
) -> None:
    def booted(*_: object) -> None:
        raise _uml_boot.OracleError(f"user-mode Linux ended early:\n{said}")

    monkeypatch.setattr(_uml_boot, "booted", booted)
    with pytest.raises(
        fullpipe.ScenarioError, match=r"--on uml: user-mode Linux ended early"
    ) as refused:
        uml.RUNNER.execute(fullpipe.load(SCENARIO), "off", None)
    assert said in refused.value.problem
    assert fix in refused.value.fix


@pytest.fixture(scope="module")
def run() -> fullpipe.Run:
    """The scenario in user-mode Linux."""
    return fullpipe.run(SCENARIO, on="uml", trace="10ms")


@needs.UML
def test_it_measures_what_the_path_is(run: fullpipe.Run) -> None:
    (flow,), (link,) = run.flow_metrics, run.link_metrics
    assert 0.95 < flow["goodput_bps"] / (10e6 * 1448 / 1500) <= 1
    assert flow["rtt_s"]["min"] == pytest.approx(0.020 + 1.1 * 1500 * 8 / 10e6, abs=0.0001)
    assert link["queue_delay_s"]["max"] == pytest.approx(20 * 1500 * 8 / 10e6, rel=0.06)
    assert flow["retransmits"] == flow["drops"] == link["drops"] > 0
    assert run.metrics["runner"] == "uml"
    assert "6.1" in run.metrics["host"]["kernel"]
    assert run.trace()["cwnd"].len() > 200


@needs.UML
def test_it_says_how_far_it_is_and_what_became_of_acks() -> None:
    scenario = {"path.reverse_loss": "10%", "path.buffer": "4bdp"}
    # With one of ten seeds the SYN-ACK is lost, and little time is left for the rate.
    flows = (_checked_flow(scenario, seed) for seed in range(1, 7))
    flow = next(flow for flow in flows if flow["sent"] > 2000)
    assert flow["goodput_bps"] > 9e6


def _checked_flow(settings: dict[str, str], seed: int) -> FlowMetrics:
    told: list[float] = []
    scenario = fullpipe.load(SCENARIO, set=settings, seed=seed)
    result = uml.RUNNER.execute(scenario, "off", lambda done, total, _: told.append(done / total))
    assert told == sorted(told)
    assert len({round(share, 3) for share in told if 0 < share < 1}) >= 2
    flow: FlowMetrics
    (flow,) = json.loads(result.metrics_json())["flows"]
    # Linux acknowledges nearly each segment. Without the SYN-ACK only a fifth of the 2500 segments are sent: the bounds
    # are four standard errors for that number.
    assert 0.04 < flow["ack_drops"] / flow["sent"] < 0.16
    return flow


@needs.UML
def test_a_seed_gives_the_same_losses_again() -> None:
    lossy = {"path.loss": "2%", "duration": "1500ms"}
    first, second = (fullpipe.run(SCENARIO, on="uml", set=lossy) for _ in range(2))
    assert first.metrics == second.metrics
    assert first.link_metrics[0]["losses"] > 5


@needs.UML
def test_a_queue_under_htb_waits_as_long_as_one_of_netem(run: fullpipe.Run) -> None:
    htb = fullpipe.run(SCENARIO, on="uml", set={"path.buffer": "30000B"}, duration="1s")
    for each in (run, htb):
        assert each.flow_metrics[0]["rtt_s"]["min"] == pytest.approx(0.02132, abs=0.0001)
        assert each.link_metrics[0]["queue_delay_s"]["max"] == pytest.approx(0.024, rel=0.06)


@needs.UML
def test_a_transfer_completes_half_a_round_trip_after_its_last_segment_left() -> None:
    # Linux's path has the whole delay on the ACKs; the reported time is that of a path with a half in each direction.
    transfer = {
        "path.rtt": "200ms",
        "flow.0.bytes": "50kB",
        "stack": "linux",
        "start_jitter": "0s",
    }
    took = [
        fullpipe.run(SCENARIO, on=on, set=transfer).flow_metrics[0]["completion_s"]
        for on in ("sim", "uml")
    ]
    # The handshake, two flights of 10 and 20 segments, the rest, and half a round trip.
    assert took[0] == pytest.approx(0.2 + 2 * 0.2 + 0.1, abs=0.03)
    assert took[1] == pytest.approx(took[0], abs=0.002)


@needs.UML
def test_nothing_is_left_when_its_parent_is_killed() -> None:
    code = f"import fullpipe\nfullpipe.run({SCENARIO!r}, on='uml', duration='100s')"
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not (children := _linux(parent.pid)):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(1.0)
        children = _linux(parent.pid)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    deadline = time.monotonic() + 10
    while any(map(_runs, children)):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _linux(parent: int) -> list[int]:
    """Returns the processes of user-mode Linux that descend from this one."""
    listed = subprocess.run(
        ["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    family = {parent}
    for _ in range(4):
        family |= {int(pid) for pid, above, _ in rows if int(above) in family}
    return [
        int(pid)
        for pid, _, args in rows
        if int(pid) in family and args.startswith(str(_uml_boot.cache()))
    ]


def _runs(process: int) -> bool:
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except OSError:
        return False
