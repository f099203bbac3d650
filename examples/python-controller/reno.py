"""NewReno in Python, bit-identical to the built-in one of `stack = "rfc"`: see docs/tutorial/python-algorithm.md."""

import fullpipe

SLOW_START, AVOIDANCE, RECOVERY = range(3)
STATES = ("slow_start", "congestion_avoidance", "recovery")
REASONS = {"exit": "recovered", "spurious": "loss was spurious", "timeout": "timeout"}


class Reno:
    """Additive increase and multiplicative decrease, in Python."""

    params = {
        "beta": fullpipe.Param(0.5, 0.1, 0.9, purpose="factor applied to inflight at a loss"),
        "abc_limit": fullpipe.Param(
            2.0, 1.0, 100.0, unit="segments", purpose="limit of the growth per ACK in slow start"
        ),
    }
    fields = {
        "state": fullpipe.Field(purpose="phase of the algorithm", labels=STATES),
        "bytes_acked": fullpipe.Field("B", "acknowledged since the window last grew"),
    }
    recovery = "prr"  # between "enter" and "exit" the transport reduces the window to ssthresh

    def __init__(self, config):
        """Initializes the state of one connection."""
        self.smss = config.smss
        self.beta = config.params["beta"]
        self.limit = int(config.smss * config.params["abc_limit"])
        self.cwnd = config.initial_cwnd
        self.ssthresh = None  # no congestion yet
        self.bytes_acked = 0
        self.just_lost = 0
        self.recovering = False
        self.saved = None

    def on_lost(self, cx, lost):
        """Counts a lost packet, which is no longer in flight but was part of the flight."""
        self.just_lost += lost.packet.size

    def on_ack(self, cx, ack):
        """Grows the window, outside of recovery, if the window was the limit."""
        self.just_lost = 0
        conn = cx.conn
        if conn.in_recovery or not conn.cwnd_limited:
            return
        # A duplicate ACK leaves the window unchanged (RFC 5681 §3.2); after a timeout, one ACK may
        # cover much data that left the network before (RFC 3465 §2.3).
        counted = ack.newly_acked if conn.state == "loss" and ack.advanced else ack.cumulative
        if self.ssthresh is None or self.cwnd < self.ssthresh:  # RFC 5681 §3.1, RFC 3465 §2.2
            self.cwnd += min(counted, self.limit)
            if self.ssthresh is not None and self.cwnd >= self.ssthresh:
                self.cwnd = self.ssthresh
                cx.transition("slow_start", "congestion_avoidance", "ssthresh reached")
            return
        self.avoid_congestion(counted)

    def avoid_congestion(self, counted):
        """Adds a segment for each window of acknowledged bytes (RFC 3465 §2.1)."""
        self.bytes_acked += counted
        while self.bytes_acked >= self.cwnd:
            self.bytes_acked -= self.cwnd
            self.cwnd += self.smss

    def on_recovery(self, cx, change):
        """Reduces the window once per episode, and restores it if the loss was spurious."""
        before = self.state()
        if change.kind == "enter":
            self.reduce(cx)
        elif change.kind == "timeout":
            if not change.again:
                self.reduce(cx)
            self.collapse(cx.conn.inflight + self.smss)
        elif change.kind == "spurious" and self.saved:
            cwnd, ssthresh = self.saved
            self.cwnd = max(self.cwnd, cwnd)
            self.ssthresh = None if ssthresh is None else max(self.ssthresh, ssthresh)
            self.saved = None
        self.recovering = change.kind == "enter"
        after = self.state()
        if after != before:
            cx.transition(STATES[before], STATES[after], REASONS.get(change.kind, "loss"))

    def reduce(self, cx):
        """Sets ssthresh and the window (RFC 5681 §3.1, equation 4)."""
        self.saved = (self.cwnd, self.ssthresh)
        flight = (
            self.cwnd if cx.conn.cwnd_limited else min(self.cwnd, cx.conn.inflight + self.just_lost)
        )
        self.just_lost = 0
        self.ssthresh = max(int(flight * self.beta), 2 * self.smss)
        self.collapse(self.ssthresh)

    def collapse(self, cwnd):
        """Sets the window and restarts the count of acknowledged bytes."""
        self.cwnd = cwnd
        self.bytes_acked = 0

    def state(self):
        """Returns the index of the state in STATES."""
        if self.recovering:
            return RECOVERY
        return SLOW_START if self.ssthresh is None or self.cwnd < self.ssthresh else AVOIDANCE

    def decision(self):
        """Returns the window and ssthresh; read after each event."""
        return fullpipe.Decision(self.cwnd, self.ssthresh)

    def observe(self):
        """Returns the values of `fields`, when a trace is recorded."""
        return [self.state(), self.bytes_acked]
