"""NewReno in Python, the same to the bit as the built-in one: docs/tutorial/python-algorithm.md explains it."""

import fullpipe

SLOW_START, AVOIDANCE, RECOVERY = range(3)
STATES = ("slow_start", "congestion_avoidance", "recovery")
REASONS = {"exit": "recovered", "spurious": "loss was spurious", "timeout": "timeout"}


class Reno:
    """Additive increase and multiplicative decrease, in Python."""

    params = {
        "beta": fullpipe.Param(0.5, 0.1, 0.9, purpose="what a loss leaves of the flight"),
        "abc_limit": fullpipe.Param(
            2.0, 1.0, 100.0, unit="segments", purpose="what one ACK counts at most in slow start"
        ),
    }
    fields = {
        "state": fullpipe.Field(purpose="what governs the window", labels=STATES),
        "bytes_acked": fullpipe.Field("B", "counted towards the next segment"),
    }
    recovery = "prr"  # between "enter" and "exit" the transport runs the window down to ssthresh

    def __init__(self, config):
        """For one connection."""
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
        """What was just declared lost is no longer in flight, and was part of it."""
        self.just_lost += lost.packet.size

    def on_ack(self, cx, ack):
        """Grows the window, outside of recovery, if it was the limit."""
        self.just_lost = 0
        conn = cx.conn
        if conn.in_recovery or not conn.cwnd_limited:
            return
        if self.ssthresh is None or self.cwnd < self.ssthresh:  # RFC 5681 §3.1, RFC 3465 §2.2
            self.cwnd += min(ack.newly_acked, self.limit)
            if self.ssthresh is not None and self.cwnd >= self.ssthresh:
                self.cwnd = self.ssthresh
                cx.transition("slow_start", "congestion_avoidance", "ssthresh reached")
            return
        self.bytes_acked += ack.newly_acked  # RFC 3465 §2.1
        while self.bytes_acked >= self.cwnd:
            self.bytes_acked -= self.cwnd
            self.cwnd += self.smss

    def on_recovery(self, cx, change):
        """Reduces the window once an episode, and gives it back where there was no loss."""
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
        """RFC 5681 §3.1, equation 4."""
        self.saved = (self.cwnd, self.ssthresh)
        flight = (
            self.cwnd if cx.conn.cwnd_limited else min(self.cwnd, cx.conn.inflight + self.just_lost)
        )
        self.just_lost = 0
        self.ssthresh = max(int(flight * self.beta), 2 * self.smss)
        self.collapse(self.ssthresh)

    def collapse(self, cwnd):
        """From now on the window is so much."""
        self.cwnd = cwnd
        self.bytes_acked = 0

    def state(self):
        """A number of STATES."""
        if self.recovering:
            return RECOVERY
        return SLOW_START if self.ssthresh is None or self.cwnd < self.ssthresh else AVOIDANCE

    def decision(self):
        """Read after each event."""
        return fullpipe.Decision(self.cwnd, self.ssthresh)

    def observe(self):
        """The values of `fields`, when a trace is recorded."""
        return [self.state(), self.bytes_acked]
