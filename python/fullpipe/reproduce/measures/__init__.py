"""What can be measured of one run, by name: `measure` in `published/*.toml` is one of these.

A measure takes a finished run and the number of a flow, counted from 0, and gives a number; its
docstring says which, with the unit. Those of `link`, `slowdown` and `whole` do not look at the
flow. What becomes of the numbers of many runs is said in :mod:`fullpipe.verdicts.estimate`.
Another measure is another function in the module of its kind, with its name in the list at that
module's end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.reproduce.measures import (
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fullpipe.reproduce.measures.run_view import RunView

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
"""Those that need a trace."""

OF_WORKLOADS: dict[str, Measure] = _named((*slowdown.MEASURES, *slowdown.TRACED))
"""Those of flows that arrive."""

MEASURES: dict[str, Measure] = {
    **_named((*flow.MEASURES, *limits.MEASURES, *link.MEASURES, *whole.MEASURES)),
    **OF_WORKLOADS,
    **TRACED,
}
"""All."""
