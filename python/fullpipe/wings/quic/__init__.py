"""Real QUIC, by the program `fullpipe-quic`."""

from fullpipe.wings import Wing

WING = Wing("real QUIC as a runner")
