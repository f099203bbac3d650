"""Compares the window after each ACK with the kernel's, in scenarios with one flow and without chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.runners.sim import RUNNER as SIMULATOR
from fullpipe.wings.real.runners import uml

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from fullpipe.runners import Progress
    from fullpipe.wings.real.validate.drawn.draw import Drawn

    Column = NDArray[np.float64]

_SEGMENT = 1448
"""Bytes of a full segment."""


class First(NamedTuple):
    """The first ACK after which the windows differ.

    Attributes:
        ack: Its number on the kernel, from 1.
        time_s: Its time on the simulator.
        una: SND.UNA after it, in segments.
        ours: Our window in segments, rounded up: a short segment counts as one.
        linux: The kernel's.
        threshold: The kernel's slow-start threshold then; None before the first congestion.
    """

    ack: int
    time_s: float
    una: float
    ours: int
    linux: int
    threshold: int | None


@dataclass(frozen=True)
class AckComparison:
    """The comparison of one scenario.

    Attributes:
        drawn: The scenario.
        acks: The number of ACKs that the kernel's sender received.
        equal: Share of them after which our window is the kernel's.
        near: Share with a difference of at most one segment.
        first: The first difference; None if all are equal.
    """

    drawn: Drawn
    acks: int
    equal: float
    near: float
    first: First | None


def on_kernel(drawn: Drawn, progress: Progress) -> pl.DataFrame:
    """Returns a row for each segment that the kernel's sender received, with the state before it.

    Raises:
        ScenarioError: When user-mode Linux fails.
    """
    import polars as pl

    _, probe = uml.probed(drawn.setup.scenario(1), progress)
    return pl.DataFrame(
        {
            name: column if name == "time_s" else column.astype("int64")
            for name, column in probe._asdict().items()
        }
    )


def compare(drawn: Drawn, kernel: pl.DataFrame, progress: Progress) -> AckComparison:
    """Runs a scenario on the simulator, and compares the windows after each ACK of the kernel's."""
    import numpy as np

    result = SIMULATOR.execute(drawn.setup.scenario(1), "ack", progress)
    columns = {name: np.asarray(result.table("flows")[name]) for name in ("time", "cwnd", "acked")}
    # The state before a segment is that after the one before it, so the first row has the initial window.
    una, cwnd = (kernel[name].to_numpy()[1:].astype(np.float64) for name in ("una", "cwnd"))
    threshold = kernel["ssthresh"].to_numpy()[1:]
    acked = np.maximum.accumulate(columns["acked"].astype(np.float64))
    places = aligned(una, acked)
    ours = -(-columns["cwnd"][places].astype(np.int64) // _SEGMENT)
    off = np.abs(ours - cwnd)
    first = None
    if off.any():
        at = int(np.argmax(off > 0))
        first = First(
            at + 1,
            float(columns["time"][places[at]]) / 1e9,
            float(una[at]) / _SEGMENT,
            int(ours[at]),
            int(cwnd[at]),
            int(threshold[at]) if threshold[at] < 2**31 - 1 else None,
        )
    return AckComparison(drawn, len(una), float((off == 0).mean()), float((off <= 1).mean()), first)


def aligned(theirs: Column, ours: Column) -> NDArray[np.int64]:
    """Returns our row for each of their ACKs, by SND.UNA.

    The n-th ACK with a value of SND.UNA belongs to our n-th row with that value. If we have fewer such rows, it belongs
    to the last of them; if we have none, to the last row with a smaller value.

    Args:
        theirs: SND.UNA after each of their ACKs, ascending.
        ours: SND.UNA after each of our rows, ascending and beginning with zero.
    """
    import numpy as np

    nth = np.arange(len(theirs)) - np.searchsorted(theirs, theirs, side="left")
    first = np.searchsorted(ours, theirs, side="left")
    last = np.searchsorted(ours, theirs, side="right") - 1
    return np.minimum(first + nth, last)
