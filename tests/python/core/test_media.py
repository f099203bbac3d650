"""Media sources: in metrics and in the terminal's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fullpipe as package

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe
    from fullpipe import _core

SCENARIO = """# One call
duration = "10s"

[path]
rate = "10mbit"
rtt = "40ms"
buffer = "2bdp"

[[flow]]
cc = "scream"
app = "media 50fps from 500kbit to 5mbit"
"""


class Fixed:
    """Encodes at a rate that depends on the frames so far."""

    def __init__(self, config: _core.Config) -> None:
        assert config.source == (500e3, 5e6, 0.02)
        self.frames = 0
        self.unsent = 0
        self.cwnd = 100 * config.smss

    def on_ack(self, cx: _core.Context, ack: _core.Ack) -> None:
        self.unsent = max(self.unsent, cx.conn.unsent)

    def on_frame(self, cx: _core.Context, size: int, waited: float) -> None:
        assert cx.conn.unsent >= size
        assert waited == 0.0
        self.frames += 1

    def decision(self) -> package.Decision:
        return package.Decision(self.cwnd, source_rate=1e6 if self.frames < 250 else 2e6)


def test_the_terminal_shows_frames_and_their_delays(fullpipe: Fullpipe, tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    shown = fullpipe("run", str(file)).stdout
    assert "delay ms" in shown
    bulk = fullpipe("run", str(file), "--set", "flow.0.app=on 2s off 1s").stdout
    assert "delay ms" not in bulk


def test_a_class_sets_the_rate_of_the_encoder() -> None:
    run = package.run(SCENARIO, controllers={"fixed": Fixed}, set={"flow.0.cc": "fixed"})
    flow = run.flow_metrics[0]
    # 250 frames of 2500 bytes and 251 of 5000, but that of 10 s arrives late, and the encoder
    # follows a frame later.
    frames = flow["frames"]
    assert frames in {499, 500}
    total = flow["goodput_bps"] * 10 / 8
    assert abs(total - (251 * 2500 + (frames - 251) * 5000)) < 6000
    assert flow["retransmits"] == 0
