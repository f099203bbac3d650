"""Algorithms that are made to be bad, each in one way, for the tests of `fullpipe evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fullpipe

if TYPE_CHECKING:
    from fullpipe import _core


class _Reno:
    """NewReno in a few lines; the bad ones change a rule of it."""

    def __init__(self, config: Any) -> None:  # noqa: ANN401  (the core's Config)
        self.smss = config.smss
        self.cwnd: int = config.initial_cwnd
        self.ssthresh: int | None = None
        self.acked = 0

    def on_ack(self, cx: _core.Context, ack: _core.Ack) -> None:
        if cx.conn.in_recovery:
            return
        if self.ssthresh is None or self.cwnd < self.ssthresh:
            self.cwnd += ack.newly_acked
            return
        self.acked += ack.newly_acked
        if self.acked >= self.cwnd:
            self.acked = 0
            self.cwnd += self.smss

    def on_recovery(self, cx: _core.Context, change: Any) -> None:  # noqa: ANN401
        if change.kind in ("enter", "timeout"):
            self.ssthresh = max(cx.conn.inflight // 2, 2 * self.smss)
            self.cwnd = self.ssthresh if change.kind == "enter" else self.smss

    def on_unused(self, cx: _core.Context, cwnd: int) -> None:
        del cx
        self.cwnd = min(self.cwnd, cwnd)

    def decision(self) -> fullpipe.Decision:
        return fullpipe.Decision(self.cwnd, self.ssthresh)


class Plain(_Reno):
    """NewReno, for comparison."""


class NeverBacksOff(_Reno):
    """Keeps its window at losses and timeouts."""

    def on_recovery(self, cx: _core.Context, change: Any) -> None:  # noqa: ANN401
        del cx, change


class HalvesOnEachAck(_Reno):
    """Halves its window on each ACK."""

    def on_ack(self, cx: _core.Context, ack: _core.Ack) -> None:
        del cx, ack
        self.cwnd = max(self.cwnd // 2, 2 * self.smss)


class IgnoresIdle(_Reno):
    """Keeps a window that it has not used."""

    def on_unused(self, cx: _core.Context, cwnd: int) -> None:
        del cx, cwnd


class StarvesOnJitter(_Reno):
    """Takes any RTT above the minimum for congestion."""

    def on_ack(self, cx: _core.Context, ack: _core.Ack) -> None:
        if ack.rtt is not None and cx.conn.min_rtt is not None and ack.rtt > 1.5 * cx.conn.min_rtt:
            self.cwnd = max(self.cwnd - self.smss, 2 * self.smss)
            self.ssthresh = self.cwnd
        else:
            super().on_ack(cx, ack)


class Oscillates(_Reno):
    """Sends with a tenth of its window in every second period of three seconds."""

    def __init__(self, config: Any) -> None:  # noqa: ANN401
        super().__init__(config)
        self.low = False

    def on_ack(self, cx: _core.Context, ack: _core.Ack) -> None:
        super().on_ack(cx, ack)
        self.low = int(cx.now / 3) % 2 == 1

    def decision(self) -> fullpipe.Decision:
        cwnd = max(self.cwnd // 10, self.smss) if self.low else self.cwnd
        return fullpipe.Decision(cwnd, self.ssthresh)
