"""Flows of logs: Zeek's conn.log (tab-separated or JSON) and CSV files."""

from __future__ import annotations

import json
from glob import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe import _core
from fullpipe.results import plain_path
from fullpipe.workload.flows import DIRECTIONS, FlowsError, schema

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HEAD = 1 << 16
# The fields of Zeek that flows are made from, with the type of each in a text log.
_ZEEK = {
    "ts": pl.String,
    "id.orig_h": pl.String,
    "id.resp_h": pl.String,
    "id.orig_p": pl.UInt16,
    "id.resp_p": pl.UInt16,
    "proto": pl.String,
    "duration": pl.Float64,
    "orig_bytes": pl.UInt64,
    "resp_bytes": pl.UInt64,
    "orig_pkts": pl.UInt64,
    "resp_pkts": pl.UInt64,
    "conn_state": pl.String,
    "history": pl.String,
}
# An additional column: whether the line is complete.
_WHOLE = "whole"
_SEPARATORS = (",", ";", "\t")
_NEEDED = ("ts", "orig_bytes", "resp_bytes")


def kind(path: Path) -> str:
    """Detects the kind of a file: `zeek`, `zeek-json`, `csv`, `parquet`, or `capture` for all others.

    Raises:
        OSError: When the file can't be read.
    """
    head = _core.capture_head(path, HEAD)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"#separator"):
        return "zeek"
    line = _first_line(head)
    if line.startswith(("{", "[{")):
        return "zeek-json"
    # No capture begins with a line of text.
    return (
        "csv"
        if line.replace("\t", " ").isprintable() and any(mark in line for mark in _SEPARATORS)
        else "capture"
    )


def _first_line(head: bytes) -> str:
    """Returns the first line that is not blank or a comment; empty if no line or no text is found."""
    try:
        lines = head[: head.rfind(b"\n") + 1 or None].decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        return ""
    return next((line.strip() for line in lines if line.strip() and not line.startswith("#")), "")


def zeek(
    path: Path, *, udp: bool, addresses: bool, as_json: bool
) -> tuple[pl.LazyFrame, str | None]:
    """Reads the flows of a conn.log; also returns a message about unreadable lines, if there are any.

    Zeek counts volume by sequence numbers, so volumes by packet lengths are unknown.

    Raises:
        FlowsError: When the file is another log of Zeek.
    """
    rows, broken = _json_rows(path) if as_json else (_text_rows(path), 0)
    names = rows.collect_schema().names()
    if missing := [name for name in _NEEDED if name not in names]:
        raise FlowsError(
            f"{path}: no field {' nor '.join(missing)}, which a Zeek conn.log has\n"
            "  fix: name a conn.log, a CSV file with the columns start and bytes, or a capture"
        )
    begun = _time(rows.collect_schema()["ts"])
    numbers = [name for name, kind in _ZEEK.items() if name in names and kind != pl.String]
    bad = begun.is_null() | pl.any_horizontal(
        pl.col(name).is_not_null() & pl.col(name).cast(_ZEEK[name], strict=False).is_null()
        for name in numbers
    )
    if _WHOLE in names:
        bad |= ~pl.col(_WHOLE)
    broken += rows.select(bad.sum()).collect(engine="streaming").item()
    rows = rows.filter(~bad).select(
        (pl.col(name) if name in names else pl.lit(None)).cast(kind, strict=False).alias(name)
        if name != "ts"
        else pl.col(name)
        for name, kind in _ZEEK.items()
    )
    protocols = ["tcp", "udp"] if udp else ["tcp"]
    if "proto" in names:
        rows = rows.filter(pl.col("proto").is_in(protocols))
    flows = _shaped(rows, _zeek_columns(begun), addresses)
    return flows, f"{broken:,} line{'' if broken == 1 else 's'} can't be read" if broken else None


