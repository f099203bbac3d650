"""A small algorithm with four coefficients, which `evolve.py` searches."""

import fullpipe


class Small:
    """Once per RTT the window grows or shrinks with the queueing delay, and a loss cuts it."""

    params = {
        "gain": fullpipe.Param(
            1.0, 0.05, 8.0, purpose="Segments that a round adds without a queue"
        ),
        "target": fullpipe.Param(
            0.3, 0.01, 3.0, purpose="Queueing delay to aim at, in minimum RTTs"
        ),
        "slope": fullpipe.Param(
            0.5, 0.0, 1.0, purpose="Share of the window that a round takes at most"
        ),
        "cut": fullpipe.Param(
            0.7, 0.3, 0.95, purpose="Share of the window that remains after a loss"
        ),
    }

    def __init__(self, config):
        self.mss, self.cwnd, self.p = config.smss, float(config.initial_cwnd), config.params
        self.start, self.round_end = True, 0

    def on_ack(self, cx, ack):
        if self.start:
            self.cwnd += ack.newly_acked
        if ack.rtt is None or ack.newest.delivered < self.round_end or cx.conn.in_recovery:
            return
        self.round_end = cx.conn.delivered  # the ACK of a packet sent from now on ends the round
        excess = (ack.rtt / cx.conn.min_rtt - 1) / self.p["target"]
        if excess > 1:
            self.start = False
            self.cwnd *= 1 - self.p["slope"] * min(1 - 1 / excess, 1)
        elif not self.start:
            self.cwnd += self.p["gain"] * self.mss * (1 - excess)
        self.cwnd = max(self.cwnd, 4 * self.mss)

    def on_recovery(self, cx, change):
        if change.kind in ("enter", "timeout"):
            self.start = False
            self.cwnd = max(self.p["cut"] * self.cwnd, 4 * self.mss)

    def decision(self):
        window = int(self.cwnd)
        return fullpipe.Decision(cwnd=window, ssthresh=window)
