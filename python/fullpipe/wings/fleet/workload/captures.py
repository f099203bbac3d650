"""Flows of captures: converts the columns from the Rust core into frames."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fullpipe import _core
from fullpipe.wings.fleet.workload.flows import BEGINS, DIRECTIONS, ENDS, PROTOCOLS, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_PATIENCE_S = 0.1
_TIMES = ("start", "syn", "first", "last")


def frames(
    files: Sequence[Path],
    *,
    idle_s: float,
    pause_s: float,
    udp: bool,
    addresses: bool,
    progress: Callable[[int, int, int, int], object],
) -> Iterator[pl.DataFrame | dict[str, Any]]:
    """Yields flows as they end, about ten thousand at a time, and finally the report.

    Args:
        files: Captures, read one after the other.
        idle_s: Time without a packet after which a flow has ended.
        pause_s: Pause after which payload begins a new chunk.
        udp: Whether UDP datagrams form flows, too.
        addresses: Whether to keep IP addresses.
        progress: Called with the numbers of bytes read, packets, ended flows and open flows.
    """
    run = _core.capture(files, idle_s=idle_s, pause_s=pause_s, udp=udp, addresses=addresses)
    try:
        while True:
            heard = run.next(_PATIENCE_S)
            progress(*run.progress)
            if isinstance(heard, str):
                yield json.loads(heard)
                return
            if heard is not None:
                yield _frame(heard)
    finally:
        run.stop()


def _frame(columns: dict[str, Any]) -> pl.DataFrame:
    types = schema(addresses="client" in columns)
    chunks = _chunks(
        columns.pop("chunks"), *(columns.pop(f"chunk_{name}") for name in ("at", "lasted", "bytes"))
    )
    words = {
        "direction": DIRECTIONS,
        "begin": BEGINS,
        "end": ENDS,
        "protocol": {6: PROTOCOLS[0], 17: PROTOCOLS[1]},
    }
    made: dict[str, pl.Series] = {"chunks": chunks}
    for name, values in columns.items():
        if name in _TIMES:
            # The core and NumPy use the same value for a missing time.
            made[name] = pl.Series(name, values.view("datetime64[ns]")).dt.replace_time_zone("UTC")
        elif name in words:
            mapped = words[name]
            numbered = mapped if isinstance(mapped, dict) else dict(enumerate(mapped))
            made[name] = pl.Series(name, values).replace_strict(numbered, return_dtype=types[name])
        else:
            made[name] = pl.Series(name, values, dtype=types[name])
    frame = pl.DataFrame([made[name].cast(kind).alias(name) for name, kind in types.items()])
    # UDP datagrams have no sequence numbers.
    return frame.with_columns(
        pl.when(pl.col("protocol") == "tcp")
        .then(pl.col(f"{way}_sequence_bytes"))
        .alias(f"{way}_sequence_bytes")
        for way in DIRECTIONS
    )


def _chunks(
    counts: NDArray[np.uint32],
    at: NDArray[np.int64],
    lasted: NDArray[np.int64],
    volumes: NDArray[np.uint64],
) -> pl.Series:
    """Splits columns of consecutive chunks into one list per flow."""
    rows = np.arange(len(counts), dtype=np.uint32)
    durations = (pl.Series(values.view("timedelta64[ns]")) for values in (at, lasted))
    flat = pl.DataFrame(
        [
            pl.Series("row", np.repeat(rows, counts)),
            *(one.alias(name) for one, name in zip(durations, ("at", "lasted"), strict=True)),
            pl.Series("bytes", volumes),
        ]
    )
    lists = flat.group_by("row", maintain_order=True).agg(
        pl.struct("at", "lasted", "bytes").alias("chunks")
    )
    joined = pl.DataFrame({"row": rows}).join(lists, on="row", how="left", maintain_order="left")
    return joined["chunks"].fill_null(pl.Series([[]], dtype=lists["chunks"].dtype))
