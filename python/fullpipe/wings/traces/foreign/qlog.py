"""qlog of QUIC stacks, JSON and JSON-SEQ, of the drafts from 00 to 0.4."""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from fullpipe.wings.traces.foreign.flow import Flow, ForeignError, number, with_rates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TIMES = {"smoothed_rtt": "srtt", "latest_rtt": "rtt", "min_rtt": "min_rtt"}
_OTHERS = {
    "congestion_window": "cwnd",
    "cwnd": "cwnd",
    "current_cwnd": "cwnd",  # mvfst before 2025
    "bytes_in_flight": "inflight",
    "ssthresh": "ssthresh",
    "pacing_rate": "pacing_rate",  # bit/s
    "delivered": "delivered",  # fullpipe's own
    "lost": "lost",
}
_METRICS = {
    "metrics_updated",  # drafts 02 to 0.4
    "recovery_metrics_updated",  # after 0.4
    "metric_update",  # drafts 00 and 01
    "congestion_metric_update",  # mvfst before 2025
}
_PARAMETERS = {"parameters_set", "recovery_parameters_set"}
_APPLICATION = {"1RTT", "ONERTT", "1-RTT", "APPLICATION_DATA", "UNKNOWN"}
"""Names of packets with 1-RTT keys, in capitals; "UNKNOWN" comes from converters of other formats."""
_MOST_PACKETS = 1_000_000
"""The largest number of packets of a connection that are in flight or lost at a time."""
_BETWEEN = re.compile(r"[\s,]*")
_ROUNDING_S = 2e-3
"""Times and RTTs may be rounded to milliseconds each."""
_LEAST_FULL, _MOST_FULL = 1000.0, 9000.0
"""Sizes of full packets, bytes; a burst that is sent as one is larger."""
_FASTER = 3.0
"""A flow that is this much faster than its median pacing rate in bits has it in bytes."""
_UNITS = (1e3, 1.0, 1e-3)
"""Factors from an RTT as the file should have it to one in seconds, milliseconds, or microseconds."""


@dataclass
class _Clock:
    """The time in a trace, which all its flows have in common."""

    unit: float = 1e-3
    delta: bool = False
    now: float = 0.0
    began: float | None = None

    def tick(self, time: float) -> None:
        if self.delta:
            self.now += time * self.unit
            return
        if self.began is None and time * self.unit > 1e8:  # since 1970
            self.began = time
        self.now = max((time - (self.began or 0.0)) * self.unit, 0.0)


