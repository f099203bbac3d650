"""TCP flows and QUIC connections of captured packets, as series over time.

The times come from one capture. RTTs are one of two parts of a round trip: from data to their ACK,
and from an ACK to the data that echo its timestamp. At the sender the first is the whole RTT, at the
receiver the second; the handshake shows which part is the larger one, or else the samples do. Data
that waited for the application show nothing. Those of QUIC are the times between changes of the
spin bit.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fullpipe.results.total import Total
from fullpipe.wings.traces.foreign.flow import LEAST_BYTES, Flow, with_rates
from fullpipe.wings.traces.foreign.scoreboard import Scoreboard

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fullpipe.wings.traces.foreign.capture import Segment

    End = tuple[bytes, int]

MOST_FLOWS = 20
"""The largest number of flows that are kept of a capture: those with the most bytes."""
_MOST_TRACKED = 200_000
_MOST_OF_ACKS = 0.05
"""A direction of a QUIC connection with a smaller share of the other's bytes is its ACKs, and no flow: QUIC encrypts
which packets are. ACKs of 40 bytes for each packet of 1,400 are 3 %."""
_SYN, _ACK = 2, 16
_CLEARLY = 2.0
"""The parts of a handshake say where the capture was made if one is this much longer than the other."""
_LOOSE = 0.25
"""The largest part of a time from an ACK to an echo of it that may be up to the sender, not the path."""
_LONG, _SHORT = 0xC0, 0x40
"""The two highest bits of a QUIC packet with a long, and with a short header."""
_VERSIONS = {1, 0x6B3343CF}
_DRAFTS = 0xFF0000
_PORT = 443


@dataclass
class _Way:
    """One direction of a connection: its data and the other direction's ACKs."""

    source: End
    target: End
    tcp: bool
    step: float
    exact: bool
    first: float | None = None
    last: float = 0.0
    bytes: int = 0
    packets: int = 0
    again: int = 0
    board: Scoreboard | None = None
    initial: int | None = None
    """The number of the SYN."""
    seen: bool = False
    """Whether it has a packet."""
    scale: int = 0
    window: int | None = None
    shaking: tuple[int, float | None] | None = None
    """The number after the SYN, and its time until it is acknowledged; without a time if it was sent twice."""
    shook: tuple[float, float] | None = None
    """The time of the SYN's ACK, and the time that it took."""
    stamp: int | None = None
    stamps: dict[int, list[float]] = field(default_factory=dict)
    """The time of the first ACK with a timestamp, and that of the first one with the next timestamp."""
    forth: list[tuple[float, float]] = field(default_factory=list)
    back: list[tuple[float, float]] = field(default_factory=list)
    spins: list[float] = field(default_factory=list)
    spin: int | None = None
    short: int = 0
    quic: bool = False
    rows: dict[int, dict[str, float | None]] = field(default_factory=dict)

    def row(self, time: float) -> dict[str, float | None]:
        return self.rows.setdefault(max(int(time / self.step), 0), {})

    def _last_row(self, time: float) -> dict[str, float | None]:
        row = self.row(time)
        if self.exact:
            row["time"] = max(time, 0.0)
        return row

    def data(self, packet: Segment) -> None:
        """Counts a packet that carries payload or a SYN of this direction."""
        self.first = packet.time if self.first is None else self.first
        self.packets += 1
        self.bytes += packet.size
        if not self.tcp:
            self._datagram(packet)
            return
        board = self.board = self.board or Scoreboard(packet.seq)
        end = board.edge + _signed(packet.seq + packet.size - board.edge)
        if not board.send(end, packet.size, packet.time):
            self.again += 1
        if packet.echo is not None and (acks := self.stamps.pop(packet.echo, None)) is not None:
            self._echoed(packet.time, acks)
        self._note(packet.time)

    def _echoed(self, time: float, acks: list[float]) -> None:
        """Takes the first data that echo an ACK.

        They left the sender before the next ACK came there. Without a next one, they may have waited for any time.
        """
        rtt = time - acks[0]
        if len(acks) > 1 and acks[1] - acks[0] <= _LOOSE * rtt:
            self.back.append((time, rtt))

    def ack(self, packet: Segment) -> None:
        """Takes a packet of the other direction that acknowledges data of this one."""
        if packet.stamp is not None and packet.stamp != self.stamp:
            if self.stamp in self.stamps:
                self.stamps[self.stamp].append(packet.time)
            if len(self.stamps) > _MOST_TRACKED:
                self.stamps.clear()
            self.stamps.setdefault(packet.stamp, [packet.time])
            self.stamp = packet.stamp
        if self.shaking and packet.flags & _ACK and packet.ack == self.shaking[0]:
            if self.shaking[1] is not None:
                self.shook = packet.time, packet.time - self.shaking[1]
            self.shaking = None
        if packet.window is not None:
            self.window = packet.window << (0 if packet.flags & _SYN else self.scale)
        if self.board is None:
            return
        at = self.board.acked
        number = at + _signed(packet.ack - at)
        blocks = [
            (at + _signed(first - at), at + _signed(last - at)) for first, last in packet.sacks
        ]
        progress, sent = self.board.acknowledge(number, blocks)
        if progress:
            self.last = packet.time
        if sent is not None:
            self.forth.append((packet.time, packet.time - sent))
        self._note(packet.time)

    def _datagram(self, packet: Segment) -> None:
        form = packet.head[0] & 0xC0 if packet.head else 0
        if form == _LONG:
            version = int.from_bytes(packet.head[1:], "big")
            self.quic = self.quic or version in _VERSIONS or version >> 8 == _DRAFTS
        elif form == _SHORT:
            self.short += 1
            self._spun(packet.time, packet.head[0] >> 5 & 1)
        self.last = packet.time
        self._last_row(packet.time)["delivered"] = self.bytes

    def _spun(self, time: float, spin: int) -> None:
        if self.spin is not None and spin != self.spin:
            edges = self.spins
            if len(edges) > 1 and time - edges[-1] < (edges[-1] - edges[-2]) / 8:
                edges.pop()  # a packet out of order looks like two edges (RFC 9312, section 3.8.2)
            else:
                edges.append(time)
        self.spin = spin

    def _note(self, time: float) -> None:
        if self.board is None:
            return
        row = self._last_row(time)
        row["delivered"] = self.board.delivered
        row["inflight"] = self.board.inflight
        row["retransmits"] = self.again
        row["receive_window"] = self.window

    def is_quic(self) -> bool:
        """Returns whether a header shows QUIC, or all do not deny it and the port is that of HTTP/3."""
        ports = (self.source[1], self.target[1])
        return self.quic or (_PORT in ports and self.short == self.packets)

    def syn(self, packet: Segment) -> None:
        """Takes a SYN of this direction."""
        number = packet.seq + 1 & 0xFFFFFFFF
        self.initial = packet.seq
        if self.shook is None and not self.packets:
            again = self.shaking is not None and self.shaking[0] == number
            self.shaking = number, None if again else packet.time
            self.board = Scoreboard(number)

    def flow(self, other: _Way, *, quic: bool) -> Flow:
        """Returns the flow of its data.

        Args:
            other: The other direction.
            quic: Whether a datagram of either direction is QUIC's.
        """
        rtts = self._rtts(other) if quic or self.tcp else []
        for time, rtt in rtts:
            self.row(time)["rtt"] = rtt
        rows = [{"time": (at + 1) * self.step, **row} for at, row in sorted(self.rows.items())]
        kind = "TCP" if self.tcp else "QUIC" if quic else "UDP"
        name = f"{kind} {_end(self.source)} → {_end(self.target)}"
        flow = Flow(
            name, rows=rows, sent=self.packets, retransmits=self.again if self.tcp else None
        )
        flow.rtts = [rtt for _, rtt in rtts]
        delivered = rows[-1].get("delivered") if rows else None
        if delivered and self.first is not None and self.last > self.first:
            flow.goodput_bps = 8 * delivered / (self.last - self.first)
        return with_rates(flow)

    def _rtts(self, other: _Way) -> list[tuple[float, float]]:
        if not self.tcp:
            gaps = [(a, b) for a, b in zip(self.spins, self.spins[1:], strict=False) if b >= a]
            # A bit that changes with every few packets is random, as RFC 9000 lets endpoints set it.
            return [(b, b - a) for a, b in gaps] if 4 * len(gaps) < self.packets else []
        forth, back = self.shook, other.shook
        found = self.forth
        if forth and back and max(forth[1], back[1]) > _CLEARLY * min(forth[1], back[1]):
            at_receiver = back[1] > forth[1]
        else:
            at_receiver = _low(self.back) > _low(self.forth)
        if at_receiver:
            found = self.back or ([back] if back else [])
        return [each for each in found if each[1] >= 0]  # a clock can be set back


