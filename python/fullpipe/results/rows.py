"""Metrics of a run as rows, in the same form as a sweep's data set."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import polars as pl

from fullpipe import _core
from fullpipe.base.frame import table
from fullpipe.base.metrics import LinkMetrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.base.metrics import Metrics


def rows_of(metrics: Metrics, point: int = 0) -> pl.DataFrame:
    """Returns one row per flow, then one row per workload; nested metrics have dots in their names."""
    return table(_core.rows([(point, json.dumps(metrics))]))


_OF_LINK = re.compile(
    rf"link\.(.+?)\.((?:{'|'.join(LinkMetrics.__annotations__)})(?:\.\w+){{0,2}})"
)
"""The column of a link's metric in rows of flows: `link.bottleneck.queue_delay_s.p95`."""


def without_links(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns rows of flows without the columns of links."""
    return rows.select(name for name in rows.columns if not _OF_LINK.fullmatch(name))


def links_of(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Returns a row for each link and run of rows of flows.

    Args:
        rows: The rows of flows.
        keys: The columns that tell runs apart.
    """
    columns: dict[str, dict[str, str]] = {}
    for name in rows.columns:
        if found := _OF_LINK.fullmatch(name):
            columns.setdefault(found[1], {})[name] = found[2]
    runs = rows.unique(keys, keep="first", maintain_order=True)
    parts = [
        runs.select(
            *keys, pl.lit(link).alias("link"), *(pl.col(old).alias(new) for old, new in of.items())
        )
        for link, of in columns.items()
    ]
    if not parts:
        return runs.select(*keys, pl.lit("").alias("link")).clear()
    return pl.concat(parts, how="diagonal_relaxed").sort(*keys, "link", maintain_order=True)
