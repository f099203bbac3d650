"""The series of one flow in a trace, and the values that conditions take from them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

LOSS_COUNTS = ("lost", "lost_packets", "retransmits")
"""Columns that count losses, the most direct first."""
STATES = "states"
"""The name, in the needs of a condition, of the changes of state."""
_NEAR = 1.5
"""Losses within this number of RTTs belong to one event: a lost packet is noticed a round trip after those before it,
and a retransmission that is lost again another."""


_CHUNK = 256
"""Rows that are searched at once, first."""


class LacksError(Exception):
    """A trace has not what a condition needs; the text names it."""


class Stay(NamedTuple):
    """The time in a state; `whole` is False if the trace ends before it."""

    begin: float
    end: float
    whole: bool


class Event(NamedTuple):
    """Losses of one congestion event."""

    begin: float
    end: float
    first: int
    """The row of the first loss."""
    last: int
    """The row of the last one."""
    recovered: float = float("nan")
    """The end of the recovery, infinite if the trace ends before it; NaN in `losses`, which do not tell it."""

    @property
    def alone(self) -> Event:
        """The first loss alone."""
        return self._replace(end=self.begin, last=self.first)


def plain(state: str) -> str:
    """Returns the name of a state without the marks in which writers differ: ProbeBW_UP, bbr_probe_bw_up."""
    return "".join(letter for letter in state.lower() if letter.isalnum()).removeprefix("bbr")


@dataclass(frozen=True)
class Observed:
    """One flow over time.

    Attributes:
        name: Its name.
        time: Times of the rows in seconds, shape (rows,).
        columns: Values by the names of a run's trace, shape (rows,) each; NaN for no value. Sizes are in bytes,
            rates in bit/s, times in seconds.
        changes: Times at which states were entered, with their names.
        segment: Payload of a full packet, bytes.
    """

    name: str
    time: Values
    columns: Mapping[str, Values]
    changes: Sequence[tuple[float, str]] = ()
    segment: float = 1448.0
    _cache: dict[str, Values] = field(default_factory=dict, repr=False, compare=False)

    def has(self, name: str) -> bool:
        """Returns whether the trace has a column, or states."""
        if name == STATES:
            return bool(self.changes)
        if name == "loss":
            return any(self.has(each) for each in LOSS_COUNTS)
        return name in self.columns and bool(np.isfinite(self.columns[name]).any())

    def column(self, name: str) -> Values:
        """Returns a column with its last value before each gap.

        Raises:
            LacksError: When the trace has no value of it.
        """
        if not self.has(name):
            raise LacksError(f"the trace has no {name}")
        if name not in self._cache:
            self._cache[name] = _filled(self.columns[name])
        return self._cache[name]

    def samples(self, name: str) -> tuple[Values, Values]:
        """Returns times and values of the rows that have a value of a column.

        Raises:
            LacksError: When the trace has no value of it.
        """
        if not self.has(name):
            raise LacksError(f"the trace has no {name}")
        known = np.isfinite(self.columns[name])
        return self.time[known], self.columns[name][known]

    @property
    def end(self) -> float:
        """The time of the last row."""
        return float(self.time[-1])

    @cached_property
    def last(self) -> float:
        """The time of the last delivery: a transfer may end before its trace."""
        if not self.has("delivered"):
            return self.end
        moving = np.flatnonzero(np.diff(self.column("delivered"), prepend=0.0) > 0)
        return float(self.time[moving[-1]]) if len(moving) else self.end

    @cached_property
    def gap(self) -> float:
        """The time within which the next row comes, in 95 % of cases; seconds."""
        steps = np.diff(self.time)
        steps = steps[steps > 0]
        return float(np.quantile(steps, 0.95)) if len(steps) else 0.0

    @cached_property
    def rtt(self) -> Values:
        """RTT at each row: the smoothed one, else the last sample."""
        return self.column("srtt" if self.has("srtt") else "rtt")

    @cached_property
    def least_rtt(self) -> Values:
        """The least RTT so far, at each row."""
        known = self.columns["rtt"] if self.has("rtt") else self.rtt
        least = np.fmin.accumulate(np.where(np.isfinite(known), known, np.inf))
        first = least[np.isfinite(least)]
        return np.where(np.isfinite(least), least, first[0] if len(first) else np.nan)

    @cached_property
    def bandwidth(self) -> Values:
        """Delivery rate over the last round trip, at each row; bit/s, 0 in the first one."""
        delivered = self.column("delivered")
        rtt = np.where(np.isfinite(self.rtt) & (self.rtt > 0), self.rtt, np.inf)
        span = np.maximum(rtt, 2 * self.gap) if self.gap > 0 else rtt
        before = self.time - span
        known = np.isfinite(delivered)
        if not known.any():
            return np.zeros_like(self.time)
        # Between the rows of two ACKs the flow delivers, too: an ACK of ten packets is not their rate.
        edges = np.flatnonzero(known)[np.diff(delivered[known], prepend=-1.0) > 0]
        then = np.interp(before, self.time[edges], delivered[edges], left=np.nan)
        rate = 8 * (delivered - then) / span
        return np.where(np.isfinite(rate), np.maximum(rate, 0.0), 0.0)

    @cached_property
    def most_bandwidth(self) -> Values:
        """The largest delivery rate so far, at each row; bit/s."""
        return np.maximum.accumulate(self.bandwidth)

    def most_bandwidth_in(self, begin: float, end: float) -> float:
        """Returns the largest delivery rate between two times; bit/s."""
        rows = self.rows(begin, end)
        return float(self.bandwidth[rows].max()) if rows.stop > rows.start else 0.0

    def rows(self, begin: float, end: float) -> slice:
        """Returns the rows from one time up to another, both included."""
        first, last = np.searchsorted(self.time, [begin, end], side="left"), 0
        last = int(np.searchsorted(self.time, end, side="right"))
        return slice(int(first[0]), last)

    def at(self, values: Values, time: float) -> float:
        """Returns the value at the last row up to a time; NaN before the first one."""
        row = int(np.searchsorted(self.time, time, side="right")) - 1
        return float(values[row]) if row >= 0 else float("nan")

    def before(self, values: Values, time: float) -> float:
        """Returns the value at the last row before a time; NaN without one."""
        row = int(np.searchsorted(self.time, time, side="left")) - 1
        return float(values[row]) if row >= 0 else float("nan")

    def stays(self, state: str) -> list[Stay]:
        """Returns the times in a state, or in states whose plain names begin so.

        Raises:
            LacksError: When the trace has no states.
        """
        if not self.changes:
            raise LacksError("the trace has no states")
        found: list[Stay] = []
        for number, (begin, name) in enumerate(self.changes):
            if not plain(name).startswith(state):
                continue
            last = number + 1 == len(self.changes)
            end = self.end if last else self.changes[number + 1][0]
            if found and found[-1].end == begin:
                found[-1] = Stay(found[-1].begin, end, not last)
            else:
                found.append(Stay(begin, end, not last))
        return found

    @cached_property
    def losses(self) -> list[Event]:
        """The congestion events: losses that follow each other within one and a half RTTs."""
        name = next((each for each in LOSS_COUNTS if self.has(each)), None)
        if name is None:
            return []
        rows = np.flatnonzero(np.diff(self.column(name), prepend=0.0) > 0)
        found: list[Event] = []
        for row in rows:
            time = float(self.time[row])
            reach = _NEAR * float(self.rtt[row]) + self.gap if np.isfinite(self.rtt[row]) else 0.0
            if found and time - found[-1].end <= reach:
                found[-1] = found[-1]._replace(end=time, last=int(row))
            else:
                found.append(Event(time, time, int(row), int(row)))
        return found

    @cached_property
    def episodes(self) -> list[Event]:
        """The congestion events with the ends of their recoveries; losses in a recovery belong to its event.

        Raises:
            LacksError: When the trace does not tell the end of a recovery.
        """
        found: list[Event] = []
        for event in self.losses:
            joined = event
            if found and event.begin <= found[-1].recovered + self._unsure(found[-1]):
                joined = found.pop()._replace(end=event.end, last=event.last)
            # A packet sent in recovery and lost is noticed from a round trip on, and begins another one at its end.
            again = joined.end - joined.begin >= self.at(self.least_rtt, joined.begin)
            found.append(joined._replace(recovered=self.recovered(joined, 1 + again)))
        return found

    def recovered(self, event: Event, times: int = 1) -> float:
        """Returns the time at which recovery from an event's losses ends: infinity if the trace ends before it.

        States tell it, where they have a recovery. Otherwise the data that were in flight when the last lost packet
        was sent again are then delivered.

        Args:
            event: The event.
            times: Recoveries that follow each other; states tell them without.

        Raises:
            LacksError: When the trace does not tell it.
        """
        if self.gap > float(np.nanmedian(self.rtt)) / 2:
            raise LacksError("the trace has less than two rows in a round trip")
        if stay := self._stay(event):
            return stay.end if stay.whole else float("inf")
        for name in ("delivered", "inflight"):
            if not self.has(name):
                raise LacksError(
                    f"the trace has no {name}, and no states, that tell the end of a recovery"
                )
        delivered, inflight = self.column("delivered"), self.column("inflight")
        row = self._resent(event)
        for _ in range(times):
            if row >= len(delivered):
                return float("inf")
            goal = delivered[row] + inflight[row]
            row += int(np.searchsorted(delivered[row:], goal, side="left"))
        return float(self.time[row]) if row < len(delivered) else float("inf")

    def _resent(self, event: Event) -> int:
        """Returns the row at which an event's last lost packet was sent again; the number of rows if none is it.

        Lost data leave the sum of data delivered and in flight, and return to it when they are sent again, which
        comes before new data.
        """
        begin, size = max(event.first - 1, 0), _CHUNK
        while True:
            held = self._held[begin : event.last + size]
            whole = np.flatnonzero((held >= np.fmax.accumulate(held))[event.last - begin :])
            if len(whole):
                return event.last + int(whole[0])
            if event.last + size >= len(self.time):
                return len(self.time)
            size *= 2

    @cached_property
    def _held(self) -> Values:
        held: Values = self.column("delivered") + self.column("inflight")
        return held

    @cached_property
    def _recoveries(self) -> list[Stay]:
        return self.stays("recovery") if self.changes else []

    def _stay(self, event: Event) -> Stay | None:
        """Returns the stay in recovery that an event's losses began or prolonged."""
        number = bisect_right(self._recoveries, event.end + self.gap, key=lambda stay: stay.begin)
        if number and self._recoveries[number - 1].end >= event.begin:
            return self._recoveries[number - 1]
        return None

    def _unsure(self, event: Event) -> float:
        """Returns the time after a recovery in which losses may still be those of its retransmissions; seconds.

        States tell. Of data, those in flight are delivered except for them.
        """
        return 0.0 if self._stay(event) else _NEAR * self.at(self.rtt, event.end) + self.gap

    def quiet(self) -> Iterator[tuple[float, float]]:
        """Yields begin and end of the times without loss: from the end of a recovery to the next loss.

        Raises:
            LacksError: When the trace does not tell the end of a recovery.
        """
        for event, later in pairwise([*self.episodes, None]):
            end = later.begin if later else self.last
            if event and end > event.recovered:
                yield event.recovered, end


def _filled(values: Values) -> Values:
    known = np.isfinite(values)
    last = np.maximum.accumulate(np.where(known, np.arange(len(values)), -1))
    filled: Values = np.where(last >= 0, values[np.maximum(last, 0)], np.nan)
    return filled
