"""Reno as a class, and senders with one wrong rule each, for the tests of `fullpipe trace judge`."""

from __future__ import annotations

from typing import Any

import fullpipe


class Reno:
    """Reno, whose changes are its subclasses."""

    beta, growth, ends = 0.5, 1, True

    def __init__(self, config: Any) -> None:  # noqa: ANN401
        self.cwnd, self.smss = float(config.initial_cwnd), config.smss
        self.ssthresh: int | None = None

    def on_ack(self, cx: Any, ack: Any) -> None:  # noqa: ANN401
        if not cx.conn.in_recovery:
            slow_start = self.ssthresh is None or self.cwnd < self.ssthresh
            self.cwnd += ack.newly_acked * (
                1.0 if slow_start else self.growth * self.smss / self.cwnd
            )

    def on_recovery(self, cx: Any, change: Any) -> None:  # noqa: ANN401
        del cx
        if change.kind in ("enter", "timeout"):
            self.cwnd = max(self.cwnd * self.beta, 2.0 * self.smss)
            self.ssthresh = int(self.cwnd) if self.ends else None

    def decision(self) -> fullpipe.Decision:
        return fullpipe.Decision(int(self.cwnd), self.ssthresh)


class Endless(Reno):
    """Reno whose slow start never ends."""

    ends = False


class Greedy(Reno):
    """Reno that keeps almost all of its window after a loss."""

    beta = 0.97


class Deaf(Reno):
    """Reno that keeps all of its window, so that its losses do not end."""

    beta = 1.0
