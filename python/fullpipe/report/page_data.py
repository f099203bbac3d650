"""The data of a report's page: its format, and the packing of tracks into it.

The page has it as JSON in the element `data`. The points of tracks are in the element `points`, as base64 without any
separator. Those that the first pictures don't need are in the element `late`, which follows the page's script: it draws
while the browser still reads them. `web/src/format.ts` has the same types for the page's script; a test compares them.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np

from fullpipe._core import levels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullpipe.report.model import Track

VERSION = 5
CHUNK = 65_536
"""Most points of a chunk."""


class Chunk(TypedDict):
    """Some points of a level.

    The text of `points`, or of `late`, from `at`, `size` characters long, is base64 of raw DEFLATE (RFC 1951) of
    `count` differences of times, in units of `tick` seconds after `first`, as 32-bit integers, and `count` values as
    32-bit floats. Both are little-endian, with the first bytes of all numbers before their second bytes, and so on.
    """

    late: bool
    at: int
    size: int
    count: int
    tick: float
    first: float
    last: float


class Points(TypedDict):
    """A track: its levels of detail, from the finest to the coarsest, each as chunks in order of time."""

    levels: list[list[Chunk]]


class Stays(TypedDict):
    """Times in states: index of the word, begin and end in seconds, for each."""

    word: list[int]
    since: list[float]
    till: list[float]


class Spans(TypedDict):
    """Requests or transfers: begin and end in seconds, and a text, for each."""

    start: list[float]
    end: list[float]
    text: list[str]


class Source(TypedDict):
    """A flow, a link, a flow's part of a queue, a workload, or the run as a whole."""

    name: str
    kind: str
    algorithm: str
    color: int
    dash: int
    tracks: dict[str, Points]
    stays: dict[str, Stays]
    spans: Spans


class Change(TypedDict):
    """A change of the path."""

    time: float
    text: str


class Run(TypedDict):
    """A recorded run."""

    label: str
    command: str
    end: float
    measureFrom: float
    changes: list[Change]
    notes: dict[str, str]
    near: list[float]
    sources: list[Source]


class Curve(TypedDict):
    """A column of all sources of a kind, in a panel."""

    of: str
    column: str
    style: str


class Panel(TypedDict):
    """A chart of a run, see :class:`fullpipe.report.model.Panel`."""

    key: str
    title: str
    unit: str
    curves: list[Curve]
    view: str
    stays: str
    behind: str
    ticks: list[str]
    first: bool


class Column(TypedDict):
    """Title and unit of a column."""

    title: str
    unit: str


class Timeline(TypedDict):
    """Runs over time."""

    panels: list[Panel]
    columns: dict[str, Column]
    words: list[str]
    wordColors: list[str]
    wordColorsOnDark: list[str]
    runs: list[Run]
    first: list[int]


class Line(TypedDict):
    """A line of a chart: its label, indices of color, dashes, shade and mark, and values; null makes a gap.

    A mark below zero is that of a line without forms of its own.
    """

    label: str
    color: int
    dash: int
    shade: int
    mark: int
    x: list[float | None]
    y: list[float | None]
    low: list[float | None]
    high: list[float | None]


class Chart(TypedDict):
    """A chart of lines that is not over time, perhaps in a row of charts; with marks, these are the ticks of x."""

    title: str
    row: str
    x: str
    y: str
    marks: list[float]
    stepped: bool
    logX: bool
    logY: bool
    lines: list[Line]


class Data(TypedDict):
    """All data of a page."""

    format: Literal["fullpipe-report"]
    version: int
    colors: list[str]
    onDark: list[str]
    dashes: list[list[int]]
    charts: list[Chart]
    timelines: list[Timeline]


TYPES = (
    *(Chunk, Points, Stays, Spans, Source, Change, Run, Curve, Panel, Column),
    *(Timeline, Line, Chart, Data),
)


class Packed:
    """The texts of the elements `points` and `late`, as they grow."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.late: list[str] = []
        self._lengths = [0, 0]

    def add(self, track: Track, most: int, early: int | None = None) -> Points:
        """Packs a track with all levels that have at most `most` points; those with more than `early` are late."""
        values = np.ascontiguousarray(track.values, dtype=np.float64)
        found = levels(values)
        kept = [level for level in found if len(level) <= most] or found[-1:]
        return {
            "levels": [
                list(
                    self._chunks(
                        track.time[level],
                        values[level],
                        late=early is not None and len(level) > early,
                    )
                )
                for level in kept
                if len(level)
            ]
        }

    def _chunks(self, time: np.ndarray, values: np.ndarray, *, late: bool) -> Iterator[Chunk]:
        nanoseconds = np.rint(time * 1e9).astype(np.int64)
        for begin in range(0, len(time), CHUNK):
            those = nanoseconds[begin : begin + CHUNK]
            steps = np.diff(those, prepend=those[:1])
            tick = max(int(np.gcd.reduce(steps)), -(-int(steps.max()) // (2**32 - 1)), 1)
            raw = _planes((steps // tick).astype("<u4")) + _planes(
                values[begin : begin + CHUNK].astype("<f4")
            )
            deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
            text = base64.b64encode(deflate.compress(raw) + deflate.flush()).decode("ascii")
            yield {
                "late": late,
                "at": self._lengths[late],
                "size": len(text),
                "count": len(those),
                "tick": tick * 1e-9,
                "first": float(time[begin]),
                "last": float(time[begin + len(those) - 1]),
            }
            (self.late if late else self.parts).append(text)
            self._lengths[late] += len(text)


def _planes(values: np.ndarray) -> bytes:
    """Returns the first bytes of all 4-byte numbers, then their second bytes, and so on: these compress better."""
    return values.view(np.uint8).reshape(-1, 4).T.tobytes()
