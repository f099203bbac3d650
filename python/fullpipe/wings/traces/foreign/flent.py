"""Data files of flent (`.flent`, `.flent.gz`): flows of TCP and UDP, and RTTs of pings."""

from __future__ import annotations

import math
from typing import Any

from fullpipe.wings.traces.foreign.flow import Flow, ForeignError, number

_PARTS = {
    "tcp_cwnd": ("cwnd", 1448.0),  # packets
    "tcp_rtt": ("rtt", 1e-3),
    "tcp_pacing_rate": ("pacing_rate", 1e6),
}
"""Series of a flow's own TCP, after `::` in the name, with the columns and units of a trace."""

_DERIVED = (" avg", " sum", " totals", " fairness")
"""Ends of the names of series that flent computes of others."""

_KINDS = {"rtt": "ping", "response": "http"}
"""The algorithm that is named for series that are no flows."""


def is_flent(value: dict[str, Any]) -> bool:
    """Whether a JSON object is of flent."""
    return isinstance(value.get("x_values"), list) and isinstance(value.get("results"), dict)


def flows(value: dict[str, Any], name: str) -> list[Flow]:
    """Returns its series: rates from Mbit/s, pings as RTT from ms, latencies of HTTP as response times.

    Sums and means over series, as "TCP download sum", are left out.

    Raises:
        ForeignError: When no series is a rate or a ping.
    """
    times = value["x_values"]
    metadata = value.get("metadata")
    about = metadata.get("SERIES_META") if isinstance(metadata, dict) else None
    of: dict[str, Flow] = {}
    for series, samples in value["results"].items():
        whose, _, part = series.rpartition("::")
        column: str | None
        if part in _PARTS:
            column, scale = _PARTS[part]
        elif not isinstance(samples, list) or series.endswith(_DERIVED):
            continue
        else:
            whose, meta = series, about.get(series) if isinstance(about, dict) else None
            column, scale = _column(series, meta)
        if column is None or not isinstance(samples, list):
            continue
        flow = of.setdefault(whose, Flow(whose))
        if part not in _PARTS:
            _name(flow, column, meta if isinstance(meta, dict) else {})
        if column == "response":
            flow.responses = [got for each in samples if (got := number(each, scale)) is not None]
        else:
            _put(flow, times, samples, column, scale)
    kept = [_count(flow) for flow in of.values() if flow.rows or flow.responses]
    if not kept:
        raise ForeignError(
            f"{name}: flent's results have no series in Mbits/s or ms\n  fix: name another file"
        )
    return sorted(kept, key=lambda flow: flow.goodput_bps is None)  # pings last


def _column(name: str, meta: object) -> tuple[str | None, float]:
    unit = meta.get("UNITS") if isinstance(meta, dict) else None
    if unit == "Mbits/s" or (
        unit is None and name.startswith(("TCP", "UDP")) and "RTT" not in name and "::" not in name
    ):
        return "delivery_rate", 1e6
    if "Ping" in name and unit in ("ms", None):
        return "rtt", 1e-3
    return ("response", 1e-3) if unit == "ms" and name.startswith("HTTP") else (None, 1.0)


def _name(flow: Flow, column: str, meta: dict[str, Any]) -> None:
    cc = meta.get("CONGESTION_CONTROL")
    flow.cc = _KINDS.get(column, cc if isinstance(cc, str) else flow.cc)
    if column == "delivery_rate":
        flow.goodput_bps = number(meta.get("MEAN_VALUE"), 1e6)


def _put(flow: Flow, times: list[Any], samples: list[Any], column: str, scale: float) -> None:
    rows = {row["time"]: row for row in flow.rows}
    for at, sample in zip(times, samples, strict=False):
        time, found = number(at), number(sample, scale)
        if time is not None and found is not None:
            rows.setdefault(time, {"time": time}).setdefault(column, found)
    flow.rows = sorted(rows.values(), key=lambda row: row["time"] or 0.0)


def _count(flow: Flow) -> Flow:
    """Sets delivered bytes from the rates, and the goodput, if flent has it not, from their mean; returns the flow."""
    total, before = 0.0, None
    rates = []
    for row in flow.rows:
        time, rate = row["time"], row.get("delivery_rate")
        if time is not None and rate is not None:
            total += rate * (time - before) / 8 if before is not None else 0.0
            before, row["delivered"] = time, total
            rates.append(rate)
    if rates and flow.goodput_bps is None:
        flow.goodput_bps = math.fsum(rates) / len(rates)
    return flow
