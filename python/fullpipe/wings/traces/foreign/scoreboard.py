"""Data in flight of a TCP sender, from its packets and the ACKs that it gets.

Data that SACK reports, and data that it shows to be lost, are not in flight (RFC 6675); data that were sent again are.
Sequence numbers are on one line here, without a wrap.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_TRACKED = 200_000
"""The largest number of packets whose times are known at a time."""
_MOST_RANGES = 2_000
"""The largest number of separate parts that SACK reports at a time."""
_THRESHOLD = 2
"""Data are lost if more segments than these are SACKed above them (RFC 6675, section 4)."""
_MSS = 1460


class Ranges:
    """Parts of a line, separate and in order."""

    def __init__(self) -> None:
        self.begins: list[int] = []
        self.ends: list[int] = []
        self.total = 0

    def add(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Adds a part; returns the pieces of it that were not there."""
        first = bisect_left(self.ends, begin)
        last = bisect_right(self.begins, end)
        new, at = [], begin
        for index in range(first, last):
            if at < self.begins[index]:
                new.append((at, self.begins[index]))
            at = max(at, self.ends[index])
        if at < end:
            new.append((at, end))
        if first < last:
            begin, end = min(begin, self.begins[first]), max(end, self.ends[last - 1])
        self.begins[first:last], self.ends[first:last] = [begin], [end]
        self.total += sum(piece_end - piece_begin for piece_begin, piece_end in new)
        return new

    def cut(self, before: int) -> None:
        """Removes all parts below a place."""
        count = bisect_right(self.ends, before)
        self.total -= sum(self.ends[:count]) - sum(self.begins[:count])
        del self.begins[:count], self.ends[:count]
        if self.begins and self.begins[0] < before:
            self.total -= before - self.begins[0]
            self.begins[0] = before

    def within(self, begin: int, end: int) -> int:
        """Returns the length of the parts between two places."""
        first, last = bisect_right(self.ends, begin), bisect_left(self.begins, end)
        return sum(
            min(self.ends[index], end) - max(self.begins[index], begin)
            for index in range(first, last)
        )


class Scoreboard:
    """The data of one direction of a connection.

    Attributes:
        base: The number of the first byte.
        acked: The number after the last byte that an ACK acknowledges.
        edge: The number after the last byte that was sent.
    """

    def __init__(self, first: int) -> None:
        self.base = self.acked = self.edge = first
        self._sacked, self._again = Ranges(), Ranges()
        self._ends: list[int] = []
        self._times: list[float | None] = []
        self._head = 0
        self._segment = 1
        self._lost: int | None = 0
        self._selective = False

    @property
    def delivered(self) -> int:
        """The bytes that an ACK or SACK reports."""
        return self.acked - self.base + self._sacked.total

    @property
    def inflight(self) -> int:
        """The bytes that were sent, and neither delivered nor lost."""
        if self._lost is None:
            self._lost = self._count_lost()
        return self.edge - self.acked - self._sacked.total - self._lost

    def send(self, end: int, size: int, time: float) -> bool:
        """Takes the end and the size of a packet of data; returns whether some of it is new."""
        self._segment = max(self._segment, min(size, _MSS))
        if end > self.edge:
            self.edge = end
            if len(self._ends) - self._head < _MOST_TRACKED:
                self._ends.append(end)
                self._times.append(time)
            return True
        begin = max(end - size, self.acked)
        # Karn: which of both transmissions an ACK answers is not known.
        self._taken(begin, end)
        if begin < end and len(self._again.begins) < _MOST_RANGES:
            self._again.add(begin, end)
            self._lost = None
        return False

    def acknowledge(
        self, number: int, blocks: Iterable[tuple[int, int]]
    ) -> tuple[bool, float | None]:
        """Takes the number and the SACK blocks of an ACK.

        Returns:
            Whether it reports data for the first time, and the time at which the newest of them were sent; None if they
            were sent twice.
        """
        progress, sent, blocks = False, None, list(blocks)
        self._selective = self._selective or bool(blocks)
        if self.acked < number <= self.edge:
            progress = True
            sent = self._taken(self.acked, number)
            if not self._selective and self._again.within(self.acked, number):
                sent = None  # data above those sent again have waited for them
            self._sacked.cut(number)
            self._again.cut(number)
            self.acked = number
            self._forget()
            self._lost = None
        for begin, end in blocks:
            low = max(begin, self.acked)
            if not low < end <= self.edge or len(self._sacked.begins) >= _MOST_RANGES:
                continue
            for new in self._sacked.add(low, end):
                progress = True
                self._lost = None
                if (newer := self._taken(*new)) is not None:
                    sent = newer if sent is None else max(sent, newer)
        return progress, sent

    def _taken(self, begin: int, end: int) -> float | None:
        """Returns the last time of the packets that end within a range, and forgets their times."""
        first = bisect_right(self._ends, begin, self._head)
        last = bisect_right(self._ends, end, self._head)
        found = None
        for index in range(first, last):
            time, self._times[index] = self._times[index], None
            found = time if time is not None else found
        return found

    def _forget(self) -> None:
        """Drops the packets that are acknowledged, many at a time."""
        self._head = bisect_right(self._ends, self.acked, self._head)
        if self._head > 1_000 and 2 * self._head > len(self._ends):
            del self._ends[: self._head], self._times[: self._head]
            self._head = 0

    def _count_lost(self) -> int:
        """Returns the bytes that are lost by what SACK reports above them, and were not sent again."""
        above = lost = 0
        begins, ends = self._sacked.begins, self._sacked.ends
        for index in range(len(begins) - 1, -1, -1):
            above += ends[index] - begins[index]
            if above > _THRESHOLD * self._segment or len(begins) - index > _THRESHOLD:
                low = ends[index - 1] if index else self.acked
                lost += begins[index] - low - self._again.within(low, begins[index])
        return lost
