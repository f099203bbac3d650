"""Zeek's logs and CSV files: rows are sound, and a file that can't be read is an error with a fix."""

from __future__ import annotations

from _common import folder, fuzz, instrumented

with instrumented("fullpipe"):
    from fullpipe.wings.fleet.workload import csv_file, logs, zeek  # noqa: F401  (instrumented)
    from fullpipe.wings.fleet.workload.flows import FlowsError, schema

import polars as pl

FILE = folder() / "it"


def check(data: bytes) -> None:
    if not data:
        return
    options, content = data[0], data[1:]
    FILE.write_bytes(content)
    try:
        kind = logs.kind(FILE)
        if kind in ("parquet", "capture"):
            return
        columns = {"start": "ts"} if options & 4 and kind == "csv" else {}
        addresses = bool(options & 2)
        found = list(
            logs.frames(
                kind,
                [FILE],
                udp=bool(options & 1),
                addresses=addresses,
                columns=columns,
                progress=lambda *_: None,
            )
        )
    except FlowsError as error:
        assert "\n  fix: " in str(error), error
        return
    except OSError:  # compressed, and damaged at its beginning
        return
    *frames, report = found
    assert isinstance(report, dict), report
    rows = 0
    for frame in frames:
        assert isinstance(frame, pl.DataFrame)
        assert dict(frame.schema) == schema(addresses), frame.schema
        rows += frame.height
        sound(frame)
    if not content.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
        assert rows <= content.count(b"\n") + content.count(b"\r") + 1


def sound(frame: pl.DataFrame) -> None:
    wrong = frame.filter(
        (pl.col("bytes") > 1 << 53)
        | (pl.col("start").is_null() != (pl.col("bytes").fill_null(0) == 0))
        | (pl.col("last") < pl.col("first"))
        | (pl.col("start") < pl.col("first"))
        | (
            pl.col("chunks").list.eval(pl.element().struct.field("bytes")).list.sum()
            != pl.col("bytes")
        )
    )
    assert wrong.is_empty(), wrong.to_dicts()


if __name__ == "__main__":
    fuzz(check)
