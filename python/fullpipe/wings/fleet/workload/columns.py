"""Files of flows as columns for the simulator, for `[[workload]] source = "flows.parquet"`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fullpipe.errors import DamagedError
from fullpipe.results import scan_parquet
from fullpipe.wings.fleet.workload.csv_file import read
from fullpipe.wings.fleet.workload.flows import FlowsError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from fullpipe.wings import Columns

_MADE = "make one with fullpipe workload extract, or write columns start (s) and bytes"
_NS = 1e9


def columns(path: Path) -> Columns:
    """Reads a file of flows: Parquet as `fullpipe workload extract` writes it, or CSV as `extract` reads it.

    Flows without bytes, or without a start, are left out; the others are put in order of their starts.

    Returns:
        The columns, see :func:`fullpipe.wings.flows`.

    Raises:
        ValueError: When it is not a file of flows; the text has the fix.
    """
    frame = _read(path)
    for name in ("start", "bytes"):
        if name not in frame.columns:
            raise _refused(f"the file has no column {name}", _MADE)
    if not frame["bytes"].dtype.is_integer():
        raise _refused(f"the column bytes has type {frame['bytes'].dtype}", "write whole numbers")
    frame = frame.filter(pl.col("start").is_not_null() & (pl.col("bytes") != 0))
    if frame.is_empty():
        raise _refused("no flow in the file has bytes", "name a file whose flows carry data")
    if (frame["bytes"] < 0).any():
        raise _refused("a flow has a negative number of bytes", "write the bytes of each flow")
    frame = frame.with_columns(start=_ns(frame["start"])).sort("start", maintain_order=True)
    starts = (frame["start"] - frame["start"][0]).cast(pl.UInt64).to_numpy()
    sizes = frame["bytes"].cast(pl.UInt64).to_numpy()
    return starts, sizes, *_chunks(frame)


def _read(path: Path) -> pl.DataFrame:
    wanted = ("start", "bytes", "chunks")
    try:
        if path.suffix == ".csv":
            return read(path, {})
        lazy = scan_parquet(path)
        return lazy.select(
            [name for name in lazy.collect_schema().names() if name in wanted]
        ).collect()
    except (FlowsError, DamagedError) as error:
        raise _refused(str(error).partition("\n")[0].removeprefix(f"{path}: "), _MADE) from error
    except OSError as error:
        raise _refused(f"the file can't be read: {error.strerror or error}", _MADE) from error


def _ns(start: pl.Series) -> pl.Series:
    """Converts times or seconds to nanoseconds."""
    if isinstance(start.dtype, pl.Datetime | pl.Duration):
        unit = pl.Datetime("ns") if isinstance(start.dtype, pl.Datetime) else pl.Duration("ns")
        return start.cast(unit).cast(pl.Int64)
    if not start.dtype.is_numeric():
        raise _refused(f"the column start has type {start.dtype}", "write times or seconds")
    seconds = start.cast(pl.Float64)
    if not seconds.is_finite().all():
        raise _refused("a start is not a finite number", "write times or seconds")
    # Relative to the first: a float cannot hold today's time to the nanosecond.
    return ((seconds - seconds.min()) * _NS).round().cast(pl.Int64)


def _chunks(
    frame: pl.DataFrame,
) -> tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint64]]:
    nothing = np.array([], dtype=np.uint64)
    if "chunks" not in frame.columns:
        return nothing.astype(np.uint32), nothing, nothing
    lists = frame["chunks"]
    try:
        counts = lists.list.len().fill_null(0)
        chunks = lists.explode().drop_nulls().struct
        offsets, sizes = (
            chunks.field("at").cast(pl.Duration("ns")).cast(pl.Int64),
            chunks.field("bytes"),
        )
    except (pl.exceptions.PolarsError, AttributeError) as error:
        raise _refused("the column chunks is not a list of (at, bytes)", _MADE) from error
    if bool((offsets < 0).any()) or bool((sizes < 0).any()):
        raise _refused("a chunk begins before its flow, or has a negative number of bytes", _MADE)
    firsts = np.zeros(len(lists) + 1, dtype=np.uint64)
    np.cumsum(counts.to_numpy(), out=firsts[1:])
    return (
        firsts.astype(np.uint32),
        offsets.cast(pl.UInt64).to_numpy(),
        sizes.cast(pl.UInt64).to_numpy(),
    )


def _refused(problem: str, fix: str) -> ValueError:
    return ValueError(f"{problem}\n  fix: {fix}")
