"""Listings of `ss -tin` over time, each after a line with its time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from fullpipe.foreign.flow import LEAST_BYTES, Flow, ForeignError, with_rates

if TYPE_CHECKING:
    from collections.abc import Iterable

# The state is not there with a filter of it, as in `ss -tin state established`.
_SOCKET = re.compile(r"^(?:tcp +)?(?:[A-Z][A-Z0-9-]+ +)?\d+ +\d+ +(\S+:\d+) +(\S+:\d+)(?=\s|$)")
_FIELD = re.compile(
    r"\b(cwnd|ssthresh|mss|bytes_acked|rcv_space|unacked|data_segs_out):(\d{1,18})\b"
)
_RTT = re.compile(r"\brtt:(\d{1,12}(?:\.\d{1,9})?)/")
_MINRTT = re.compile(r"\bminrtt:(\d{1,12}(?:\.\d{1,9})?)")
_AGAIN = re.compile(r"\bretrans:\d{1,9}/(\d{1,12})\b")
_RATE = re.compile(r"\b(pacing_rate|delivery_rate) (\d{1,12}(?:\.\d{1,9})?)([KMGT]?)bps")
_CC = re.compile(r"(?:^|\s)([a-z][a-z0-9_-]*)(?= wscale:| rto:| mss:)")
_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_ss(text: str) -> bool:
    """Whether the first lines of a text are of ss, perhaps after a time."""
    return any(_SOCKET.match(line.strip()) for line in text.splitlines()[:50])


def flows(lines: Iterable[str], name: str) -> list[Flow]:
    """Returns the connections: cwnd, RTT, delivered bytes, retransmissions and rates at each listing.

    Raises:
        ForeignError: When no listing has a time before it.
    """
    of: dict[tuple[str, str], Flow] = {}
    now: int | None = None
    began: int | None = None
    flow: Flow | None = None
    for line in lines:
        text = line.strip()
        if (time := _time(text)) is not None:
            now, flow = time, None
            began = now if began is None else began
            continue
        if found := _SOCKET.match(text):
            flow = of.setdefault((found[1], found[2]), Flow(f"TCP {found[1]} → {found[2]}"))
            text = text[found.end() :].strip()  # with -O the rest is on this line
        if flow is not None and "cwnd:" in text:
            if now is None or began is None:
                raise ForeignError(
                    f"{name}: a listing of ss without its time\n  fix: write the time before each, as by "
                    "'while date +%s.%N && ss -tin; do sleep 0.1; done > FILE'"
                )
            _add(flow, text, (now - began) / 1e9)
            flow = None
    every = [with_rates(flow) for flow in of.values() if flow.rows]
    large = [flow for flow in every if (flow.rows[-1].get("delivered") or 0) >= LEAST_BYTES]
    return large or every


def _time(text: str) -> int | None:
    """Returns the nanoseconds since 1970 of a line that is a time."""
    if found := re.fullmatch(r"@?(\d{9,10})(?:\.(\d{1,9}))?", text):
        return int(found[1]) * 10**9 + int((found[2] or "").ljust(9, "0"))
    if re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", text):
        try:
            since = datetime.fromisoformat(text).astimezone(UTC) - _EPOCH
        except (ValueError, OverflowError):
            return None
        return since // timedelta(microseconds=1) * 1000
    return None


def _add(flow: Flow, text: str, time: float) -> None:
    if cc := _CC.search(text):
        flow.cc = cc[1]
    fields = {key: int(value) for key, value in _FIELD.findall(text)}
    rates = {key: float(value) * _SCALES[unit] for key, value, unit in _RATE.findall(text)}
    mss = fields.get("mss", 1448)
    rtt, least, again = _RTT.search(text), _MINRTT.search(text), _AGAIN.search(text)
    flow.retransmits = int(again[1]) if again else flow.retransmits or 0
    flow.sent = fields.get("data_segs_out", flow.sent)
    flow.rows.append(
        {
            "time": max(time, 0.0),
            "cwnd": fields["cwnd"] * mss if "cwnd" in fields else None,
            "ssthresh": fields["ssthresh"] * mss if "ssthresh" in fields else None,
            # ss leaves out counts that are 0.
            "inflight": fields.get("unacked", 0) * mss,
            "delivered": fields.get("bytes_acked"),
            "srtt": float(rtt[1]) / 1e3 if rtt else None,
            "rtt": float(rtt[1]) / 1e3 if rtt else None,
            "min_rtt": float(least[1]) / 1e3 if least else None,
            "retransmits": flow.retransmits,
            "pacing_rate": rates.get("pacing_rate"),
        }
    )
