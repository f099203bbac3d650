"""Derived columns of the fleet tables. Each is computed only here."""

from __future__ import annotations

import polars as pl

from fullpipe.wings.fleet.schema import TABLES

_TYPES = {
    "text": pl.String(),
    "int": pl.Int64(),
    "float": pl.Float64(),
    "bool": pl.Boolean(),
    "time": pl.Datetime("us", "UTC"),
}


def conform(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """Returns a frame with a fleet table's columns: all of them, typed, in order, with derived ones.

    Args:
        frame: Columns of :data:`fullpipe.wings.fleet.schema.TABLES`. Missing columns become null. Derived
            columns are always recomputed.
        table: Name of the table.

    Raises:
        ValueError: When the frame has a column that the table lacks.
    """
    columns = TABLES[table]
    more = set(frame.columns) - {column.name for column in columns}
    if more:
        raise ValueError(f"the fleet table {table} has no column {', '.join(sorted(more))}")
    given = [
        pl.col(column.name).cast(_TYPES[column.kind])
        if column.name in frame.columns
        else pl.lit(None, dtype=_TYPES[column.kind]).alias(column.name)
        for column in columns
        if not column.derived
    ]
    derived = {name: expression.alias(name) for name, expression in _DERIVED[table].items()}
    # The columns in _SECOND depend on other derived columns.
    first = frame.select(given).with_columns(
        derived[name] for name in derived if name not in _SECOND
    )
    return first.with_columns(derived[name] for name in derived if name in _SECOND).select(
        column.name for column in columns
    )


def types(table: str) -> pl.Schema:
    """Returns the columns of a table with their types."""
    return pl.Schema({column.name: _TYPES[column.kind] for column in TABLES[table]})


def _share(part: str, whole: pl.Expr) -> pl.Expr:
    """Returns part / whole, or null where the whole is zero."""
    return pl.when(whole > 0).then(pl.col(part) / whole)


_OF_FIELDS = {
    # Kernels since 4.19 count bytes, and may retransmit a part of a segment.
    "loss": pl.coalesce(
        _share("bytes_retrans", pl.col("bytes_sent")),
        _share("retrans_total_packets", pl.col("data_segs_out")),
    ),
    "rwnd_limited": _share("rwnd_limited_s", pl.col("busy_s")),
    "sndbuf_limited": _share("sndbuf_limited_s", pl.col("busy_s")),
    "bandwidth_bps": pl.coalesce("bbr_bw_bps", "delivery_rate_bps"),
    "transferred_bytes": pl.coalesce(
        pl.col("bytes_acked"), pl.col("bytes_sent") - pl.col("bytes_retrans")
    ),
    "busy_rate_bps": pl.when(pl.col("busy_s") > 0).then(
        8.0 * pl.col("transferred_bytes") / pl.col("busy_s")
    ),
    "min_rtt_s": pl.coalesce("minrtt_s", "bbr_mrtt_s"),
    "spurious": pl.when(pl.col("retrans_total_packets") > 0).then(
        (pl.col("dsack_dups") / pl.col("retrans_total_packets")).clip(upper_bound=1.0)
    ),
    # Computed as a float: with damaged input an integer product could wrap around.
    "inflight_bytes": (pl.col("unacked_packets").cast(pl.Float64) * pl.col("mss_bytes")).cast(
        pl.Int64, strict=False
    ),
}

_DERIVED: dict[str, dict[str, pl.Expr]] = {
    "connections": _OF_FIELDS
    | {"observed_s": (pl.col("last_seen") - pl.col("first_seen")).dt.total_microseconds() / 1e6},
    "samples": _OF_FIELDS,
    "requests": {
        "throughput_bps": pl.when(pl.col("request_time_s") > 0).then(
            8.0 * pl.coalesce("bytes_sent", "body_bytes_sent") / pl.col("request_time_s")
        )
    },
    "counters": {
        "retrans": _share("retrans_segs", pl.col("out_segs")),
        "retrans_of_all": _share("retrans_segs", pl.col("out_segs") + pl.col("retrans_segs")),
        "cpu_busy": 1 - _share("cpu_idle_s", pl.col("cpu_s")),
    },
    "histograms": {
        "share": pl.col("count") / pl.col("count").sum().over("arm", "host", "time", "name")
    },
}

_SECOND = {"busy_rate_bps"}
