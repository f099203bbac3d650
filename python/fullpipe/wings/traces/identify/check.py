"""Checks the answer against the rules of the algorithm that `fullpipe trace judge` has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.wings.traces.behavior.judge import judge
from fullpipe.wings.traces.behavior.observed import LOSS_COUNTS, Observed
from fullpipe.wings.traces.behavior.rules import Rules

if TYPE_CHECKING:
    from fullpipe.wings.traces.behavior.judge import Found

_COLUMNS = ("inflight", "delivered", "rtt", "srtt", *LOSS_COUNTS)
"""Columns of captures. Windows and states are not taken, so that a trace with them is not treated in another way."""
_MOST = 0.5


def bare(trace: Observed) -> Observed:
    """Returns the trace as a capture would have it."""
    columns = {name: trace.columns[name] for name in _COLUMNS if trace.has(name)}
    return Observed(trace.name, trace.time, columns, (), trace.segment)


def contradiction(trace: Observed, algorithm: str) -> str:
    """Returns the rule of an algorithm that a flow breaks on most occasions; empty without one."""
    broken = [each for each in judge(bare(trace), Rules(algorithm, {})) if _is_broken(each)]
    return broken[0].difference if broken else ""


def _is_broken(found: Found) -> bool:
    return len(found.different) > _MOST * len(found.occasions)
