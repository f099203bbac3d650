"""The queue over time, from a trace. Like metrics, it excludes time before `measure_from`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fullpipe.study.reproduce.measures.run_view import RunView

    Values = NDArray[np.float64]


def queue_delay(run: RunView) -> tuple[Values, Values]:
    """Returns times in s, and the queueing delay at the bottleneck at these times, in RTTmin."""
    import polars as pl

    links = run.trace("links")
    rows = links.filter(
        pl.col("link") == links["link"][0], pl.col("time") >= run.metrics["measure_from_s"]
    )
    return rows["time"].to_numpy(), rows["sojourn"].cast(pl.Float64).to_numpy() / run.scenario.rtt_s
