"""Flows of logs: Zeek's conn.log (tab-separated or JSON) and CSV files.

The core gives the text of a file in pieces of whole lines, and leaves out lines beyond a megabyte.
So memory does not grow with the size of a log, compressed or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe import _core
from fullpipe.wings.fleet.workload import csv_file, zeek
from fullpipe.wings.fleet.workload.flows import schema
from fullpipe.wings.fleet.workload.text import Source, first_line
from fullpipe.wings.traces.foreign import formats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


def kind(path: Path) -> str:
    """Detects the kind of a file: `zeek`, `zeek-json`, `csv`, `parquet`, or `capture` for all others.

    Raises:
        ForeignError: When it is of a format that other commands read.
        OSError: When the file can't be read.
    """
    head = _core.content_head(path, formats.HEAD)
    found = formats.recognized(head)
    if found and found.name in ("capture", "csv", "parquet"):
        return found.name
    formats.refuse(path, found, "workload extract")
    if head.startswith(b"#separator"):
        return "zeek"
    line = first_line(head)
    if line.startswith(("{", "[{")):
        return "zeek-json"
    # With other columns, which `columns` names.
    # No capture begins with a line of text.
    return (
        "csv"
        if line.replace("\t", " ").isprintable()
        and any(mark in line for mark in formats.SEPARATORS)
        else "capture"
    )


def frames(
    kind: str,
    files: Sequence[Path],
    *,
    udp: bool,
    addresses: bool,
    columns: Mapping[str, str],
    progress: Callable[[int, int, int, int], object],
) -> Iterator[pl.DataFrame | dict[str, Any]]:
    """Yields the flows of logs of a kind, some megabytes at a time, and finally the report.

    Raises:
        FlowsError: When a file is not a log of flows, or a row of a CSV file is wrong.
        OSError: When a file can't be read.
    """
    flows = before = 0
    told = []
    for file in files:
        source = Source(file)
        if kind == "csv":
            rows = csv_file.flows(source, columns, addresses=addresses)
        else:
            rows = zeek.flows(source, udp=udp, addresses=addresses, as_json=kind == "zeek-json")
        for frame in rows:
            flows += frame.height
            progress(before + source.read, 0, flows, 0)
            yield frame
        before += source.read
        damage = {"damage": source.damage} if source.damage else {}
        told.append({"path": str(file), "format": kind, **damage})
    if not flows:
        yield pl.DataFrame(schema=schema(addresses))
    yield {"files": told}
