"""Flows of a CSV file."""

from __future__ import annotations

import csv as rfc4180
from collections import Counter
from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl

from fullpipe import _core
from fullpipe.wings.fleet.workload.flows import FlowsError
from fullpipe.wings.fleet.workload.text import MOST_BYTES, Source, first_line, shaped, time_of
from fullpipe.wings.traces.foreign.formats import HEAD, SEPARATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def read(path: Path, columns: Mapping[str, str]) -> pl.DataFrame:
    """Reads the columns `start` and `bytes` of a CSV file; `columns` has their names in it, if different.

    Raises:
        FlowsError: When a column is missing, or has an invalid value.
        OSError: When the file can't be read.
    """
    parts = [each.select("start", "bytes") for each in flows(Source(path), columns)]
    return pl.concat(parts) if parts else pl.DataFrame(schema={"start": pl.Time, "bytes": pl.Int64})


def flows(
    source: Source, columns: Mapping[str, str], addresses: bool = False
) -> Iterator[pl.DataFrame]:
    """Yields the flows of a CSV file: start in seconds or as a date, and volume in bytes.

    Raises:
        FlowsError: When a column is missing, or has an invalid value.
        OSError: When the file can't be read.
    """
    separator = _separator(first_line(_core.content_head(source.path, HEAD)))
    header: list[str] | None = None
    for text, first in source.pieces(separator):
        if source.too_long:
            raise FlowsError(
                f"{source.path}: row {source.too_long[0]}: longer than a megabyte\n"
                "  fix: remove it, or close its quotes"
            )
        rows = _rows(source.path, text, first, separator, header)
        yield _flows(source.path, text, first, separator, rows, columns, addresses)
        header = rows.columns


def _rows(
    path: Path, text: bytes, first: int, separator: str, header: list[str] | None
) -> pl.DataFrame:
    """Reads a piece of a CSV file as texts, with the names in its first line or in `header`."""
    try:
        rows = pl.read_csv(
            BytesIO(text),
            separator=separator,
            comment_prefix="#",
            has_header=header is None,
            schema=dict.fromkeys(header, pl.String) if header else None,
            infer_schema=False,
            raise_if_empty=False,
        )
    except pl.exceptions.PolarsError as error:
        records = _records(text, first, separator)
        width = len(header) if header else len(next(records, (0, []))[1])
        for line, record in records:
            if len(record) > width:
                raise FlowsError(
                    f"{path}: row {line}: {len(record)} fields, but the first row has {width}\n"
                    "  fix: give each row as many fields as the first"
                ) from error
        reason = str(error).splitlines()[0]
        raise FlowsError(f"{path}: {reason}\n  fix: save it as CSV in UTF-8") from error
    # Only where that leaves the names different.
    stripped = {name: name.strip() for name in rows.columns}
    often = Counter(stripped.values())
    return rows.rename({name: to for name, to in stripped.items() if often[to] == 1})


def _records(text: bytes, first: int, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yields the records of a piece, as polars counts them, with the numbers of their last lines."""
    lines = rfc4180.reader(text.decode("utf-8", "replace").splitlines(), delimiter=separator)
    try:
        for record in lines:
            if not (record and record[0].startswith("#")):
                yield first + lines.line_num - 1, record
    except rfc4180.Error:  # a field too long, for example; the caller says what polars says
        return


def _flows(
    path: Path,
    text: bytes,
    first: int,
    separator: str,
    rows: pl.DataFrame,
    columns: Mapping[str, str],
    addresses: bool,
) -> pl.DataFrame:
    wanted = {name: columns.get(name, name) for name in ("start", "bytes")}
    for name, called in wanted.items():
        if called not in rows.columns:
            raise FlowsError(
                f"{path}: no column {called!r}; the columns are {', '.join(rows.columns)}\n"
                f"  fix: name the column to use: --columns {name}=NAME"
            )
    blank = pl.all_horizontal(pl.all().is_null())
    said = [pl.col(called).str.strip_chars().alias(name) for name, called in wanted.items()]
    numbers = pl.col("start", "bytes")
    rows = rows.select(*said, _blank=blank).with_columns(
        # In files with semicolons as separators, numbers may have a decimal comma.
        numbers.str.replace(",", ".", literal=True) if separator == ";" else numbers
    )
    volume = pl.col("bytes").cast(pl.Int64, strict=False)
    inexact = pl.col("bytes").cast(pl.Float64, strict=False)
    volume = pl.coalesce(
        volume, pl.when(inexact.floor() == inexact).then(inexact.cast(pl.Int64, strict=False))
    )
    read = rows.with_row_index("row").select(
        "row", time_of(pl.String(), "start").alias("begun"), volume.alias("volume"), blank="_blank"
    )
    good = pl.col("begun").is_not_null() & pl.col("volume").is_between(0, MOST_BYTES)
    for row in read.filter(~(good.fill_null(value=False) | pl.col("blank")))["row"].head(1):
        # The first piece begins with the header.
        at = row + (0 if first > 1 else 1)
        line = next(
            (line for n, (line, _) in enumerate(_records(text, first, separator)) if n == at)
        )
        start, size = rows["start"][row], rows["bytes"][row]
        raise FlowsError(
            f"{path}: row {line}: start {start}, bytes {size}: "
            "a flow needs a time (seconds, or a date like 2020-06-10 14:00:00) and a whole number\n"
            "  fix: correct or remove the row, or name other columns: --columns start=NAME,bytes=NAME"
        )
    begun, size = pl.col("begun"), pl.col("volume")
    made = {
        "start": pl.when(size > 0).then(begun),
        "bytes": size,
        "first": begun,
        "lasted": pl.duration(nanoseconds=0, time_unit="ns"),
    }
    return shaped(read.filter(~pl.col("blank")), made, addresses)


def _separator(line: str) -> str:
    """Returns the column separator: the candidate that occurs most often."""
    return max(SEPARATORS, key=line.count)
