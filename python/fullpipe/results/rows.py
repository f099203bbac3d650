"""Metrics of a run as rows, in the same form as a sweep's data set."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.frame import table

if TYPE_CHECKING:
    import polars as pl

    from fullpipe.metrics import Metrics


def rows_of(metrics: Metrics, point: int = 0) -> pl.DataFrame:
    """Returns one row per flow, then one row per workload; nested metrics have dots in their names."""
    return table(_core.rows([(point, json.dumps(metrics))]))
