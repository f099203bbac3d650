"""Common parts of the readers of logs: text in pieces, times, and the columns of flows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from fullpipe import _core
from fullpipe.wings.fleet.workload.flows import DIRECTIONS, schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RANGE_S = 9.2e9
"""The range of 64 bits of nanoseconds, about 290 years, in seconds."""
MOST_BYTES = 1 << 53
"""No flow has more bytes, which a float also holds exactly."""


@dataclass
class Source:
    """A log that is being read.

    Attributes:
        path: The file.
        read: Bytes read, before decompression.
        unreadable: Number of lines that can't be read.
        cut: The reason why the rest can't be read; None if all was read.
    """

    path: Path
    read: int = 0
    unreadable: int = 0
    cut: str | None = None
    too_long: list[int] = field(default_factory=list)

    def pieces(self, separator: str | None = None) -> Iterator[tuple[bytes, int]]:
        """Yields text, with the number of its first line."""
        reader = _core.TextReader(self.path, separator)
        while True:
            try:
                piece = reader.next()
            except OSError as error:
                self.cut = f"it can't be decompressed to its end ({error.strerror or error})"
                return
            if piece is None:
                return
            text, first, self.too_long = piece
            self.read = reader.position
            # Polars takes a single line without an end for a comment if its second byte is a #.
            yield text if text.endswith(b"\n") else text + b"\n", first

    @property
    def damage(self) -> str | None:
        """A message about unreadable parts; None if all was read."""
        lines = f"{self.unreadable:,} line{'' if self.unreadable == 1 else 's'} can't be read"
        said = [*([lines] if self.unreadable else []), *([self.cut] if self.cut else [])]
        return ", and ".join(said) or None


def first_line(head: bytes) -> str:
    """Returns the first line that is not blank or a comment; empty if no line or no text is found."""
    try:
        lines = head[: head.rfind(b"\n") + 1 or None].decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        return ""
    return next((line.strip() for line in lines if line.strip() and not line.startswith("#")), "")


def time_of(kind: pl.DataType, name: str = "ts") -> pl.Expr:
    """Parses seconds since the epoch, or a date, as in Zeek and CSV files; null for anything else."""
    ts = pl.col(name)
    if kind != pl.String:
        return _since_epoch(ts.cast(pl.Float64))
    # Dates must begin with the year: in 01/02 the month is ambiguous.
    date = pl.when(ts.str.contains(r"^\d{4}-")).then(ts)
    return pl.coalesce(
        _since_epoch(ts.cast(pl.Float64, strict=False)),
        date.str.to_datetime(time_unit="ns", time_zone="UTC", strict=False),
    )


def _since_epoch(seconds: pl.Expr) -> pl.Expr:
    seconds = pl.when(seconds.abs() < RANGE_S).then(seconds)
    whole = seconds.floor()
    # The 53-bit mantissa can't represent nanoseconds since 1970; Zeek writes microseconds.
    micros = ((seconds - whole) * 1e6).round().cast(pl.Int64) * 1000
    nanos = (
        pl.when(whole.abs() < 1e6)
        .then(((seconds - whole) * 1e9).round().cast(pl.Int64))
        .otherwise(micros)
    )
    ns = whole.cast(pl.Int64) * 1_000_000_000 + nanos
    return ns.cast(pl.Datetime("ns")).dt.replace_time_zone("UTC")


def shaped(rows: pl.DataFrame, made: dict[str, pl.Expr], addresses: bool) -> pl.DataFrame:
    """Returns the columns of a table of flows: those in `made`, and null for others."""
    types = schema(addresses)
    lasted = made.pop("lasted")
    nothing = pl.duration(nanoseconds=0, time_unit="ns")
    chunk = pl.struct(
        nothing.alias("at"), lasted.alias("lasted"), made["bytes"].cast(pl.UInt64).alias("bytes")
    )
    made["chunks"] = (
        pl.when(made["bytes"] > 0)
        .then(pl.concat_list(chunk))
        .otherwise(pl.lit([], dtype=types["chunks"]))
    )
    made.setdefault("direction", pl.lit(DIRECTIONS[0]))
    empty = pl.lit(None)
    return rows.select(made.get(name, empty).cast(kind).alias(name) for name, kind in types.items())