@dataclass
class _Trace:
    """One flow while its events are read."""

    flow: Flow
    clock: _Clock
    sent: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Size and time of the packets in flight, and of lost ones, by number."""
    acked: float = 0.0
    lost: float = 0.0
    tells_lost: bool = False
    """Whether the metrics have the lost bytes, as those of fullpipe do."""
    counts_lost: bool = False
    """Whether the metrics have the number of lost packets alone."""
    gap: float | None = None
    """The time from the largest packet of the last ACK to the ACK, seconds."""
    rtts: list[tuple[float, float]] = field(default_factory=list)
    """Times of RTT samples, and the samples."""
    votes: list[int] = field(default_factory=lambda: [0] * len(_UNITS))
    """The number of RTTs that agree with `gap` in each of `_UNITS`."""
    acks: list[dict[str, float | None]] = field(default_factory=list)
    """Rows at ACKs, for a file without metrics."""
    first_sent: float | None = None
    out: float = 0.0
    """Bytes sent, of all packets."""
    sizes: Counter[float] = field(default_factory=Counter)
    """The number of packets of each size."""
    edges: deque[tuple[float, float]] = field(default_factory=deque)
    """Times of packets, with the bytes sent before each, while its acknowledgment has not been seen or inferred."""
    gone: list[float | None] = field(default_factory=list)
    """Bytes sent that are neither in flight nor lost, at each row, for a file without ACKs."""


def is_qlog(value: dict[str, Any]) -> bool:
    """Whether a JSON object, the whole file or its first record, is of qlog."""
    return any(key in value for key in ("qlog_version", "qlog_format", "file_schema"))


def flows(value: dict[str, Any], name: str) -> list[Flow]:
    """Returns the traces of a JSON file, one flow for each `group_id`.

    Raises:
        ForeignError: When no trace has metrics or ACKs.
    """
    traces = value.get("traces")
    found: list[Flow] = []
    for trace in traces if isinstance(traces, list) else []:
        events = trace.get("events") if isinstance(trace, dict) else None
        if isinstance(events, list):
            found += _named(_flows(trace, events), trace, value)
    return _counted(_checked(found, name), value)


def of_cut(text: str) -> dict[str, Any] | None:
    """Returns a JSON file whose end is missing, as a program that was ended leaves it; None for other files."""
    begin = re.search(r'"events"\s*:\s*\[', text)
    if begin is None:
        return None
    try:
        value = json.loads(text[: begin.end()] + "]}]}")
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not is_qlog(value):
        return None
    traces = value.get("traces")
    if not isinstance(traces, list) or not traces or not isinstance(traces[-1], dict):
        return None
    events, decoder, at = [], json.JSONDecoder(), begin.end()
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
        try:
            event, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        events.append(event)
    traces[-1]["events"] = events
    return value


def records(lines: Iterable[str], name: str) -> tuple[list[Flow], int]:
    """Returns the flows of a JSON-SEQ file, and the number of records that could not be read.

    Raises:
        ForeignError: When there are no metrics or ACKs.
    """
    bad = 0
    head: dict[str, Any] = {}
    whole: dict[str, Any] = {}

    def events() -> Iterator[dict[str, Any]]:
        nonlocal bad
        for line in lines:
            text = line.strip("\x1e \r\n\t")
            if not text:
                continue
            try:
                record = json.loads(text)
            except (ValueError, RecursionError):
                bad += 1
                continue
            if isinstance(record, dict) and is_qlog(record):
                trace = record.get("trace")
                head.update(trace if isinstance(trace, dict) else {})
                whole.update(record)
            else:
                yield record

    found = _flows(head, events())
    return _counted(_checked(_named(found, head, whole), name), whole), bad


def _checked(found: list[Flow], name: str) -> list[Flow]:
    kept = [flow for flow in found if flow.rows]
    if not kept:
        raise ForeignError(
            f"{name}: a qlog without metrics_updated, and without ACKs of packets it has sent\n"
            "  fix: let the sender write the events of recovery and transport"
        )
    return kept


def _summary(whole: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the summary of a file that fullpipe wrote."""
    summary = whole.get("summary")
    own = isinstance(summary, dict) and str(summary.get("generator")).startswith("fullpipe ")
    return summary if own else None


def _named(found: list[Flow], about: dict[str, Any], whole: dict[str, Any]) -> list[Flow]:
    """Gives the flow of a trace that fullpipe wrote its name, which is the trace's title."""
    title = about.get("title")
    if _summary(whole) is not None and isinstance(title, str) and len(found) == 1:
        found[0].name = title
    return found


def _counted(found: list[Flow], whole: dict[str, Any]) -> list[Flow]:
    """Gives flows of fullpipe's own files the counts of the run, whose packets have no events of their own."""
    summary = _summary(whole)
    if summary is None:
        return found
    counts, goodputs = summary.get("counts"), summary.get("goodput")
    begin = (number(summary.get("measure_from")) or 0.0) / 1e3
    for flow in found:
        own = counts.get(flow.name) if isinstance(counts, dict) else None
        own = own if isinstance(own, dict) else {}
        flow.sent, flow.retransmits = _whole(own.get("sent")), _whole(own.get("retransmits"))
        flow.lost = None
        flow.loss_fraction = number(own.get("loss_fraction"))
        flow.drops, flow.marks = _whole(own.get("drops")), _whole(own.get("marks"))
        flow.goodput_bps = number(goodputs.get(flow.name)) if isinstance(goodputs, dict) else None
        flow.measured_from_s = begin
        flow.rtts = [
            rtt for row in flow.rows if (row["time"] or 0.0) >= begin and (rtt := row.get("rtt"))
        ]
    return found


