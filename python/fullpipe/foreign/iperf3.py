"""Results of `iperf3 --json`: one flow for each stream."""

from __future__ import annotations

from typing import Any

from fullpipe.foreign.flow import Flow, ForeignError, number, with_rates


def is_iperf3(value: dict[str, Any]) -> bool:
    """Whether a JSON object is of iperf3."""
    return isinstance(value.get("intervals"), list) and isinstance(value.get("end"), dict)


def flows(value: dict[str, Any], name: str) -> list[Flow]:
    """Returns the streams: bitrate and retransmissions, and cwnd and RTT if iperf3 was the sender.

    Raises:
        ForeignError: When there is no interval.
    """
    end = value["end"]
    cc = end.get("sender_tcp_congestion")
    of: dict[Any, Flow] = {}
    for interval in value["intervals"]:
        streams = interval.get("streams") if isinstance(interval, dict) else None
        for stream in streams if isinstance(streams, list) else []:
            if isinstance(stream, dict) and isinstance(stream.get("socket"), int):
                flow = of.setdefault(
                    stream["socket"],
                    Flow(f"iperf3 {len(of) + 1}", cc if isinstance(cc, str) else "unknown"),
                )
                _add(flow, stream)
    if not of:
        error = value.get("error")
        said = f": iperf3 said: {error}" if isinstance(error, str) else ""
        raise ForeignError(f"{name}: iperf3's results have no interval{said}\n  fix: measure again")
    ends = end.get("streams") if isinstance(end.get("streams"), list) else []
    for flow, last in zip(of.values(), ends, strict=False):
        sides = last if isinstance(last, dict) else {}
        for side in ("sender", "udp", "receiver"):
            if isinstance(sides.get(side), dict):
                got = number(sides[side].get("bits_per_second"))
                flow.goodput_bps = flow.goodput_bps if got is None else got
                packets, lost = (
                    number(sides[side].get(key)) for key in ("packets", "lost_packets")
                )
                flow.sent = flow.sent if packets is None else int(packets)
                flow.lost = flow.lost if lost is None else int(lost)
                again = number(sides[side].get("retransmits"))
                if (
                    flow.retransmits is None and again is not None
                ):  # intervals of a receiver lack it
                    flow.retransmits = int(again)
    return [with_rates(flow) for flow in of.values()]


def _add(flow: Flow, stream: dict[str, Any]) -> None:
    time = number(stream.get("end"))
    if time is None or stream.get("omitted") is True:
        return
    before = flow.rows[-1] if flow.rows else {}
    if (again := number(stream.get("retransmits"))) is not None:
        flow.retransmits = (flow.retransmits or 0) + int(again)
    flow.rows.append(
        {
            "time": time,
            "delivered": (before.get("delivered") or 0.0) + (number(stream.get("bytes")) or 0.0),
            "delivery_rate": number(stream.get("bits_per_second")),
            "cwnd": number(stream.get("snd_cwnd")) or None,
            "rtt": number(stream.get("rtt"), 1e-6) or None,
            "retransmits": flow.retransmits,
        }
    )
