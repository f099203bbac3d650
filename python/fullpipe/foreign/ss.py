"""Listings of `ss -tin` over time, each after a line with its time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from fullpipe.foreign.flow import LEAST_BYTES, Flow, ForeignError, with_rates

if TYPE_CHECKING:
    from collections.abc import Iterable

# The state is not there with a filter of it, as in `ss -tin state established`.
_SOCKET = re.compile(
    r"^(?:tcp +)?(?:[A-Z][A-Z0-9-]+ +)?\d+ +\d+ +(\S+:[\w*-]+) +(\S+:[\w*-]+)(?=\s|$)"
)
_FIELD = re.compile(
    r"\b(cwnd|ssthresh|mss|bytes_acked|rcv_space|unacked|data_segs_out):(\d{1,18})\b"
)
_RTT = re.compile(r"\brtt:(\d{1,12}(?:\.\d{1,9})?)/")
_MINRTT = re.compile(r"\bminrtt:(\d{1,12}(?:\.\d{1,9})?)")
_AGAIN = re.compile(r"\bretrans:\d{1,9}/(\d{1,12})\b")
_RATE = re.compile(r"\b(pacing_rate|delivery_rate) (\d{1,12}(?:\.\d{1,9})?)([KMGT]?)bps")
_CC = re.compile(r"(?:^|\s)([a-z][a-z0-9_-]*)(?= wscale:| rto:| mss:)")
_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SECONDS = re.compile(r"@?(\d{9,10})(?:\.(\d{1,9}))?(?:\s+|$)")
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*(?:\s+|$)")
_DATE = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:UTC|GMT) \d{4}(?:\s+|$)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_ss(text: str) -> bool:
    """Whether the first lines of a text are of ss, perhaps after a time."""
    return any(_SOCKET.match(_timed(line)[1]) for line in text.splitlines()[:50])


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
        time, text = _timed(line)
        if time is not None:
            now = time
            began = now if began is None else began
        if not text:
            flow = None if time is not None else flow
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


def _timed(line: str) -> tuple[int | None, str]:
    """Returns the nanoseconds since 1970 with which a line begins, and the rest, as `ts` of moreutils writes both."""
    text = line.strip()
    if found := _SECONDS.match(text):
        nanoseconds = int(found[1]) * 10**9 + int((found[2] or "").ljust(9, "0"))
        return nanoseconds, text[found.end() :].strip()
    for form, parse in ((_ISO, datetime.fromisoformat), (_DATE, _of_date)):
        if found := form.match(text):
            try:
                since = parse(found[0].strip()).astimezone(UTC) - _EPOCH
            except (ValueError, OverflowError):
                break
            return since // timedelta(microseconds=1) * 1000, text[found.end() :].strip()
    return None, text


def _of_date(text: str) -> datetime:
    """Returns a time as `date` prints it, in UTC."""
    _, month, day, time, _, year = text.split()
    return datetime.strptime(f"{month} {day} {time} {year} +0000", "%b %d %H:%M:%S %Y %z")


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