def _flows(about: dict[str, Any], events: Iterable[Any]) -> list[Flow]:
    """Returns flows of one trace; `about` is filled, by JSON-SEQ, before the first event comes."""
    of: dict[str, _Trace] = {}
    clock: _Clock | None = None
    for event in events:
        taken = _event(about, event)
        if taken is None:
            continue
        clock = clock or _clock(about)
        group, time, name, data = taken
        clock.tick(time)
        trace = of.get(group)
        if trace is None:
            trace = of[group] = _Trace(Flow(group or _name(about), is_quic=_is_quic(about)), clock)
        _take(trace, name, data)
    return [_ended(trace) for trace in of.values()]


def _ended(trace: _Trace) -> Flow:
    flow = trace.flow
    votes = trace.votes
    factor = _UNITS[votes.index(max(votes))] if any(votes) else 1.0
    if factor != 1.0:
        # Not as the drafts say, but as the times of the packets show: quinn 0.11 writes seconds.
        for row in flow.rows:
            for column in _TIMES.values():
                if (rtt := row.get(column)) is not None:
                    row[column] = rtt * factor
        trace.rtts = [(time, rtt * factor) for time, rtt in trace.rtts]
    _without_defaults(trace)
    if not trace.acks and not any("delivered" in row for row in flow.rows):
        # quinn's files have the data in flight, and no ACKs.
        most = 0.0
        for row, gone in zip(flow.rows, trace.gone, strict=True):
            if gone is not None:
                row["delivered"] = most = max(most, gone)
    flow.rows = flow.rows or trace.acks
    full = [(count, size) for size, count in trace.sizes.items() if _is_full(size) and count > 1]
    if flow.segment is None and full:
        flow.segment = max(full)[1]
    _in_bits(flow)
    return with_rates(flow)


def _is_full(size: float) -> bool:
    return _LEAST_FULL <= size <= _MOST_FULL


def _in_bits(flow: Flow) -> None:
    """Takes pacing rates as bytes per second, quiche's, if the flow was far faster than it paced in bits."""
    known = [
        row for row in flow.rows if row.get("pacing_rate") and row.get("delivered") is not None
    ]
    if len(known) < 2:
        return
    span = (known[-1]["time"] or 0.0) - (known[0]["time"] or 0.0)
    bits = 8 * ((known[-1]["delivered"] or 0.0) - (known[0]["delivered"] or 0.0))
    rate = bits / span if span > 0 else 0.0
    if rate > _FASTER * median(row["pacing_rate"] or 0.0 for row in known):
        for row in known:
            row["pacing_rate"] = 8 * (row["pacing_rate"] or 0.0)


def _without_defaults(trace: _Trace) -> None:
    """Takes out the RTT that a stack assumes before its first sample: it is longer than the connection is old."""
    sent = trace.first_sent
    for row in trace.flow.rows if sent is not None else ():
        age = (row["time"] or 0.0) - (sent or 0.0) + _ROUNDING_S
        for column in _TIMES.values():
            if (row.get(column) or 0.0) > age:
                row[column] = None
    trace.flow.rtts = [
        rtt for time, rtt in trace.rtts if sent is None or rtt <= time - sent + _ROUNDING_S
    ]


def _common(about: dict[str, Any]) -> dict[str, Any]:
    common = about.get("common_fields")
    return common if isinstance(common, dict) else {}


def _is_quic(about: dict[str, Any]) -> bool:
    """Returns whether the protocol is not TCP, which fullpipe's files name."""
    return "TCP" not in str(_common(about).get("protocol_type", ""))


def _clock(about: dict[str, Any]) -> _Clock:
    configuration = about.get("configuration")
    common = _common(about)
    units = (configuration if isinstance(configuration, dict) else {}).get(
        "time_units"
    ) or common.get("time_units")
    return _Clock(
        unit=1e-6 if units == "us" else 1e-3,
        delta=common.get("time_format") in ("delta", "relative_to_previous_event"),
    )


def _name(about: dict[str, Any]) -> str:
    """Returns a name for flows without `group_id`: the protocol, and which end wrote the file."""
    name = "TCP" if _common(about).get("protocol_type") in ("TCP", ["TCP"]) else "QUIC"
    vantage = about.get("vantage_point")
    end = vantage.get("type") if isinstance(vantage, dict) else None
    return f"{name} {end.lower()}" if end in ("client", "server", "CLIENT", "SERVER") else name


