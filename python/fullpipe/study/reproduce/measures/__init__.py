"""Measures of one run, by name: the values of `measure` in `published/*.toml`.

A measure takes a finished run and the index of a flow, from 0, and returns a number; its docstring
defines it, with the unit, and is also a title in figures. Measures in `link`, `slowdown` and
`whole` ignore the flow. :mod:`fullpipe.study.verdicts.estimate` combines the numbers of many runs. To add
a measure, write a function in the module of its kind and add it to the tuple at the module's end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fullpipe.study.reproduce.measures import (
    convergence,
    drift,
    flow,
    limits,
    link,
    probing,
    slowdown,
    states,
    whole,
)
from fullpipe.study.reproduce.measures.run_view import SHARES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fullpipe.study.reproduce.measures.run_view import RunView

    Measure = Callable[[RunView, int], float]


def _named(measures: Iterable[Measure]) -> dict[str, Measure]:
    return {measure.__name__: measure for measure in measures}


_TRACED = (
    *probing.MEASURES,
    *states.MEASURES,
    *convergence.MEASURES,
    *drift.MEASURES,
    *slowdown.TRACED,
)
TRACED: dict[str, Measure] = _named(_TRACED)
"""Measures that need a trace."""

OF_WORKLOADS: dict[str, Measure] = _named((*slowdown.MEASURES, *slowdown.TRACED))
"""Measures of the flows of a workload."""

MEASURES: dict[str, Measure] = {
    **_named((*flow.MEASURES, *limits.MEASURES, *link.MEASURES, *whole.MEASURES)),
    **OF_WORKLOADS,
    **TRACED,
}
"""All measures by name."""


def bounds(measure: str) -> tuple[float, float]:
    """Returns the least and the greatest value that a measure can have."""
    return (0.0, 1.0) if measure in SHARES else (-math.inf, math.inf)
