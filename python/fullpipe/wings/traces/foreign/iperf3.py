"""Results of `iperf3 --json`: one flow for each stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fullpipe.wings.traces.foreign.flow import Flow, ForeignError, number, with_rates

if TYPE_CHECKING:
    from collections.abc import Iterable

_WRITTEN = "its goodput is the rate written to the socket, the file does not have what arrived: use the other side's"
_UNKNOWN = (
    "it has no goodput: the file has the rate sent, and not what arrived: use the other side's"
)


@dataclass
class _Stream:
    """A stream while its intervals are read: whether this side sends, and the bytes and seconds of the intervals."""

    flow: Flow
    sends: bool
    udp: bool
    bytes: float = 0.0
    seconds: float = 0.0
    ends: set[float] = field(default_factory=set)

    def rate(self) -> float | None:
        """Returns the mean rate of the intervals in bit/s."""
        return 8 * self.bytes / self.seconds if self.seconds else None


def is_iperf3(value: dict[str, Any]) -> bool:
    """Whether a JSON object is of iperf3."""
    return isinstance(value.get("intervals"), list) and isinstance(value.get("end"), dict)


def is_event(value: dict[str, Any]) -> bool:
    """Whether a JSON object is an event of `iperf3 --json-stream`."""
    return isinstance(value.get("event"), str) and "data" in value


def of_events(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Returns the results of the events of `--json-stream`, as `--json` has them."""
    whole: dict[str, Any] = {"start": {}, "intervals": [], "end": {}}
    for event in events:
        name, data = event["event"], event["data"]
        if name == "interval":
            whole["intervals"].append(data)
        elif name == "error" or isinstance(data, dict):
            whole[name] = data
    return whole


def flows(value: dict[str, Any], name: str) -> tuple[list[Flow], list[str]]:
    """Returns the streams: bitrate and retransmissions, and cwnd and RTT if iperf3 was the sender; and warnings.

    The goodput is what arrived. A side writes 0 for an unknown total of the other side.

    Raises:
        ForeignError: When there is no interval.
    """
    end = value["end"]
    start = _object(value.get("start"))
    test = _object(start.get("test_start"))
    cc = end.get("sender_tcp_congestion")
    of: dict[int, _Stream] = {}
    for interval in value["intervals"]:
        for each in _list(_object(interval).get("streams")):
            if not isinstance(each, dict) or not isinstance(each.get("socket"), int):
                continue
            stream = of.get(each["socket"])
            if stream is None:
                udp = test.get("protocol") == "UDP" or "packets" in each
                # Old files do not say who sends; only a sender counts retransmissions, only a receiver the jitter.
                sends = each.get("sender", "jitter_ms" not in each if udp else "snd_cwnd" in each)
                flow = Flow(f"iperf3 {len(of) + 1}", cc if isinstance(cc, str) else "unknown")
                stream = of[each["socket"]] = _Stream(flow, sends is True, udp)
            _add(stream, each)
    if not of:
        error = value.get("error")
        said = f": iperf3 said: {error}" if isinstance(error, str) else ""
        raise ForeignError(f"{name}: iperf3's results have no interval{said}\n  fix: measure again")
    # Only the client gets the other side's results, at the end.
    first = next(iter(of.values()))
    client = "connecting_to" in start or (
        "accepted_connection" not in start and first.sends != (test.get("reverse") in (1, True))
    )
    knows = client and bool(end) and "error" not in value
    sending = [stream for stream in of.values() if stream.udp and stream.sends]
    total = _object(end.get("sum_received"))
    # The packets are those after the omitted time, the lost ones all.
    omitted = bool(test.get("omit")) and (len(sending) > 1 or not total)
    ends = _ends(of, _list(end.get("streams")))
    warnings = []
    for socket, stream in of.items():
        last = ends.get(socket, {})
        warning = (
            _udp(stream, last, knows=knows and not omitted)
            if stream.udp
            else _tcp(stream, last, knows=knows, ended="error" not in value)
        )
        if warning:
            warnings.append(f"{name}: {stream.flow.name}: {warning}")
    if knows and not omitted:
        _shared(sending, total)
        for stream in sending if test.get("omit") else ():
            stream.flow.lost = None
    return [with_rates(stream.flow) for stream in of.values()], warnings


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _ends(of: dict[int, _Stream], ends: list[Any]) -> dict[int, dict[str, Any]]:
    """Returns the totals of each stream, which have its socket's number or, in old files, its place."""
    found = {}
    for socket, last in zip(of, ends, strict=False):
        sides = _object(last)
        numbers = [_object(side).get("socket") for side in sides.values()]
        found[next((each for each in numbers if each in of), socket)] = sides
    return found