def _event(about: dict[str, Any], event: Any) -> tuple[str, float, str, dict[str, Any]] | None:  # noqa: ANN401
    """Returns group, time, name without category, and data of an event; None if it has not these."""
    if isinstance(event, list):  # drafts 00 and 01
        names = about.get("event_fields")
        if not isinstance(names, list):
            return None
        event = {str(key).lower(): value for key, value in zip(names, event, strict=False)}
    if not isinstance(event, dict):
        return None
    time = _number(event.get("time", event.get("relative_time", event.get("delta_time"))))
    name = event.get("name", event.get("event", event.get("event_type")))
    data = event.get("data")
    if time is None or not isinstance(name, str):
        return None
    group, path = event.get("group_id", ""), event.get("path_id")
    group = group if isinstance(group, str) else ""
    if path and isinstance(path, int | str):  # picoquic's, of multipath
        group = f"{group} path {path}".strip()
    name = name.rpartition(":")[2].lower()
    return group, time, name, data if isinstance(data, dict) else {}


def _take(trace: _Trace, name: str, data: dict[str, Any]) -> None:
    flow = trace.flow
    if name in _PARAMETERS:
        cc = data.get("congestion_control")
        flow.cc = cc if isinstance(cc, str) else flow.cc
        flow.segment = number(data.get("max_datagram_size")) or flow.segment
    elif name in _METRICS:
        _metrics(trace, data)
        state = data.get("state")
        if isinstance(state, str) and state not in (
            "",
            flow.changes[-1][1] if flow.changes else "",
        ):
            flow.changes.append((trace.clock.now, state))
    elif name == "congestion_state_updated":
        state, before = data.get("new"), data.get("old")
        if isinstance(before, str) and not flow.changes:
            # The first change tells the state from the start on.
            flow.changes.append((flow.rows[0]["time"] or 0.0 if flow.rows else 0.0, before))
        if isinstance(state, str):
            flow.changes.append((trace.clock.now, state))
    elif name == "packet_sent":
        _sent(trace, data)
    elif name == "packet_lost":
        flow.lost = (flow.lost or 0) + 1
        if (at := _number_of(data)) is not None:
            trace.lost += trace.sent.get(at, (0.0, 0.0))[0] or _size(data)
    elif name == "packets_lost":  # mvfst's, of several packets
        flow.lost = (flow.lost or 0) + (_whole(data.get("lost_packets")) or 0)
        trace.lost += number(data.get("lost_bytes")) or 0.0
    elif name == "packet_received":
        _acks(trace, data)
    elif name == "packets_acked":
        numbers = data.get("packet_numbers")
        if str(data.get("packet_number_space", "application_data")) == "application_data":
            _acked(trace, [(at, at) for at in map(_whole, _list(numbers)) if at is not None])


def _sent(trace: _Trace, data: dict[str, Any]) -> None:
    flow, now, size = trace.flow, trace.clock.now, _size(data)
    flow.sent = (flow.sent or 0) + 1
    flow.lost = flow.lost or 0
    trace.first_sent = now if trace.first_sent is None else trace.first_sent
    trace.edges.append((now, trace.out))
    trace.out += size
    trace.sizes[size] += 1
    if (at := _number_of(data)) is not None:
        trace.sent[at] = (size, now)
    if len(trace.sent) > _MOST_PACKETS:
        del trace.sent[next(iter(trace.sent))]
    if len(trace.edges) > _MOST_PACKETS:
        trace.edges.popleft()


def _age(trace: _Trace, inflight: float) -> float | None:
    """Returns the time since the oldest packet of those in flight was sent; None without sizes of packets."""
    while len(trace.edges) > 1 and trace.edges[1][1] <= trace.out - inflight:
        trace.edges.popleft()
    return trace.clock.now - trace.edges[0][0] if trace.edges and trace.out else None


