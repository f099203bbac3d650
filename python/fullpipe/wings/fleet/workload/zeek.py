"""Flows of Zeek's conn.log, tab-separated or JSON."""

from __future__ import annotations

import json
import re
from io import BytesIO
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe import _core
from fullpipe.wings.fleet.workload.flows import FlowsError
from fullpipe.wings.fleet.workload.text import (
    MOST_BYTES,
    RANGE_S,
    Source,
    first_line,
    shaped,
    time_of,
)
from fullpipe.wings.traces.foreign.formats import HEAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
_NEEDED = ("ts", "orig_bytes", "resp_bytes")
# A separator in the first line: Zeek writes the code of its character.
_CODE = re.compile(r"\\x([0-9a-fA-F]{2})")


def flows(source: Source, *, udp: bool, addresses: bool, as_json: bool) -> Iterator[pl.DataFrame]:
    """Yields the flows of a conn.log.

    Zeek counts volume by sequence numbers, so volumes by packet lengths are unknown.

    Raises:
        FlowsError: When the file is another log of Zeek.
        OSError: When it can't be read.
    """
    for rows in _json_rows(source) if as_json else _text_rows(source):
        if missing := [name for name in _NEEDED if name not in rows.columns]:
            raise FlowsError(
                f"{source.path}: no field {' nor '.join(missing)}, which a Zeek conn.log has\n"
                "  fix: name a conn.log, a CSV file with the columns start and bytes, or a capture"
            )
        begun = time_of(rows.schema["ts"])
        marked = rows.with_columns(begun.alias("ts"), _bad=_unreadable(rows.columns, begun))
        source.unreadable += int(marked["_bad"].sum()) + len(source.too_long)
        typed = marked.filter(~pl.col("_bad")).select(
            (pl.col(name) if name in rows.columns else pl.lit(None))
            .cast(kind, strict=False)
            .alias(name)
            if name != "ts"
            else pl.col(name)
            for name, kind in _ZEEK.items()
        )
        if "proto" in rows.columns:
            typed = typed.filter(pl.col("proto").is_in(["tcp", "udp"] if udp else ["tcp"]))
        yield shaped(typed, _zeek_columns(pl.col("ts")), addresses)


def _unreadable(names: Sequence[str], begun: pl.Expr) -> pl.Expr:
    """Returns whether a line has no time, or an invalid number."""
    numbers = [name for name, kind in _ZEEK.items() if name in names and kind != pl.String]
    bad = begun.is_null() | pl.any_horizontal(
        pl.col(name).is_not_null() & pl.col(name).cast(_ZEEK[name], strict=False).is_null()
        for name in numbers
    )
    for name in ("orig_bytes", "resp_bytes"):
        bad |= (pl.col(name).cast(pl.UInt64, strict=False) >= MOST_BYTES).fill_null(value=False)
    if "duration" in names:
        lasted = pl.col("duration").cast(pl.Float64, strict=False).fill_null(0.0)
        bad |= ~lasted.is_between(0.0, RANGE_S)
        bad |= (begun.dt.epoch("s") + lasted >= RANGE_S).fill_null(value=True)
    return bad | ~pl.col(_WHOLE) if _WHOLE in names else bad


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


def _text_rows(source: Source) -> Iterator[pl.DataFrame]:
    separator, fields, unset = _header(source)
    # The columns have numbers, since names may occur twice. A line of these in front gives each
    # piece all its columns, even if its first line is truncated.
    numbers = [str(number) for number in range(len(fields))]
    first = f"{separator.join(numbers)}\n".encode()
    places = {name: number for number, name in zip(numbers, fields, strict=True) if name in _ZEEK}
    for text, _ in source.pieces():
        rows = pl.read_csv(
            BytesIO(first + text),
            separator=separator,
            schema=dict.fromkeys(numbers, pl.String),
            comment_prefix="#",
            quote_char=None,
            truncate_ragged_lines=True,
            encoding="utf8-lossy",
        )
        # Zeek leaves no field empty: a line without its last field is truncated.
        yield rows.select(
            pl.col(numbers[-1]).is_not_null().alias(_WHOLE),
            *(
                pl.when(pl.col(number) != unset).then(pl.col(number)).alias(name)
                for name, number in places.items()
            ),
        )


def _header(source: Source) -> tuple[str, list[str], str]:
    """Returns the separator of fields, the names of the fields, and the text of an absent value.

    Raises:
        FlowsError: When the log does not begin with them.
    """
    head = _core.content_head(source.path, HEAD).decode("utf-8", "replace").splitlines()
    said = head[0].partition(" ")[2]
    code = _CODE.fullmatch(said)
    separator = chr(int(code[1], 16)) if code else said or "\t"
    if (
        len(separator) != 1
        or not separator.isascii()
        or separator.isalnum()
        or separator in "#\n\r"
    ):
        raise FlowsError(
            f"{source.path}: #separator {said!a} is not one character, as Zeek writes it\n"
            "  fix: name a log that is as Zeek wrote it"
        )
    told = {line.split(separator, 1)[0]: line for line in head if line.startswith("#")}
    fields = told.get("#fields", "").split(separator)[1:]
    if not fields:
        raise FlowsError(
            f"{source.path}: a Zeek log without a #fields line\n  fix: name a complete conn.log"
        )
    unset = told.get("#unset_field", "").partition(separator)[2] or "-"
    return separator, fields, unset


def _json_rows(source: Source) -> Iterator[pl.DataFrame]:
    first = _object(first_line(_core.content_head(source.path, HEAD)))
    if first is None:
        raise FlowsError(
            f"{source.path}: the first line is not a JSON object\n"
            "  fix: name a conn.log with one JSON object per line"
        )
    # Polars can't read unsigned integers from JSON.
    types: dict[str, type[pl.DataType]] = {
        name: kind if kind in (pl.String, pl.Float64) else pl.Int64 for name, kind in _ZEEK.items()
    }
    types["ts"] = pl.String if isinstance(first.get("ts"), str) else pl.Float64
    for text, _ in source.pieces():
        try:
            yield pl.read_ndjson(BytesIO(text), schema=types)
        except pl.exceptions.PolarsError:  # of one line, perhaps
            lines = [line for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
            objects = [each for line in lines if (each := _typed(_object(line), types))]
            source.unreadable += len(lines) - len(objects)
            yield pl.DataFrame(objects, schema=types)


def _typed(
    value: dict[str, Any] | None, types: Mapping[str, type[pl.DataType]]
) -> dict[str, Any] | None:
    """Returns the entries of an object that a conn.log has; None if one has another type."""
    if value is None:
        return None
    found = {name: value.get(name) for name in types}
    for name, each in found.items():
        if each is None:
            continue
        if types[name] == pl.String:
            fits = isinstance(each, str)
        elif isinstance(each, bool):
            fits = False
        elif types[name] == pl.Float64:
            # Polars refuses whole numbers beyond 128 bits, and Python converts none beyond 1.8e308.
            fits = isinstance(each, float) or (isinstance(each, int) and abs(each) < 1 << 127)
        else:
            fits = isinstance(each, int) and abs(each) < 1 << 63
        if not fits:
            return None
    return found


def _object(line: str) -> dict[str, Any] | None:
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None
