"""Fairness: shares of flows, and the times during which they are equal."""

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


class Fairness(NamedTuple):
    """The times during which flows that share a path had equal shares."""

    start_s: float
    """Start of the first second: the first sample of the flow that starts last."""
    end_s: float
    """End of the run."""
    spells: list[tuple[float, float]]
    """Begin and end of each time of five seconds or more with equal shares, in s.

    The seconds are whole ones from `start_s`. A spell that lasts until the last of them ends with the run, if the
    shares in the second before the run's end are equal, too.
    """
    last: tuple[float, float]
    """The least and the greatest mean rate in the last five seconds, in bit/s; NaN if there are no five seconds."""
    which: tuple[int, int] = (0, 0)
    """The indices of the flows with these two rates."""


def jain(rates: Sequence[float] | Values) -> float:
    """Returns Jain's index, (Σ x)² / (n · Σ x²): 1 when all rates are equal, even if zero; NaN without rates."""
    squares = math.fsum(float(rate) ** 2 for rate in rates)
    if len(rates) == 0:
        return math.nan
    return math.fsum(rates) ** 2 / (len(rates) * squares) if squares else 1.0


def harm(value: float, own: float, better: int = 1) -> float:
    """Returns the harm to a flow, with its own kind as the reference.

    Ware et al., "Beyond Jain's Fairness Index" (HotNets 2019): the share of a quantity that is lost next to another
    kind, or of one that should be small, the share that is added. Below 0 for a flow that is better off; 0 where the
    share would be one of 0.

    Args:
        value: The quantity next to the other kind.
        own: The same next to a flow of its own kind.
        better: 1 if more of it is better, -1 if less is.
    """
    part, whole = (value, own) if better > 0 else (own, value)
    return 1 - part / whole if whole else 0.0


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


def fairness(
    progress: Sequence[tuple[Values, Values]],
    end_s: float,
    within: float = WITHIN,
    held_s: float = HELD_S,
) -> Fairness:
    """Returns the times during which flows that share a path have equal shares.

    Shares are equal in a second in which every flow has between 75 % and 125 % of the mean rate of
    all flows. The begin of the first spell is PCC's convergence time.

    Args:
        progress: As in :func:`rates_per_window`, of at least two flows.
        end_s: The end of the run.
        within: Accepted relative distance from the equal share.
        held_s: Least length of a spell.

    Raises:
        ValueError: When there are fewer than two flows.
    """
    import numpy as np

    if len(progress) < 2:
        raise ValueError(f"fairness of {len(progress)} flow: it needs two or more")
    if any(len(time) == 0 for time, _ in progress):
        return Fairness(end_s, end_s, [], (math.nan, math.nan))
    start_s = max(float(time[0]) for time, _ in progress)
    ends, rates = rates_per_window(progress, start_s, end_s)

    def is_fair(rates: Values) -> NDArray[np.bool_]:
        equal = rates.mean(axis=0)
        found: NDArray[np.bool_] = (equal > 0) & (np.abs(rates - equal) <= within * equal).all(
            axis=0
        )
        return found

    fair = is_fair(rates)
    needed = round(held_s / WINDOW_S)
    # The numbers of the first second of each spell, and of the first one after it.
    edges = np.flatnonzero(np.diff(fair.astype(int), prepend=0, append=0))
    spells = [
        (start_s + first * WINDOW_S, start_s + after * WINDOW_S)
        for first, after in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
        if after - first >= needed
    ]
    _, at_last = rates_per_window(progress, end_s - WINDOW_S, end_s)
    if spells and spells[-1][1] >= ends[-1] and is_fair(at_last).all():
        spells[-1] = (spells[-1][0], end_s)
    last, which = np.array([math.nan]), (0, 0)
    if len(ends) >= needed:
        _, rates = rates_per_window(progress, end_s - held_s, end_s, held_s)
        last = rates[:, 0]
        which = int(last.argmin()), int(last.argmax())
    return Fairness(start_s, end_s, spells, (float(last.min()), float(last.max())), which)
