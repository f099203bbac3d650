"""Real QUIC on this machine's clock: behind the scenario's path, or over the loopback."""

from __future__ import annotations

from fullpipe.wings.quic.runners._quic import Quic

RUNNER = Quic(
    "quic",
    "real QUIC (noq) with the same controllers, in real time, behind the path or over the loopback",
    real_time=True,
)
