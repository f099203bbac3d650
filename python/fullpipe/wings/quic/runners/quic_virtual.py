"""Real QUIC in virtual time, over the scenario's path."""

from __future__ import annotations

from fullpipe.wings.quic.runners._quic import Quic

RUNNER = Quic(
    "quic-virtual",
    "real QUIC (noq) with the same controllers, in virtual time over the path",
    real_time=False,
)