def connections(
    packets: Iterable[Segment],
    *,
    step: float,
    exact: bool = False,
    of: bytes | None = None,
) -> tuple[list[Flow], Total]:
    """Returns the largest flows of packets, each direction of a connection with data for itself, and sums over all.

    Args:
        packets: The packets, by time.
        step: The time between samples, seconds.
        exact: Whether the time of a row is that of its last packet, rather than the end of its step.
        of: The address whose sent data are the flows; by default every one's.
    """
    current: dict[tuple[End, End, bool], _Connection] = {}
    ended = []
    for packet in packets:
        ends = sorted((packet.source, packet.target))
        key = (ends[0], ends[1], packet.tcp)
        connection = current.get(key)
        if connection is None or connection.ends_before(packet):
            if connection and any(way.bytes >= LEAST_BYTES for way in connection.ways.values()):
                ended.append(connection)
            connection = current[key] = _Connection(packet, step, exact=exact)
        connection.add(packet)
    every = [*ended, *current.values()]
    ways = [
        (way, each.ways[way.target])
        for each in every
        for way in each.ways.values()
        if of in (None, way.source[0])
    ]
    found = []
    for way, other in sorted(ways, key=lambda each: -each[0].bytes):
        quic = way.is_quic() or other.is_quic()
        least = other.bytes * _MOST_OF_ACKS if quic else 0.0
        if way.bytes >= max(LEAST_BYTES, least):
            found.append((way, other, quic))
    kept = [way.flow(other, quic=quic) for way, other, quic in found[:MOST_FLOWS]]
    sent = [way for way, *_ in found]
    return kept, Total(
        len(kept),
        len(found),
        sum(way.bytes for way in sent),
        sum(way.packets for way in sent),
        sum(way.again for way in sent) if all(way.tcp for way in sent) else None,
    )


