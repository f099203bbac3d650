"""Flows of logs: Zeek's conn.log, as text with tabs or as JSON, and CSV files."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe import _core
from fullpipe.workload.flows import DIRECTIONS, FlowsError, schema

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HEAD = 1 << 16
# Of Zeek's fields, those that flows are made of, and how each is read where a log is text.
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
_NEEDED = ("ts", "orig_bytes", "resp_bytes")


def kind(path: Path) -> str:
    """What a file is, by its content: `zeek`, `zeek-json`, `csv`, `parquet`, or `capture` for everything else.

    Raises:
        OSError: When it can't be read.
    """
    head = _core.capture_head(path, HEAD)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"#separator"):
        return "zeek"
    line = head.partition(b"\n")[0].strip()
    if line.startswith(b"{"):
        return "zeek-json"
    # Nothing that a capture begins with is a line of text.
    if line and all(0x20 <= byte < 0x7F or byte == 0x09 for byte in line) and b"," in line:
        return "csv"
    return "capture"


def zeek(path: Path, *, udp: bool, addresses: bool, as_json: bool) -> pl.LazyFrame:
    """The flows of a conn.log. Its volumes are of sequence numbers, so that those by lengths are unknown here.

    Raises:
        FlowsError: When it is another of Zeek's logs, or not whole.
    """
    rows = _json_rows(path) if as_json else _text_rows(path)
    names = rows.collect_schema().names()
    if missing := [name for name in _NEEDED if name not in names]:
        raise FlowsError(
            f"{path}: no field {' nor '.join(missing)}, which a conn.log of Zeek has\n"
            "  fix: name a conn.log, a CSV with the columns start and bytes, or a capture"
        )
    rows = rows.select(
        (pl.col(name) if name in names else pl.lit(None)).cast(kind, strict=False).alias(name)
        if name != "ts"
        else pl.col(name)
        for name, kind in _ZEEK.items()
    )
    protocols = ["tcp", "udp"] if udp else ["tcp"]
    if "proto" in names:
        rows = rows.filter(pl.col("proto").is_in(protocols))
    first = _time(rows.collect_schema()["ts"])
    lasted = pl.duration(nanoseconds=(pl.col("duration").fill_null(0) * 1e9).round().cast(pl.Int64), time_unit="ns")
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
    return _shaped(
        rows,
        {
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
        },
        addresses,
    )


def csv(path: Path, columns: Mapping[str, str]) -> pl.LazyFrame:
    """The flows of a CSV file: a start in seconds or as a date, and a volume in bytes.

    Args:
        path: The file; its first line names the columns.
        columns: What the columns `start` and `bytes` are called there, if not that.

    Raises:
        FlowsError: When a column is missing, or does not hold what it should.
    """
    rows = pl.scan_csv(path, infer_schema_length=10_000, try_parse_dates=True)
    types = rows.collect_schema()
    wanted = {name: columns.get(name, name) for name in ("start", "bytes")}
    for name, called in wanted.items():
        if called not in types.names():
            raise FlowsError(
                f"{path}: no column {called!r}; there are {', '.join(types.names())}\n"
                f"  fix: say which one it is: --columns {name}=NAME"
            )
    if not types[wanted["bytes"]].is_numeric():
        raise FlowsError(f"{path}: the column {wanted['bytes']!r} is no number of bytes\n  fix: --columns bytes=NAME")
    start = types[wanted["start"]]
    if not (start.is_numeric() or isinstance(start, pl.Datetime)):
        raise FlowsError(
            f"{path}: the column {wanted['start']!r} is neither seconds nor a date\n  fix: --columns start=NAME"
        )
    rows = rows.select(pl.col(wanted["start"]).alias("ts"), pl.col(wanted["bytes"]).alias("bytes"))
    bad = rows.filter(
        pl.col("ts").is_null()
        | pl.col("bytes").is_null()
        | (pl.col("bytes") < 0)
        | (pl.col("bytes").cast(pl.Float64).floor() != pl.col("bytes"))
    )
    first = rows.with_row_index("row").join(bad, on=["ts", "bytes"], how="semi", nulls_equal=True).head(1).collect()
    if first.height:
        row = first.row(0, named=True)
        raise FlowsError(
            f"{path}: row {row['row'] + 2}: start {row['ts']}, bytes {row['bytes']}: "
            "a flow needs a time and a whole number\n"
            "  fix: mend or remove that row"
        )
    begun = _time(start)
    lasted = pl.duration(nanoseconds=0, time_unit="ns")
    made = {
        "start": pl.when(pl.col("bytes") > 0).then(begun),
        "bytes": pl.col("bytes"),
        "first": begun,
        "lasted": lasted,
    }
    return _shaped(rows, made, addresses=False)


def _time(kind: pl.DataType) -> pl.Expr:
    """Seconds since the epoch, or a date, as Zeek and CSV files have them in `ts`."""
    ts = pl.col("ts")
    if isinstance(kind, pl.Datetime):
        return (
            ts.dt.cast_time_unit("ns").dt.replace_time_zone("UTC")
            if kind.time_zone is None
            else ts.cast(pl.Datetime("ns", "UTC"))
        )
    if kind == pl.String:
        seconds = ts.cast(pl.Float64, strict=False)
        date = ts.str.to_datetime(time_unit="ns", time_zone="UTC", strict=False)
        return pl.coalesce(_since_epoch(seconds), date)
    return _since_epoch(ts.cast(pl.Float64))


def _since_epoch(seconds: pl.Expr) -> pl.Expr:
    # Seconds since 1970 have no nanoseconds in 53 bits; Zeek writes microseconds.
    whole = seconds.floor()
    ns = whole.cast(pl.Int64) * 1_000_000_000 + ((seconds - whole) * 1e6).round().cast(pl.Int64) * 1000
    return ns.cast(pl.Datetime("ns")).dt.replace_time_zone("UTC")


def _shaped(rows: pl.LazyFrame, made: dict[str, pl.Expr], addresses: bool) -> pl.LazyFrame:
    types = schema(addresses)
    lasted = made.pop("lasted")
    nothing = pl.duration(nanoseconds=0, time_unit="ns")
    chunk = pl.struct(nothing.alias("at"), lasted.alias("lasted"), made["bytes"].cast(pl.UInt64).alias("bytes"))
    made["chunks"] = pl.when(made["bytes"] > 0).then(pl.concat_list(chunk)).otherwise(pl.lit([], dtype=types["chunks"]))
    made.setdefault("direction", pl.lit(DIRECTIONS[0]))
    empty = pl.lit(None)
    return rows.select(made.get(name, empty).cast(kind).alias(name) for name, kind in types.items())


def _text_rows(path: Path) -> pl.LazyFrame:
    head = _core.capture_head(path, HEAD).decode("utf-8", "replace").splitlines()
    told = {line.split(None, 1)[0]: line for line in head if line.startswith("#")}
    if "#fields" not in told:
        raise FlowsError(f"{path}: a log of Zeek without its line #fields\n  fix: name a conn.log that is whole")
    separator = told["#separator"].split(None, 1)[1].encode().decode("unicode_escape") if "#separator" in told else "\t"
    fields = told["#fields"].split(separator)[1:]
    unset = told.get("#unset_field", f"{separator}-").split(separator)[1]
    return pl.scan_csv(
        path,
        separator=separator,
        has_header=False,
        new_columns=fields,
        schema=dict.fromkeys(fields, pl.String),
        comment_prefix="#",
        null_values=[unset],
        quote_char=None,
        truncate_ragged_lines=True,
    )


def _json_rows(path: Path) -> pl.LazyFrame:
    try:
        first: Any = json.loads(_core.capture_head(path, HEAD).partition(b"\n")[0])
    except ValueError as error:
        raise FlowsError(
            f"{path}: its first line is no JSON object\n  fix: name a conn.log, an object a line"
        ) from error
    # Polars reads no unsigned numbers of JSON.
    types: dict[str, type[pl.DataType]] = {
        name: kind if kind in (pl.String, pl.Float64) else pl.Int64 for name, kind in _ZEEK.items()
    }
    types["ts"] = pl.String if isinstance(first.get("ts"), str) else pl.Float64
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    source = gzip.decompress(path.read_bytes()) if zipped else path
    return pl.scan_ndjson(source, schema=types)
