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
    "packet_queue": ("In queues", "s"),
    "packet_path": ("Transmission, propagation and jitter", "s"),
    "packet_access": ("Before the first link", "s"),
}
"""Title and unit of each track."""
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


def _track(
    track: str, rows: pl.DataFrame, column: str, factor: float
) -> Iterator[tuple[str, Track]]:
    if not rows.is_empty():
        values = rows[column].cast(pl.Float64).to_numpy() * factor
        yield track, Track(np.asarray(rows["time"].to_numpy()), values)
