"""Listings of `ss -tin` over time, each after a line with its time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fullpipe import _core
from fullpipe.wings.traces.foreign.flow import LEAST_BYTES, Flow, ForeignError, with_rates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ROWS, _BYTES = 1 << 16, 1 << 20
"""The most samples and bytes that are read at a time."""
_UNTIMED = np.iinfo(np.int64).min
_NO_LABEL = 2**32 - 1
_SEGMENT = 1448


def flows(path: Path, most: int) -> tuple[list[Flow], list[str]]:
    """Returns the connections, and warnings: cwnd, RTT, delivered bytes, retransmissions and rates at each listing.

    Args:
        path: The file.
        most: The largest size in bytes, decompressed.

    Raises:
        ForeignError: When a listing has no time before it, or the file is too large.
        OSError: When the file can't be opened.
    """
    reader = _core.FleetReader.series()
    reader.begin(path)
    of: dict[str, Flow] = {}
    warnings: list[str] = []
    more = True
    while more:
        try:
            more = reader.read(_ROWS, _BYTES)
        except OSError as error:
            warnings.append(f"{path}: cut off or damaged: {error}")
            more = False
        for ends, cc, sample in _samples(reader.take()):
            _add(of.setdefault(ends, Flow(_name(ends))), cc, sample, path)
        counts = dict(reader.counts)
        if counts["bytes"] > most:
            raise ForeignError(
                f"{path}: more than {most >> 30} GiB\n  fix: name a shorter measurement"
            )
    if counts["bad"]:
        (line, why, _), *_ = reader.take_bad()
        some = f"{counts['bad']:,} lines" if counts["bad"] > 1 else "a line"
        warnings.append(f"{path}: {some} can't be read, first line {line}: {why}")
    every = [with_rates(flow) for flow in of.values() if flow.rows]
    large = [flow for flow in every if (flow.rows[-1].get("delivered") or 0) >= LEAST_BYTES]
    return large or every, warnings


def _name(ends: str) -> str:
    return f"TCP {ends.replace(' ', ' → ')}"


def _samples(tables: _core._FleetTables) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yields the ends, the algorithm and the printed fields of each sample."""
    columns: dict[str, Any] = dict(tables[0][1])
    words = []
    for name in ("ends", "cc"):
        codes, labels = columns.pop(name)
        words.append(["" if code == _NO_LABEL else labels[code] for code in codes])
    numbers = [values.tolist() for values in columns.values()]
    for ends, cc, *values in zip(*words, *numbers, strict=True):
        printed = zip(columns, values, strict=True)
        yield ends, cc, {name: value for name, value in printed if not math.isnan(value)}


def _add(flow: Flow, cc: str, sample: dict[str, float], path: Path) -> None:
    if "cwnd_packets" not in sample:
        return
    time = sample["time_ns"]
    if time == _UNTIMED:
        raise ForeignError(
            f"{path}: a listing of ss without its time\n  fix: write the time before each, as by "
            "'while date +%s.%N && ss -tin; do sleep 0.1; done > FILE'"
        )
    flow.cc = cc or flow.cc
    mss = sample.get("mss_bytes", _SEGMENT)
    again, sent = sample.get("retrans_total_packets"), sample.get("data_segs_out")
    flow.retransmits = flow.retransmits or 0 if again is None else int(again)
    flow.sent = flow.sent if sent is None else int(sent)
    rtt = sample.get("rtt_s")
    flow.rows.append(
        {
            "time": max(time / 1e9, 0.0),
            "cwnd": sample["cwnd_packets"] * mss,
            "ssthresh": sample["ssthresh_packets"] * mss if "ssthresh_packets" in sample else None,
            # ss leaves out counts that are 0.
            "inflight": sample.get("unacked_packets", 0) * mss,
            "delivered": sample.get("bytes_acked"),
            "srtt": rtt,
            "rtt": rtt,
            "min_rtt": sample.get("minrtt_s"),
            "retransmits": flow.retransmits,
            "pacing_rate": sample.get("pacing_rate_bps"),
        }
    )
