"""The algorithm that this repository develops."""

import fullpipe

KEPT = 0.7
"""The share of the window that remains after a loss."""


class Aimd:
    """One more segment each round trip; a share of the window remains after a loss."""

    def __init__(self, config):
        self.smss = config.smss
        self.cwnd, self.ssthresh = config.initial_cwnd, None
        self.acked = 0

    def on_ack(self, cx, ack):
        self.acked += ack.newly_acked
        if not cx.conn.in_recovery and self.acked >= self.cwnd:
            self.acked = 0
            self.cwnd += self.smss

    def on_recovery(self, cx, change):
        if change.kind in ("enter", "timeout"):
            self.cwnd = self.ssthresh = max(int(self.cwnd * KEPT), 2 * self.smss)

    def decision(self):
        return fullpipe.Decision(self.cwnd, self.ssthresh)
