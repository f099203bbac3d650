"""Single packets on a terminal."""

from __future__ import annotations

import polars as pl

from fullpipe.base import terminal
from fullpipe.runs.view.table import NONE, make_table, ms, number_columns


def show(frame: pl.DataFrame, most: int, *, acks: bool = False) -> None:
    """Prints the first rows of a trace's `packets`, or of its `acks`."""
    text = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    table = make_table("flow")
    number_columns(table, "time\ns")
    if acks:
        number_columns(table, "acked\nB", "SACK\nfrom", "SACK\nto")
        for row in text.head(most).iter_rows(named=True):
            places = map(_count, (row["acked"], row["sack_start"], row["sack_end"]))
            table.add_row(row["flow"], f"{row['time']:.6f}", *places)
    else:
        number_columns(table, "sequence\nB", "bytes")
        table.add_column("kind", vertical="bottom")
        table.add_column("fate", vertical="bottom")
        number_columns(table, "access\nms", "queue\nms", "path\nms")
        for row in text.head(most).iter_rows(named=True):
            kind = "sent again" if row["kind"] == "retransmission" else row["kind"]
            fate = row["fate"] if row["link"] is None else f"{row['fate']}, {row['link']}"
            delays = (ms(row[name]) for name in ("access", "queue", "path"))
            numbers = (_count(row["sequence"]), _count(row["bytes"]))
            table.add_row(row["flow"], f"{row['time']:.6f}", *numbers, kind, fate, *delays)
    console = terminal.console()
    console.print(table)
    if frame.height > most:
        what = "rows of ACKs" if acks else "packets"
        console.print(
            f"{most} of {frame.height:,} {what}: see more with --rows N, a shorter time with --window, "
            "or name a FILE for all"
        )


def _count(value: int | None) -> str:
    return NONE if value is None else f"{value:,}"