def untimed(flow: Flow) -> Flow:
    """Returns a flow without rates and RTTs, for a capture that lacks times."""
    last = {**flow.rows[-1], "rtt": None, "delivery_rate": None}
    flow.rows, flow.rtts, flow.goodput_bps = [last], [], None
    return flow


class _Connection:
    """Both directions of a connection, by the end that sends."""

    def __init__(self, first: Segment, step: float, *, exact: bool) -> None:
        ends = ((first.source, first.target), (first.target, first.source))
        self.ways = {end: _Way(end, other, first.tcp, step, exact) for end, other in ends}

    def ends_before(self, packet: Segment) -> bool:
        """Returns whether a packet begins another connection of the same ports: its SYN has another number."""
        if not packet.tcp or not packet.flags & _SYN:
            return False
        way, other = self.ways[packet.source], self.ways[packet.target]
        another = way.initial != packet.seq
        if packet.flags & _ACK:
            # A server that keeps no state may answer each SYN with another number.
            return another and way.seen and bool(way.packets or other.packets)
        return another and (way.seen or other.packets > 0)

    def add(self, packet: Segment) -> None:
        """Takes the next packet."""
        way, other = self.ways[packet.source], self.ways[packet.target]
        way.seen = True
        if packet.tcp:
            if packet.flags & _SYN:
                # The window that this end advertises limits the other direction.
                other.scale = packet.scale or 0
                way.syn(packet)
            if packet.flags:  # no later fragment
                other.ack(packet)
        if packet.size:
            way.data(packet)


def _signed(difference: int) -> int:
    return (difference + 2**31) % 2**32 - 2**31


def _low(samples: list[tuple[float, float]]) -> float:
    """Returns the 10th percentile: of many samples the larger part can be waits, for a queue or a delayed ACK."""
    return sorted(rtt for _, rtt in samples)[len(samples) // 10] if samples else -1.0


def _end(end: End) -> str:
    address = ipaddress.ip_address(end[0])
    return f"[{address}]:{end[1]}" if address.version == 6 else f"{address}:{end[1]}"
