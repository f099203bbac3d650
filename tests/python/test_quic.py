"""Real QUIC, as the command and Python see it. Skipped where `make quic` has not built it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fullpipe
from fullpipe.runners import runner
from fullpipe.runners._quic import Quic

if TYPE_CHECKING:
    from pathlib import Path

built = pytest.mark.skipif(
    Quic("quic", "", real_time=True).missing() is not None, reason="fullpipe-quic is not built; make quic does that"
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
profile = "loopback"

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
    monkeypatch.setattr("fullpipe.runners._quic._program", lambda: None)
    missing = Quic("quic", "", real_time=True).missing()
    assert missing is not None
    assert "make quic" in missing.fix


def test_both_clocks_are_runners() -> None:
    monkeyed = [Quic("quic", "", real_time=True).name, Quic("quic-virtual", "", real_time=False).name]
    assert monkeyed == ["quic", "quic-virtual"]


@built
def test_virtual_time_repeats_itself(scenario: Path) -> None:
    first, second = (fullpipe.run(scenario, trace="ack", on="quic-virtual") for _ in range(2))
    assert first.trace_hash == second.trace_hash
    assert first.metrics["runner"] == "quic-virtual"
    assert first.flows[0]["goodput_bps"] > 17e6
    trace = first.trace()
    assert {"cwnd", "bbr3.state", "limited_by"} <= set(trace.columns)
    # The emulator's queue is the simulator's: both say how long packets waited.
    assert first.flows[0]["queue_delay_s"]["mean"] is not None


@built
def test_the_loopback_carries_what_was_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "loopback.toml"
    file.write_text(LOOPBACK)
    run = fullpipe.run(file, trace="ack", on="quic")
    flow = run.flows[0]
    assert flow["completion_s"] is not None
    assert flow["goodput_bps"] > 1e7, "slower than anything but a machine that stands still"
    assert run.metrics["host"]["kernel"]
    assert run.trace_hash is None, "no run on the real clock can be repeated"
    assert run.trace().height > 10


@built
@pytest.mark.parametrize(
    ("change", "on", "message"),
    [
        ({"flow.0.cc": "prague"}, "quic-virtual", "prague can't do without ECN counts and ECT"),
        ({"flow.0.cc": "ledbat"}, "quic-virtual", "ledbat can't do without timestamps"),
        ({"flow.0.cc": "rledbat"}, "quic-virtual", "needs timestamps, which QUIC has not got"),
        ({"flow.0.ecn": "ect1"}, "quic-virtual", "noq sends with ECT"),
        ({"path.loss": "1%"}, "quic", "over this machine's loopback"),
    ],
)
def test_what_quic_has_not_got_is_refused_by_name(
    scenario: Path, change: dict[str, str], on: str, message: str
) -> None:
    with pytest.raises(fullpipe.ScenarioError, match=message):
        runner(on)
        fullpipe.run(scenario, set=change, on=on)