def _zeek_columns(first: pl.Expr) -> dict[str, pl.Expr]:
    """Returns the columns of flows, computed from the fields of a conn.log."""
    lasted = pl.duration(
        nanoseconds=(pl.col("duration").fill_null(0) * 1e9).round().cast(pl.Int64), time_unit="ns"
    )
    up, down = pl.col("orig_bytes").fill_null(0), pl.col("resp_bytes").fill_null(0)
    opened = pl.col("history").str.contains("(?i)^s")
    tcp = pl.col("proto") == "tcp"
    ended = (
        pl.when(pl.col("conn_state") == "SF")
        .then(pl.when(tcp).then(pl.lit("fin")).otherwise(pl.lit("idle")))
        .when(pl.col("conn_state").str.starts_with("RST") | (pl.col("conn_state") == "REJ"))
        .then(pl.lit("rst"))
        .otherwise(pl.lit("idle"))
    )
    return {
        "start": pl.when(pl.max_horizontal(up, down) > 0).then(first),
        "bytes": pl.max_horizontal(up, down),
        "direction": pl.when(down > up).then(pl.lit("down")).otherwise(pl.lit("up")),
        "protocol": pl.col("proto"),
        "client": pl.col("id.orig_h"),
        "server": pl.col("id.resp_h"),
        "client_port": pl.col("id.orig_p"),
        "server_port": pl.col("id.resp_p"),
        "begin": pl.when(opened).then(pl.lit("syn")).otherwise(pl.lit("middle")),
        "end": ended,
        "syn": pl.when(opened).then(first),
        "first": first,
        "last": first + lasted,
        "lasted": lasted,
        "up_packets": pl.col("orig_pkts"),
        "down_packets": pl.col("resp_pkts"),
        "up_sequence_bytes": pl.when(tcp).then(pl.col("orig_bytes")),
        "down_sequence_bytes": pl.when(tcp).then(pl.col("resp_bytes")),
        "up_payload_bytes": pl.when(~tcp).then(pl.col("orig_bytes")),
        "down_payload_bytes": pl.when(~tcp).then(pl.col("resp_bytes")),
    }


def csv(path: Path, columns: Mapping[str, str]) -> pl.LazyFrame:
    """Reads the flows of a CSV file: start in seconds or as a date, and volume in bytes.

    Args:
        path: The file, whose first line names the columns.
        columns: Names in the file of the columns `start` and `bytes`, if different.

    Raises:
        FlowsError: When a column is missing, or has an invalid value.
    """
    separator = _separator(_first_line(_core.capture_head(path, HEAD)))
    rows = pl.scan_csv(
        plain_path(path), glob=False, separator=separator, comment_prefix="#", infer_schema=False
    )
    rows = rows.rename({name: name.strip() for name in rows.collect_schema().names()})
    names = rows.collect_schema().names()
    wanted = {name: columns.get(name, name) for name in ("start", "bytes")}
    for name, called in wanted.items():
        if called not in names:
            raise FlowsError(
                f"{path}: no column {called!r}; the columns are {', '.join(names)}\n"
                f"  fix: name the column to use: --columns {name}=NAME"
            )
    said = [pl.col(called).str.strip_chars().alias(name) for name, called in wanted.items()]
    numbers = pl.col("start", "bytes")
    rows = rows.select(said).with_columns(
        # In files with semicolons as separators, numbers may have a decimal comma.
        numbers.str.replace(",", ".", literal=True) if separator == ";" else numbers
    )
    begun, volume = _time(pl.String(), "start"), pl.col("bytes").cast(pl.Int64, strict=False)
    inexact = pl.col("bytes").cast(pl.Float64, strict=False)
    volume = pl.coalesce(
        volume, pl.when(inexact.floor() == inexact).then(inexact.cast(pl.Int64, strict=False))
    )
    bad = (
        rows.with_row_index("row", 2)
        .filter(begun.is_null() | volume.is_null() | (volume < 0))
        .head(1)
        .collect()
    )
    for row in bad.iter_rows(named=True):
        raise FlowsError(
            f"{path}: row {row['row']}: start {row['start']}, bytes {row['bytes']}: "
            "a flow needs a time (seconds, or a date like 2020-06-10 14:00:00) and a whole number\n"
            "  fix: correct or remove the row, or name other columns: --columns start=NAME,bytes=NAME"
        )
    rows = rows.select(begun.alias("begun"), volume.alias("bytes"))
    begun, volume = pl.col("begun"), pl.col("bytes")
    lasted = pl.duration(nanoseconds=0, time_unit="ns")
    made = {
        "start": pl.when(volume > 0).then(begun),
        "bytes": volume,
        "first": begun,
        "lasted": lasted,
    }
    return _shaped(rows, made, addresses=False)


