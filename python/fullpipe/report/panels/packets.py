"""Tracks of single packets: sequence numbers over time as in Wireshark's tcptrace graph, and delays by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fullpipe.report.model import Track

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MB = 1e-6
TITLES = {
    "packet_sent": ("Sent", "MB"),
    "packet_again": ("Sent again", "MB"),
    "packet_gone": ("Dropped or lost", "MB"),
    "packet_acked": ("Acknowledged", "MB"),
    "packet_sacked": ("SACKed", "MB"),
    "packet_queue": ("Waiting in queues", "s"),
    "packet_path": ("Transmission, propagation and jitter", "s"),
    "packet_access": ("Before the first link", "s"),
}
"""Title and unit of each track."""
_NEAR = 300
"""Number of packets in a picture of single packets."""
_GONE = ("dropped", "policed", "lost")


def packet_tracks(name: str, tables: Mapping[str, pl.DataFrame]) -> Iterator[tuple[str, Track]]:
    """Yields the tracks of a flow's packets, if they were recorded: sequence numbers in MB, delays in ms."""
    if "packets" not in tables or "acks" not in tables:
        return
    packets = tables["packets"].filter(pl.col("flow") == name)
    again = pl.col("kind") == "retransmission"
    for track, rows in (
        ("packet_sent", packets.filter(~again)),
        ("packet_again", packets.filter(again)),
        ("packet_gone", packets.filter(pl.col("fate").cast(pl.String).is_in(_GONE))),
    ):
        yield from _track(track, rows, "sequence", MB)
    arrived = packets.drop_nulls("queue")
    for cause in ("queue", "path", "access"):
        yield from _track(f"packet_{cause}", arrived, cause, 1e3)
    acks = tables["acks"].filter(pl.col("flow") == name)
    yield from _track("packet_acked", acks.unique("time", maintain_order=True), "acked", MB)
    yield from _track("packet_sacked", acks.drop_nulls("sack_start"), "sack_end", MB)


def near(rows: pl.DataFrame) -> tuple[float, float] | None:
    """Returns a time in which packets are distinguishable: a loss and its retransmission, if these are near enough.

    Args:
        rows: The columns `time`, `kind` and `fate` of the packets of all flows.
    """
    if rows.height < 2:
        return None
    rows = rows.sort("time")
    times = rows["time"].to_numpy()
    last = len(times) - 1
    again = np.flatnonzero((rows["kind"].cast(pl.String) == "retransmission").to_numpy())
    gone = np.flatnonzero(rows["fate"].cast(pl.String).is_in(_GONE).to_numpy())
    first = int(gone[0]) if len(gone) else int(again[0]) if len(again) else last // 2
    answer = int(again[again > first][0]) if (again > first).any() else first
    if answer - first > _NEAR - _NEAR // 3:
        first = answer
    begin = min(max(first - _NEAR // 6, 0), max(last - _NEAR, 0))
    end = min(begin + _NEAR, last)
    return (float(times[begin]), float(times[end])) if times[end] > times[begin] else None


def _track(
    track: str, rows: pl.DataFrame, column: str, factor: float
) -> Iterator[tuple[str, Track]]:
    if not rows.is_empty():
        values = rows[column].cast(pl.Float64).to_numpy() * factor
        yield track, Track(np.asarray(rows["time"].to_numpy()), values)
