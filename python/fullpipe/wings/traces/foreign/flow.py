"""A measured flow: its samples over time, and its metrics."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from fullpipe.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.base.metrics import Distribution, FlowMetrics

COLUMNS = (
    "cwnd",
    "inflight",
    "ssthresh",
    "pacing_rate",
    "delivery_rate",
    "rtt",
    "srtt",
    "min_rtt",
    "delivered",
    "lost",
    "lost_packets",
    "retransmits",
    "receive_window",
)
"""The columns of a measured trace, in the units of a run's trace; `lost_packets` (declared lost) and `retransmits`
(sent again) count packets from the start, `receive_window` is the advertised window in bytes."""


_LONGEST = 120
"""Characters of the longest name of a flow."""
LEAST_BYTES = 10_000
"""Directions of captured connections, and connections of ss, with fewer bytes are no flows."""


class ForeignError(UserError):
    """A file of another program can't be read; the text has the reason and the fix."""


@dataclass
class Flow:
    """A measured flow.

    Attributes:
        name: Its name, different from that of every other flow of the file.
        cc: The congestion control, "unknown" if the file does not name it.
        rows: Samples: `time` in seconds from the start of the measurement, and some of `COLUMNS`.
        changes: Times in seconds with states entered.
        rtts: RTT samples in seconds; by default those of the rows.
        responses: Response times in seconds.
        goodput_bps: Goodput, if the file has it; by default that of the rows' `delivered`.
        sent: Packets sent; None if not known.
        retransmits: Packets sent again; None if not known.
        lost: Packets that the sender declared lost; None if not known.
        loss_fraction: Share of lost packets, if the file has it; by default that of the counts.
        drops: Packets lost on the path; None if not known.
        marks: Packets marked CE; None if not known.
        segment: Size of most of its packets in bytes, as its window counts them; None if not known.
        measured_from_s: Start of the time that the counts and the goodput are about, if the file has it.
        is_quic: Whether it is QUIC's: that of a qlog, unless the file names TCP.
    """

    name: str
    cc: str = "unknown"
    rows: list[dict[str, float | None]] = field(default_factory=list)
    changes: list[tuple[float, str]] = field(default_factory=list)
    rtts: list[float] = field(default_factory=list)
    responses: list[float] = field(default_factory=list)
    goodput_bps: float | None = None
    sent: int | None = None
    retransmits: int | None = None
    lost: int | None = None
    loss_fraction: float | None = None
    drops: int | None = None
    marks: int | None = None
    segment: float | None = None
    measured_from_s: float = 0.0
    is_quic: bool = False

    def metrics(self) -> FlowMetrics:
        """Returns its metrics, as :class:`FlowMetrics` but None where the measurement has no value."""
        rtts = self.rtts or [rtt for row in self.rows if (rtt := row.get("rtt")) is not None]
        none = distribution([])
        goodput = self.goodput()
        again = self.retransmits if self.lost is None else self.lost
        loss = again / self.sent if self.sent and again is not None else None
        metrics: dict[str, object] = {
            "name": self.name,
            "cc": self.cc,
            "goodput_bps": None if goodput is None else float(round(goodput)),
            "max_min_share": None,
            "rtt_s": distribution(rtts),
            "queue_delay_s": none,
            "sent": self.sent,
            "retransmits": self.retransmits,
            "loss_fraction": loss if self.loss_fraction is None else self.loss_fraction,
            "drops": self.drops,
            "marks": self.marks,
            "ack_drops": None,
            "completion_s": None,
            "responses": len(self.responses) or None,
            "response_s": distribution(self.responses),
            "frames": None,
            "lost_frames": None,
            "frame_delay_s": none,
            "limited_by": {},
        }
        return cast("FlowMetrics", metrics)

    def goodput(self) -> float | None:
        """Returns the goodput in bit/s; None for a series without delivered bytes, such as a ping."""
        if self.goodput_bps is not None:
            return self.goodput_bps
        known = [
            (row["time"], row["delivered"])
            for row in self.rows
            if row.get("delivered") is not None and row["time"] is not None
        ]
        if len(known) < 2:
            return None
        (began, first), (ended, last) = known[0], known[-1]
        assert first is not None and last is not None and began is not None and ended is not None
        return max(8 * (last - first) / (ended - began), 0.0) if ended > began else None


def distribution(samples: Sequence[float]) -> Distribution:
    """Returns the distribution of samples, by nearest rank."""
    if not samples:
        return {"min": None, "mean": None, "p50": None, "p95": None, "p99": None, "max": None}
    ranked = sorted(samples)

    def at(share: float) -> float:
        return float(ranked[max(math.ceil(share * len(ranked)) - 1, 0)])

    return {
        "min": float(ranked[0]),
        "mean": math.fsum(ranked) / len(ranked),
        "p50": at(0.5),
        "p95": at(0.95),
        "p99": at(0.99),
        "max": float(ranked[-1]),
    }


def number(value: object, scale: float = 1.0) -> float | None:
    """Returns a finite number of a file, scaled; None for anything else, and below zero."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        scaled = float(value) * scale
    except OverflowError:
        return None
    return scaled if math.isfinite(scaled) and 0 <= scaled < 2**63 else None


def unlike(flows: Sequence[Flow]) -> list[Flow]:
    """Gives flows of one name numbers, so that names differ; returns them. Names that no table has room for are cut."""
    seen: set[str] = set()
    for flow in flows:
        if len(flow.name) > _LONGEST:
            flow.name = f"{flow.name[: _LONGEST - 1]}…"
        name, count = flow.name, 1
        while flow.name in seen:
            count += 1
            flow.name = f"{name} {count}"
        seen.add(flow.name)
    return list(flows)


def with_rates(flow: Flow) -> Flow:
    """Sets the delivery rate of rows without one to that since the row before."""
    before: tuple[float, float] | None = None
    for row in flow.rows:
        time, delivered = row["time"], row.get("delivered")
        if time is None or delivered is None:
            continue
        if before and time > before[0] and row.get("delivery_rate") is None:
            row["delivery_rate"] = max(8 * (delivered - before[1]) / (time - before[0]), 0.0)
        before = (time, delivered)
    return flow