def _separator(line: str) -> str:
    """Returns the column separator: the candidate that occurs most often."""
    return max(_SEPARATORS, key=line.count)


def _time(kind: pl.DataType, name: str = "ts") -> pl.Expr:
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
    # The range of 64 bits of nanoseconds.
    seconds = pl.when(seconds.abs() < 9.2e9).then(seconds)
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


def _shaped(rows: pl.LazyFrame, made: dict[str, pl.Expr], addresses: bool) -> pl.LazyFrame:
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


def _text_rows(path: Path) -> pl.LazyFrame:
    head = _core.capture_head(path, HEAD).decode("utf-8", "replace").splitlines()
    separator = (
        head[0].split(" ", 1)[1].encode().decode("unicode_escape") if " " in head[0] else "\t"
    )
    told = {line.split(separator, 1)[0]: line for line in head if line.startswith("#")}
    if "#fields" not in told:
        raise FlowsError(
            f"{path}: a Zeek log without a #fields line\n  fix: name a complete conn.log"
        )
    fields = told["#fields"].split(separator)[1:]
    unset = told.get("#unset_field", f"{separator}-").split(separator)[1]
    rows = pl.scan_csv(
        plain_path(path),
        glob=False,
        separator=separator,
        has_header=False,
        schema=dict.fromkeys(fields, pl.String),
        comment_prefix="#",
        quote_char=None,
        truncate_ragged_lines=True,
    )
    # Zeek leaves no field empty: a line without its last field is truncated.
    return rows.select(
        pl.col(fields[-1]).is_not_null().alias(_WHOLE),
        *(
            pl.when(pl.col(name) != unset).then(pl.col(name)).alias(name)
            for name in fields
            if name in _ZEEK
        ),
    )


def _json_rows(path: Path) -> tuple[pl.LazyFrame, int]:
    """Returns the rows, and the number of lines that are not JSON objects."""
    line = _first_line(_core.capture_head(path, HEAD))
    first = _object(line)
    if first is None:
        raise FlowsError(
            f"{path}: the first line is not a JSON object\n  fix: name a conn.log with one JSON object per line"
        )
    # Polars can't read unsigned integers from JSON.
    types: dict[str, type[pl.DataType]] = {
        name: kind if kind in (pl.String, pl.Float64) else pl.Int64 for name, kind in _ZEEK.items()
    }
    types["ts"] = pl.String if isinstance(first.get("ts"), str) else pl.Float64
    rows = pl.scan_ndjson(escape(plain_path(path)), schema=types)
    try:
        rows.select(pl.col("ts").count()).collect(engine="streaming")
    except pl.exceptions.ComputeError:
        # Polars rejects a whole file if one line is truncated.
        lines = pl.read_csv(
            plain_path(path),
            glob=False,
            separator="\x01",
            has_header=False,
            quote_char=None,
            new_columns=["line"],
        )["line"]
        objects = [line for line in lines if _object(line) is not None]
        return pl.scan_ndjson("\n".join(objects).encode(), schema=types), len(lines) - len(objects)
    return rows, 0


def _object(line: str) -> dict[str, Any] | None:
    try:
        read = json.loads(line)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None
