"""Measures that need a trace. Like the metrics, they leave out what is before `measure_from`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fullpipe.reproduce.measures.ran import Ran


def queue_above_rttmin(run: Ran, _flow: int) -> float:
    """The share of time in which the queueing delay at the bottleneck is above one RTTmin, 0 to 1."""
    import polars as pl

    links = run.trace("links")
    rows = links.filter(pl.col("link") == links["link"][0], pl.col("time") >= run.metrics["measure_from_s"])
    return float((rows["sojourn"] > run.scenario.rtt_s).sum()) / len(rows)


MEASURES = (queue_above_rttmin,)
