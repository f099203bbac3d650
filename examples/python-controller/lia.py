"""LIA (RFC 6356) in Python, bit-identical to the built-in one of `stack = "rfc"`: subflows that share a dictionary."""

from reno import Reno

import fullpipe


class Lia(Reno):
    """NewReno for the subflows of a multipath connection, in Python."""

    fields = {
        **Reno.fields,
        "alpha": fullpipe.Field(purpose="aggressiveness of the connection"),
        "cwnd_total": fullpipe.Field("B", "sum of the windows of all subflows"),
        "subflows": fullpipe.Field(purpose="number of subflows under way"),
    }

    def __init__(self, config):
        """Joins the connection: the flows with the same `group` in the same run."""
        super().__init__(config)
        self.subflows = config.group.setdefault("subflows", [])
        self.subflows.append(self)
        self.rtt = None  # smoothed RTT in nanoseconds
        self.seen = [1.0, 0, 0]
        self.weight, self.rest = 1.0, 0.0

    def look(self, cx):
        """Computes alpha from the windows and RTTs of all subflows (RFC 6356 §3, equation 2)."""
        if cx.conn.srtt:
            self.rtt = float(round(cx.conn.srtt * 1e9))
        # A subflow without an RTT has not begun.
        known = [(subflow.cwnd, subflow.rtt) for subflow in self.subflows if subflow.rtt]
        total = sum(cwnd for cwnd, _ in known)
        alpha = self.weight = 1.0
        if len(known) > 1:
            rate = 0.0
            for cwnd, rtt in known:
                rate += cwnd / rtt
            alpha = total * max(cwnd / (rtt * rtt) for cwnd, rtt in known) / (rate * rate)
            # Equation 1, as a part of NewReno's increase.
            self.weight = min(alpha * self.cwnd / total, 1.0)
        self.seen = [alpha, total, len(known)]

    def on_sent(self, cx, packet):
        """Counts as a subflow from the first packet on."""
        if self.rtt is None:
            self.look(cx)

    def on_ack(self, cx, ack):
        """Looks at the siblings, then grows the window."""
        self.look(cx)
        super().on_ack(cx, ack)

    def avoid_congestion(self, counted):
        """Counts a part of the acknowledged bytes."""
        part = self.weight * counted + self.rest
        self.rest = part % 1.0
        super().avoid_congestion(int(part))

    def on_recovery(self, cx, change):
        """Looks at the siblings, then reduces the window as NewReno does."""
        self.look(cx)
        super().on_recovery(cx, change)

    def on_end(self, cx):
        """Leaves the connection, when all data of this flow is acknowledged."""
        self.subflows.remove(self)

    def observe(self):
        """Returns the values of `fields`, when a trace is recorded."""
        return [*super().observe(), *self.seen]
