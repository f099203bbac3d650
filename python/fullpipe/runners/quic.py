"""Real QUIC over this machine's loopback, on its clock."""

from __future__ import annotations

from fullpipe.runners._quic import Quic

RUNNER = Quic("quic", "real QUIC (noq) with the same controllers, over this machine's loopback", real_time=True)