def _tcp(stream: _Stream, last: dict[str, Any], *, knows: bool, ended: bool) -> str | None:
    """Sets the goodput of a stream of TCP; returns a warning about it.

    The totals of an interrupted test are over a wrong time.
    """
    flow, sender = stream.flow, _object(last.get("sender"))
    again = number(sender.get("retransmits"))
    if flow.retransmits is None and again is not None:  # intervals of a receiver lack it
        flow.retransmits = int(again)
    arrived = number(_object(last.get("receiver")).get("bits_per_second"))
    if not stream.sends:
        flow.goodput_bps = (arrived if ended else None) or stream.rate()
        return None
    if knows and arrived is not None:
        flow.goodput_bps = arrived
        return None
    written = number(sender.get("bits_per_second"))
    flow.goodput_bps = (written if ended else None) or stream.rate()
    return _WRITTEN


def _udp(stream: _Stream, last: dict[str, Any], *, knows: bool) -> str | None:
    """Sets the counts and the goodput of a stream of UDP; returns a warning about it.

    The rate of the totals is the one sent, on either side.
    """
    flow, total = stream.flow, _object(last.get("udp"))
    packets, lost = number(total.get("packets")), number(total.get("lost_packets"))
    flow.sent = None if packets is None else int(packets)
    if lost is not None and (knows or not stream.sends):
        flow.lost = int(lost)
    if not stream.sends:
        flow.goodput_bps = stream.rate()
        return None
    sent = number(total.get("bits_per_second"))
    if not knows or sent is None or not packets or lost is None:
        return _UNKNOWN
    flow.goodput_bps = sent * max(1 - lost / packets, 0.0)
    return None


def _shared(streams: list[_Stream], total: dict[str, Any]) -> None:
    """Sets the goodputs of UDP sent by the receiver's total, which old files do not have."""
    arrived = number(total.get("bits_per_second"))
    parts = [stream.flow.goodput_bps or 0.0 for stream in streams]
    for stream, part in zip(streams, parts, strict=True):
        flow = stream.flow
        if arrived == 0:  # a receiver that got nothing counts no losses
            flow.goodput_bps, flow.lost = 0.0, flow.sent
        elif arrived and (len(streams) == 1 or sum(parts)):
            flow.goodput_bps = arrived * (1 if len(streams) == 1 else part / sum(parts))


def _add(stream: _Stream, interval: dict[str, Any]) -> None:
    flow, time = stream.flow, number(interval.get("end"))
    # A test that is interrupted can have its last interval twice.
    if time is None or interval.get("omitted") is True or time in stream.ends:
        return
    before = flow.rows[-1]["time"] if flow.rows else number(interval.get("start"))
    seconds = number(interval.get("seconds"))
    stream.ends.add(time)
    if (again := number(interval.get("retransmits"))) is not None:
        flow.retransmits = (flow.retransmits or 0) + int(again)
    stream.bytes += number(interval.get("bytes")) or 0.0
    stream.seconds += time - (before or 0.0) if seconds is None else seconds
    arrives = not (stream.udp and stream.sends)
    flow.rows.append(
        {
            "time": time,
            "delivered": stream.bytes if arrives else None,
            "delivery_rate": number(interval.get("bits_per_second")) if arrives else None,
            "cwnd": number(interval.get("snd_cwnd")) or None,
            "rtt": number(interval.get("rtt"), 1e-6) or None,
            "retransmits": flow.retransmits,
        }
    )
