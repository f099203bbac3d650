"""The table of flows: its columns and their reading. `docs/reference/workload-tables.md` describes each column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fullpipe.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

KEY = "fullpipe.workload"
"""Key of the description in the file's metadata."""

BEGINS = ("syn", "capture", "middle")
ENDS = ("fin", "rst", "syn", "idle", "capture")
DIRECTIONS = ("up", "down")
PROTOCOLS = ("tcp", "udp")


class FlowsError(UserError):
    """A file has no usable flows; the message includes a fix."""


def schema(addresses: bool = False) -> dict[str, pl.DataType]:
    """Returns the columns with their types."""
    import polars as pl

    time, count = pl.Datetime("ns", "UTC"), pl.UInt64()
    chunk = pl.Struct({"at": pl.Duration("ns"), "lasted": pl.Duration("ns"), "bytes": count})
    return {
        "start": time,
        "bytes": count,
        "chunks": pl.List(chunk),
        "direction": pl.Enum(DIRECTIONS),
        "protocol": pl.Enum(PROTOCOLS),
        **({"client": pl.String(), "server": pl.String()} if addresses else {}),
        "client_port": pl.UInt16(),
        "server_port": pl.UInt16(),
        "begin": pl.Enum(BEGINS),
        "end": pl.Enum(ENDS),
        "syn": time,
        "first": time,
        "last": time,
        **{
            f"{way}_{what}": count
            for way in DIRECTIONS
            for what in ("packets", "payload_bytes", "sequence_bytes")
        },
    }


def read(path: str | Path) -> pl.DataFrame:
    """Reads the flows with payload, in order of their start.

    Raises:
        FlowsError: When the file is not a table of flows.
        OSError: When the file can't be read.
    """
    import polars as pl

    rows = scan(path)
    types = rows.collect_schema()
    if not types["bytes"].is_integer():
        raise FlowsError(
            f"{path}: the column bytes has type {types['bytes']}\n  fix: give whole numbers"
        )
    if types["start"].is_numeric():
        # Seconds, which scenarios accept, too.
        rows = rows.with_columns(
            (pl.col("start") * 1e9).round().cast(pl.Datetime("ns", "UTC"), strict=False)
        )
    elif not isinstance(types["start"], pl.Datetime):
        raise FlowsError(
            f"{path}: the column start has type {types['start']}\n  fix: give times, or seconds"
        )
    return (
        rows.filter(pl.col("start").is_not_null() & (pl.col("bytes") > 0)).sort("start").collect()
    )


def scan(path: str | Path) -> pl.LazyFrame:
    """Returns all rows of a file lazily, unchanged.

    Raises:
        FlowsError: When the file is not a table of flows.
        DamagedError: When it is not a Parquet file, or damaged.
        OSError: When the file can't be read.
    """
    from fullpipe.results import scan_parquet

    lazy = scan_parquet(path)
    names = lazy.collect_schema().names()
    if missing := [name for name in ("start", "bytes") if name not in names]:
        raise FlowsError(
            f"{path}: no column {' and '.join(missing)}, so it has no flows\n  fix: name a file of flows"
        )
    return lazy


def about(path: str | Path) -> dict[str, Any]:
    """Returns the sources and options a file of flows was made with; empty if unknown.

    Raises:
        DamagedError: When the file is damaged.
        OSError: When it can't be read.
    """
    from fullpipe.results.kept import parquet_about

    return parquet_about(path, KEY)