def _metrics(trace: _Trace, data: dict[str, Any]) -> None:
    flow = trace.flow
    before = flow.rows[-1] if flow.rows else {}
    row = {**before, "time": trace.clock.now, "delivery_rate": None}  # qlog has changes alone
    for key, column in _TIMES.items():
        if value := number(data.get(key), trace.clock.unit):  # 0 is no RTT
            row[column] = value
            if column == "rtt":
                trace.rtts.append((trace.clock.now, value))
                if not trace.acks and (inflight := before.get("inflight")):
                    trace.gap = _age(trace, inflight)
                _vote(trace, value)
    for key, column in _OTHERS.items():
        if (value := number(data.get(key))) is not None:
            row[column] = value
    if trace.acked:
        row["delivered"] = trace.acked
    inflight = row.get("inflight")
    if inflight is None or not trace.out:
        trace.gone.append(None)
    else:
        trace.gone.append(max(trace.out - trace.lost - inflight, 0.0))
    lost = data.get("cf_lost_packets")  # quiche's, which has no events of lost packets
    if isinstance(lost, dict) and (total := number(lost.get("total"))) is not None:
        flow.lost, trace.counts_lost = int(total), True
    trace.tells_lost = trace.tells_lost or "lost" in data
    if flow.lost is not None and not trace.tells_lost:
        row["lost"] = None if trace.counts_lost else trace.lost
        row["lost_packets"] = flow.lost
    flow.rows.append(row)


def _vote(trace: _Trace, rtt: float) -> None:
    for at, factor in enumerate(_UNITS):
        if trace.gap and 0.5 < trace.gap / (rtt * factor) < 2:
            trace.votes[at] += 1


def _number(value: object) -> float | None:
    """Returns a number, also one written as a text, as quiche once did."""
    if isinstance(value, str) and len(value) < 30:
        try:
            value = float(value)
        except ValueError:
            return None
    return number(value)


def _header(data: dict[str, Any]) -> dict[str, Any]:
    header = data.get("header")
    return header if isinstance(header, dict) else data


def _number_of(data: dict[str, Any]) -> int | None:
    """Returns the number of a packet of 1-RTT keys; None for others, which are of other spaces."""
    header = _header(data)
    kind = header.get("packet_type", data.get("packet_type", data.get("type", "1RTT")))
    found = _whole(header.get("packet_number", data.get("packet_number")))
    return found if str(kind).upper() in _APPLICATION else None


def _whole(value: object) -> int | None:
    """Returns a whole number, also one written as a text, as drafts before 02 have it."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) and 0 <= value < 1 << 62 else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _size(data: dict[str, Any]) -> float:
    raw = data.get("raw")
    of_raw = raw.get("length") if isinstance(raw, dict) else None
    header = _header(data)
    sizes = (of_raw, header.get("packet_size"), header.get("length"), data.get("packet_size"))
    return next((size for each in sizes if (size := number(each))), 0.0)


def _acks(trace: _Trace, data: dict[str, Any]) -> None:
    if _number_of(data) is None:
        return
    ranges = []
    for frame in _list(data.get("frames")):
        for pair in _list(frame.get("acked_ranges") if isinstance(frame, dict) else None):
            ends = [end for each in _list(pair) if (end := _whole(each)) is not None]
            if ends:  # one number stands for a range of it alone
                ranges.append((min(ends), max(ends)))
    _acked(trace, ranges)


def _acked(trace: _Trace, ranges: list[tuple[int, int]]) -> None:
    """Takes acknowledged ranges of packet numbers, both ends included."""
    largest = max((last for _, last in ranges), default=-1)
    rtt, new = None, False
    for first, last in ranges:
        # An ACK repeats old ranges; fewer packets are in flight.
        span = range(first, last + 1)
        found = (
            [at for at in trace.sent if at in span]
            if last - first >= len(trace.sent)
            else [at for at in span if at in trace.sent]
        )
        for at in found:
            size, sent = trace.sent.pop(at)
            trace.acked += size
            new = True
            # RFC 9002, section 5.1: a sample only if the largest is new; events can be out of order.
            if at == largest and trace.clock.now >= sent:
                trace.gap = rtt = trace.clock.now - sent
    if new:
        trace.acks.append(
            {
                "time": trace.clock.now,
                "delivered": trace.acked,
                "rtt": rtt,
                "lost": trace.lost,
                "lost_packets": trace.flow.lost,
            }
        )
