"""Metrics of a run as rows, made by the core as it makes those of a sweep's data set."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.frame import table

if TYPE_CHECKING:
    import polars as pl

    from fullpipe.metrics import Metrics


def rows_of(metrics: Metrics, point: int = 0) -> pl.DataFrame:
    """A row a flow, and behind them a row a workload; nested metrics have dots in their names."""
    return table(_core.rows([(point, json.dumps(metrics))]))
