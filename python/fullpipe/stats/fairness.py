"""Fairness: shares of flows, and the time until they are equal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

# The definition of PCC (Dong et al., NSDI 2015, §4.2.2): in each of five seconds, within 25 % of
# the equal rate.
WINDOW_S = 1.0
HELD_S = 5.0
WITHIN = 0.25


class Convergence(NamedTuple):
    """Convergence of flows to equal shares."""

    time_s: float
    """Time from the last flow's start until the shares are equal for five seconds; NaN without convergence."""
    jain: float
    """The mean of Jain's index per window from then on; NaN without convergence."""


def jain(rates: Sequence[float] | Values) -> float:
    """Returns Jain's index, (Σ x)² / (n · Σ x²): 1 when all rates are equal, even if zero; NaN without rates."""
    squares = math.fsum(float(rate) ** 2 for rate in rates)
    if len(rates) == 0:
        return math.nan
    return math.fsum(rates) ** 2 / (len(rates) * squares) if squares else 1.0


def min_max(rates: Sequence[float] | Values) -> float:
    """Returns the least rate divided by the greatest; 1 when all are zero, NaN without rates."""
    if len(rates) == 0:
        return math.nan
    most = float(max(rates))
    return float(min(rates)) / most if most else 1.0


def rates_per_window(
    progress: Sequence[tuple[Values, Values]],
    start_s: float,
    end_s: float,
    window_s: float = WINDOW_S,
) -> tuple[Values, Values]:
    """Returns each flow's rate in each complete window.

    Args:
        progress: For each flow the times of its samples, in s, and the bytes delivered by then;
            shape (samples,) each.
        start_s: Start of the first window.
        end_s: Latest end of the last window.
        window_s: Length of a window.

    Returns:
        The windows' ends in s, shape (windows,), and rates in bit/s, shape (flows, windows).
    """
    import numpy as np

    windows = max(int((end_s - start_s) / window_s + 1e-9), 0)
    edges = start_s + np.arange(windows + 1, dtype=np.float64) * window_s
    rates = np.zeros((len(progress), windows))
    for row, (time, delivered) in zip(rates, progress, strict=True):
        row[:] = np.diff(np.interp(edges, time, delivered, left=0.0)) * 8 / window_s
    return edges[1:], rates


def jain_over_time(rates: Values) -> Values:
    """Returns Jain's index of each window; `rates` has the shape of :func:`rates_per_window`."""
    import numpy as np

    return np.array([jain(column) for column in rates.T])


def convergence(
    progress: Sequence[tuple[Values, Values]],
    end_s: float,
    within: float = WITHIN,
    held_s: float = HELD_S,
) -> Convergence:
    """Returns the time until flows that share a path have equal shares.

    This is the least time t, from the first sample of the flow that starts last, such that in each
    second from t to t + 5 s every flow has between 75 % and 125 % of the mean rate of all flows in
    that second.

    Args:
        progress: As in :func:`rates_per_window`, of at least two flows.
        end_s: The end of the run.
        within: Accepted relative distance from the equal share.
        held_s: Time for which all shares must stay within that distance.

    Raises:
        ValueError: When there are fewer than two flows.
    """
    import numpy as np

    if len(progress) < 2:
        raise ValueError(f"convergence of {len(progress)} flow: it needs two or more")
    if any(len(time) == 0 for time, _ in progress):
        return Convergence(math.nan, math.nan)
    start_s = max(float(time[0]) for time, _ in progress)
    _, rates = rates_per_window(progress, start_s, end_s)
    equal = rates.mean(axis=0)
    fair = (equal > 0) & (np.abs(rates - equal) <= within * equal).all(axis=0)
    needed = round(held_s / WINDOW_S)
    for at in range(len(fair) - needed + 1):
        if fair[at : at + needed].all():
            return Convergence(at * WINDOW_S, float(np.mean(jain_over_time(rates[:, at:]))))
    return Convergence(math.nan, math.nan)
