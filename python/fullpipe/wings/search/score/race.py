"""Races: candidates that are worse than the leader stop early, with a stated error.

At each look, the leader is the candidate with the best mean on the cells before the previous look. All others are
compared with it on the cells since then, which had no part in the choice of the leader, pair by pair: common cells and
seeds. A candidate stops if a one-sided paired t-test rejects, at `alpha` divided by the number of looks, that it is at
least as good. So a candidate that no other one surpasses stops by mistake with a probability of at most `alpha` in the
whole race, however many candidates there are: it meets one rival per look.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ALPHA = 0.05
"""Probability with which the best candidate may stop by mistake."""
LOOKS = (0.04, 0.12, 0.24, 0.44, 0.7, 1.0)
"""Ends of the stages, as shares of the cells: the first one chooses a leader, and each further one ends with a look."""
_LEAST = 3
"""Least number of cells in a stage."""


def stages(cells: int) -> list[int]:
    """Returns the numbers of cells at which the stages of a race end; the last one is that of all cells."""
    found = [0]
    for share in LOOKS:
        end = round(share * cells)
        if end - found[-1] >= _LEAST or (share == 1 and end > found[-1]):
            found.append(end)
    return found[1:]


def stopped(
    points: NDArray[np.float64], before: int, alpha: float = ALPHA, looks: int = len(LOOKS) - 1
) -> tuple[int, NDArray[np.bool_]]:
    """Returns the leader, and for each candidate whether it stops.

    Args:
        points: The points of the candidates that are in the race, a row each; columns are cells, each weighted so that
            the mean of a row is a score.
        before: The number of cells that choose the leader; the test has the others.
        alpha: The error of the race.
        looks: The number of looks of the race.
    """
    from scipy.special import stdtr

    leader = int(np.argmax(points[:, :before].mean(axis=1)))
    gaps = points[leader, before:] - points[:, before:]
    count = gaps.shape[1]
    if count < _LEAST:
        return leader, np.zeros(len(points), bool)
    mean, error = gaps.mean(axis=1), gaps.std(axis=1, ddof=1) / math.sqrt(count)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error > 0, mean / error, np.where(mean > 0, np.inf, 0.0))
    probability = 1 - stdtr(count - 1, ratio)
    stops = probability < alpha / looks
    stops[leader] = False
    return leader, stops


def raced(
    points: NDArray[np.float64], ends: Sequence[int], alpha: float = ALPHA
) -> NDArray[np.int64]:
    """Returns the number of cells at which each candidate stops, with all points known: for tests of the error."""
    stop = np.full(len(points), ends[-1])
    there = np.arange(len(points))
    for before, end in itertools.pairwise(ends):
        _, stops = stopped(points[there, :end], before, alpha, len(ends) - 1)
        stop[there[stops]] = end
        there = there[~stops]
    return stop
