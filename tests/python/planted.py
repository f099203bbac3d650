"""Algorithms with a planted fault each, for the tests of `fullpipe attack`: on usual paths they are like Reno."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bad_controllers import Plain

if TYPE_CHECKING:
    from fullpipe import _core


class ForgetsToGrow(Plain):
    """After a timeout it stops growing until a fast recovery, which a window of one segment never begins."""

    def __init__(self, config: Any) -> None:  # noqa: ANN401  (the core's Config)
        super().__init__(config)
        self.stopped = False

    def on_ack(self, cx: _core.Context, ack: _core.Ack) -> None:
        if not self.stopped:
            super().on_ack(cx, ack)

    def on_recovery(self, cx: _core.Context, change: Any) -> None:  # noqa: ANN401
        super().on_recovery(cx, change)
        self.stopped = change.kind == "timeout" or (self.stopped and change.kind != "enter")


class OldMinimum(Plain):
    """Takes more than twice the smallest RTT ever for congestion, also when the route has become longer."""

    def on_ack(self, cx: _core.Context, ack: _core.Ack) -> None:
        conn = cx.conn
        if (
            conn.srtt is not None
            and conn.min_rtt is not None
            and conn.srtt > 2 * conn.min_rtt + 0.02
        ):
            self.cwnd = max(self.cwnd - self.smss, 2 * self.smss)
            self.ssthresh = self.cwnd
        else:
            super().on_ack(cx, ack)


class CountsAcks(Plain):
    """Grows by a segment per ACK in slow start and by 1/cwnd per ACK later, however much the ACK acknowledges."""

    def on_ack(self, cx: _core.Context, ack: _core.Ack) -> None:
        if cx.conn.in_recovery:
            return
        if self.ssthresh is None or self.cwnd < self.ssthresh:
            self.cwnd += self.smss
        else:
            self.cwnd += max(self.smss * self.smss // self.cwnd, 1)


class GrowsUnused(Plain):
    """CUBIC (RFC 9438 section 4.2) that grows also while the application, and not the window, limits the flow."""

    def __init__(self, config: Any) -> None:  # noqa: ANN401  (the core's Config)
        super().__init__(config)
        self.w_max = 0.0
        self.epoch: float | None = None

    def on_ack(self, cx: _core.Context, ack: _core.Ack) -> None:
        if cx.conn.in_recovery:
            return
        if self.ssthresh is None or self.cwnd < self.ssthresh:
            self.cwnd += ack.newly_acked
            return
        cwnd = self.cwnd / self.smss
        if self.epoch is None:
            self.w_max = max(self.w_max, cwnd)
            self.epoch = cx.now + ((self.w_max - cwnd) / 0.4) ** (1 / 3)
        w_cubic = 0.4 * (cx.now + (cx.conn.srtt or 0.0) - self.epoch) ** 3 + self.w_max
        target = min(max(w_cubic, cwnd + 0.5), 1.5 * cwnd)
        self.cwnd += int((target - cwnd) / cwnd * ack.newly_acked)

    def on_recovery(self, cx: _core.Context, change: Any) -> None:  # noqa: ANN401
        if change.kind in ("enter", "timeout"):
            self.w_max = self.cwnd / self.smss if change.kind == "enter" else 0.0
            self.epoch = None
        super().on_recovery(cx, change)
