"""Rows of connections that `fullpipe kernel trace` prints: lines of JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.wings.traces.foreign.flow import LEAST_BYTES, Flow, number
from fullpipe.wings.traces.foreign.kernel_name import PREFIX, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ENDED = 2
"""The kind of a connection's last row."""
_UNSET = 0x7FFF_FFFF
"""TCP_INFINITE_SSTHRESH."""
_ANY_RATE = (1 << 64) - 1
"""The pacing rate of a socket that does not pace."""
_WRAP = 1 << 32


def is_row(value: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a row."""
    return value.keys() >= {"connection", "cc", "cwnd", "delivered"}


class Reader:
    """Makes flows of rows, in their order.

    Attributes:
        lost: The number of rows for which the kernel had no room.
        last: The time of the latest row, in seconds.
    """

    def __init__(self) -> None:
        self.lost = 0
        self.last = 0.0
        self._flows: dict[tuple[str, int], _Connection] = {}
        self._states = {
            f"{PREFIX}{stem(each['name'])}": (
                each["name"],
                next((f["labels"] for f in each["fields"] if f["name"] == "state"), []),
            )
            for each in _core.algorithms()
        }

    def add(self, row: Mapping[str, Any]) -> None:
        """Adds a row."""
        if "connection" not in row:
            self.lost += int(number(row.get("lost")) or 0)
            return
        cc, connection, time = row.get("cc"), row.get("connection"), number(row.get("time"))
        if not isinstance(cc, str) or not isinstance(connection, int) or time is None:
            return
        self.last = max(self.last, time)
        name, states = self._states.get(cc, (cc, []))
        of = self._flows.get((cc, connection))
        if of is None:
            of = self._flows[cc, connection] = _Connection(Flow(str(row.get("flow")), name), states)
        of.add(row, time)

    def flows(self) -> list[Flow]:
        """Returns the connections that sent data; all if none did."""
        every = [each.flow for each in self._flows.values() if each.flow.rows]
        large = [flow for flow in every if (flow.rows[-1].get("delivered") or 0) >= LEAST_BYTES]
        return large or every


class _Connection:
    """A flow, and the counters of its latest row: they wrap at 2^32."""

    def __init__(self, flow: Flow, states: list[str]) -> None:
        self.flow = flow
        self._states = states
        self._counts: dict[str, tuple[int, int]] = {}

    def add(self, row: Mapping[str, Any], time: float) -> None:
        delivered, lost = (self._count(row, name) for name in ("delivered", "lost"))
        mss = number(row.get("mss")) or 0.0
        self.flow.lost = lost
        self.flow.marks = self._count(row, "delivered_ce")
        if delivered + lost:
            self.flow.loss_fraction = lost / (delivered + lost)
        state = row.get("state")
        if isinstance(state, int) and 0 <= state < len(self._states):
            word = self._states[state]
            if not self.flow.changes or self.flow.changes[-1][1] != word:
                self.flow.changes.append((time, word))
        if row.get("kind") == _ENDED and self.flow.rows:
            return  # the socket is closed: its window is no decision
        volumes = {
            name: None if (value := number(row.get(name))) is None else value * mss
            for name in ("cwnd", "inflight")
        }
        ssthresh, pacing = number(row.get("ssthresh")), row.get("pacing_rate")
        self.flow.rows.append(
            {
                "time": time,
                **volumes,
                "ssthresh": None if ssthresh in (None, _UNSET) else (ssthresh or 0.0) * mss,
                "pacing_rate": None if pacing == _ANY_RATE else number(pacing, 8.0),
                "delivery_rate": number(row.get("bw"), 8.0) or None,
                "delivered": delivered * mss,
                "lost": lost * mss,
                "lost_packets": lost,
                **{
                    to: number(row.get(of), 1e-6) or None
                    for to, of in (("rtt", "rtt"), ("srtt", "srtt"), ("min_rtt", "min_rtt"))
                },
            }
        )

    def _count(self, row: Mapping[str, Any], name: str) -> int:
        """Returns the growth of a counter since the connection's first row, without wraps."""
        value = int(number(row.get(name)) or 0) % _WRAP
        before, total = self._counts.get(name, (value, 0))
        total += (value - before) % _WRAP
        self._counts[name] = value, total
        return total


def flows(lines: Iterable[str], name: str) -> tuple[list[Flow], list[str]]:
    """Returns the connections of printed rows, and warnings about missing ones."""
    reader, bad = Reader(), 0
    for line in lines:
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            reader.add(row)
        else:
            bad += 1
    warnings = [f"{name}: {bad} rows could not be read"] if bad else []
    return reader.flows(), [*warnings, *warned(reader.lost)]


def warned(lost: int) -> list[str]:
    """Returns the warning about lost rows, if there are any."""
    if not lost:
        return []
    return [
        f"{lost} rows are missing: the kernel's buffer was full; record one port, or fewer rows"
    ]
