"""Measures of the convergence of a late flow to its fair share; they need a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fullpipe.study.reproduce.measures.run_view import share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fullpipe.study.reproduce.measures.run_view import RunView

    Values = NDArray[np.float64]

_WINDOW_S = 1.0
_EARLY_S = 5.0
_ENOUGH = 0.8


def time_to_fair_s(run: RunView, flow: int) -> float:
    """Time from the flow's first row until its rate over a second is 80 % of an equal share, in s.

    The share is of all flows' total rate. If the flow never gets there, the value is the time until the
    end of the run: a lower bound.
    """
    start, end = _times(run, flow)
    ends = np.arange(start + _WINDOW_S, end, _WINDOW_S / 10)
    rates = np.stack([_delivered(run, each, ends - _WINDOW_S, ends) for each in range(_count(run))])
    whole = rates.sum(axis=0)
    reached = np.flatnonzero((whole > 0) & (rates[flow] >= _ENOUGH * whole / _count(run)))
    return float(ends[reached[0]] - start) if len(reached) else end - start


@share
def early_share(run: RunView, flow: int) -> float:
    """Share of the flow in the bytes delivered to all flows in the first 5 s after its start, 0 to 1."""
    start, _ = _times(run, flow)
    got = [
        _delivered(run, each, np.array([start]), np.array([start + _EARLY_S]))[0]
        for each in range(_count(run))
    ]
    return float(got[flow] / sum(got))


def _count(run: RunView) -> int:
    return len(run.metrics["flows"])


def _times(run: RunView, flow: int) -> tuple[float, float]:
    """Returns the times of the flow's first and last row, in s."""
    time, _ = _progress(run, flow)
    return float(time[0]), float(time[-1])


def _delivered(run: RunView, flow: int, since: Values, until: Values) -> Values:
    """Returns the bytes delivered between two times; zero before the flow's first row."""
    time, delivered = _progress(run, flow)
    return np.interp(until, time, delivered, left=0.0) - np.interp(since, time, delivered, left=0.0)


def _progress(run: RunView, flow: int) -> tuple[Values, Values]:
    """Returns the times of the flow's rows, in s, and the bytes delivered by then."""
    import polars as pl

    rows = run.trace().filter(pl.col("flow") == run.metrics["flows"][flow]["name"])
    return rows["time"].to_numpy(), rows["delivered"].cast(pl.Float64).to_numpy()


MEASURES = (time_to_fair_s, early_share)
