"""Who gets how much, and how soon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

# The windows of PCC (Dong et al., NSDI 2015, §4.2.2): each second for five, within 25 % of the
# equal rate.
WINDOW_S = 1.0
HELD_S = 5.0
WITHIN = 0.25


class Convergence(NamedTuple):
    """How flows came to equal shares."""

    time_s: float
    """From the last flow's start until the shares are equal and stay so for a while; NaN when they never do."""
    jain: float
    """The mean of Jain's index per window from then on; NaN when they never do."""


def jain(rates: Sequence[float] | Values) -> float:
    """Jain's index: (Σ x)² / (n · Σ x²). 1 when all are equal, as when all are zero; NaN of none."""
    squares = math.fsum(float(rate) ** 2 for rate in rates)
    if len(rates) == 0:
        return math.nan
    return math.fsum(rates) ** 2 / (len(rates) * squares) if squares else 1.0


def min_max(rates: Sequence[float] | Values) -> float:
    """The least over the most; 1 when all are zero, NaN of none."""
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
    """Each flow's rate in each whole window.

    Args:
        progress: Of each flow the times of its samples, in s, and the bytes delivered by then;
            shape (samples,) each.
        start_s: Where the first window begins.
        end_s: Where the last one ends, at the latest.
        window_s: How long a window is.

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
    """Jain's index of each window; `rates` and the result as in :func:`rates_per_window`."""
    import numpy as np

    return np.array([jain(column) for column in rates.T])


def convergence(
    progress: Sequence[tuple[Values, Values]],
    end_s: float,
    within: float = WITHIN,
    held_s: float = HELD_S,
) -> Convergence:
    """When flows that share a path come to equal shares.

    The least time t, from the first sample of the flow that starts last, such that in each second
    from t to t + 5 s every flow has between 75 % and 125 % of an equal share of what all of them
    got in that second.

    Args:
        progress: As in :func:`rates_per_window`, of at least two flows.
        end_s: The end of the run.
        within: How far from the equal share is equal.
        held_s: How long it has to stay so.

    Raises:
        ValueError: When there are fewer than two flows.
    """
    import numpy as np

    if len(progress) < 2:
        raise ValueError(f"convergence of {len(progress)} flow: shares need two")
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
