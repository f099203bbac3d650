"""The contents of a report, independent of its form: page, figures for a paper, or Markdown."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from fullpipe.stats import Ellipse

    Values = NDArray[np.float64]


DECADES = 100.0
"""Ratio of the greatest to the least value from which on an axis or a scale of colors is logarithmic."""


@dataclass(frozen=True)
class Number:
    """A cell sorted by its value and shown as text."""

    value: float | None
    text: str


@dataclass(frozen=True)
class Code:
    """A cell with a command."""

    text: str


Cell = str | Number | Code


@dataclass(frozen=True)
class Table:
    """A table whose rows can be sorted by each column."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    note: str = ""
    names: tuple[str, ...] = ()
    """Columns whose header is a name, which keeps its first letter."""

    @property
    def heads(self) -> list[str]:
        """The headers of the columns."""
        return [
            name if name in self.names else "RTT" if name == "rtt" else name[:1].upper() + name[1:]
            for name in self.columns
        ]


@dataclass(frozen=True)
class Line:
    """A line of a chart; all arrays have shape (points,), and NaN makes a gap."""

    label: str
    x: Values
    y: Values
    low: Values | None = None
    high: Values | None = None
    algorithm: str = ""
    """The algorithm whose color the line has, if all lines of the chart have one."""
    style: int | None = None
    """Index of its dashes, and of its color if it has no algorithm; None for that of the line."""
    mark: int | None = None
    """Index of the form of its points; None for a line without points."""
    turn: int | None = None
    """Its number among the lines of its color in the whole figure, which tells them apart; None for that in its row."""


@dataclass(frozen=True)
class Lines:
    """A zoomable chart of lines."""

    title: str
    x: str
    y: str
    lines: list[Line]
    stepped: bool = False
    note: str = ""
    log_x: bool = False
    log_y: bool = False
    """Whether the axis is logarithmic; its values must then be greater than zero."""
    marks: tuple[float, ...] = ()
    """The ticks of x, if it has values of its own, such as those of a sweep."""
    row: str = ""
    """Title of a row of charts: those with the same one are side by side, with equal axes and one legend."""


@dataclass(frozen=True)
class Heat:
    """A heat map of one quantity over two parameters; NaN where there was no run."""

    title: str
    unit: str
    row_key: str
    column_key: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Values
    """Shape (rows, columns)."""
    least: float
    """Value of the scale's lower end; maps of the same row share one scale."""
    most: float
    row: str
    """Key of a row of maps: those with the same key are shown side by side."""
    note: str = ""
    """The omissions of the row, in words; each map of the row has the same note."""
    log: bool = False
    """Whether the scale of colors is logarithmic; then `least` is the least value above zero."""

    def share(self, value: float) -> float:
        """Returns the place of a value on the scale of colors, from 0 to 1."""
        if self.most <= self.least:
            return 0.5
        if self.log:
            value = max(value, self.least)
            return math.log(value / self.least) / math.log(self.most / self.least)
        return (value - self.least) / (self.most - self.least)

    @property
    def about(self) -> str:
        """The sides of the map and its colors, in words."""
        logarithmic = "; logarithmic colors" if self.log else ""
        return f"rows: {self.row_key}; columns: {self.column_key}{logarithmic}"


@dataclass(frozen=True)
class Cloud:
    """The runs of one contender, as points with their ellipse."""

    label: str
    x: list[float]
    y: list[float]
    ellipse: Ellipse | None
    algorithm: str = ""


@dataclass(frozen=True)
class Clouds:
    """A scatter plot of two quantities. The x axis is reversed: better is up and to the right."""

    title: str
    x: str
    y: str
    clouds: list[Cloud]
    note: str = ""
    left: str = ""
    """Its omissions, in words."""
    log_x: bool = False
    """Whether the x axis is logarithmic; its values must then be greater than zero."""
    row: str = ""
    """Title of a row of small plots: side by side, with equal axes, one legend, and means instead of points."""
    known: tuple[tuple[str, str], ...] = ()
    """Labels of all contenders of the figure and their algorithms: a contender looks alike in all its plots."""


@dataclass(frozen=True)
class Density:
    """Counts of two quantities in hexagons, for data too large for points; both axes are logarithmic."""

    title: str
    x: str
    y: str
    middles: tuple[Values, Values]
    """Decimal logarithms of the hexagons' centers (x and y), shape (hexagons,) each."""
    counts: Values
    """Count of each hexagon, shape (hexagons,)."""
    size: tuple[float, float]
    """Horizontal and vertical distance between hexagons, in decades."""
    reach: tuple[float, float, float, float]
    """Ends of the axes as logarithms: minimum and maximum x, then y. Figures side by side share them."""
    across: tuple[float, ...] = ()
    """Positions of horizontal lines, as logarithms of y."""
    upright: tuple[float, ...] = ()
    """Positions of vertical lines, as logarithms of x."""
    note: str = ""


@dataclass(frozen=True)
class Column:
    """Title of a column of a trace, its unit for display, and the factor to it from that of the trace."""

    title: str
    unit: str
    factor: float


@dataclass(frozen=True)
class Curve:
    """A column of all sources of a kind, in a panel."""

    of: Literal["flow", "link", "queue", "workload", "run"]
    column: str
    style: Literal[
        "", "pale", "dashed", "dotted", "reference", "points", "small", "again", "gone"
    ] = ""
    """Look; the last four are points: of packets, small ones, of retransmissions, of drops."""


@dataclass(frozen=True)
class Panel:
    """A chart over time of every recorded run, or of one quantity over another."""

    key: str
    """Its name in options and files."""
    title: str
    unit: str
    curves: tuple[Curve, ...] = ()
    view: Literal["lines", "stack", "spans", "phase"] = "lines"
    """Form: lines over time, stacked areas, bars from start to end, or the second curve over the first."""
    stays: str = ""
    """The words drawn as a row of colored bars for each flow, such as its states."""
    behind: str = ""
    """The words drawn as colors behind the lines."""
    ticks: tuple[str, ...] = ()
    """Columns of counts, of links or flows, whose increases are drawn as ticks."""
    first: bool = True
    """Whether the page shows it at first."""
    alone: str = ""
    """Its title when no flow has the first curve."""
    several: str = ""
    """Its title with several runs, whose main lines alone are drawn."""


@dataclass(frozen=True)
class Track:
    """A column of a flow or link over time, in its unit for display; both of the shape (points,), NaN for unknown."""

    time: Values
    values: Values


@dataclass(frozen=True)
class Stay:
    """Time in a state, or with the same limit, in seconds."""

    word: str
    since: float
    till: float


@dataclass(frozen=True)
class Span:
    """A request or a transfer from start to end, in seconds."""

    start: float
    end: float
    text: str


@dataclass(frozen=True)
class Source:
    """A flow, a link, a flow's part of a queue, a workload, or the run as a whole."""

    name: str
    kind: Literal["flow", "link", "queue", "workload", "run"]
    algorithm: str = ""
    tracks: dict[str, Track] = field(default_factory=dict)
    """Values by column. `delivered` counts bits: its increase in a second is a rate."""
    stays: dict[str, list[Stay]] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)


@dataclass(frozen=True)
class Recorded:
    """One run over time."""

    label: str
    command: str
    end_s: float
    """The end of the time axis."""
    read: Callable[[], list[Source]]
    """Reads its flows and links; called by each form when it draws the run."""
    measure_from_s: float = 0.0
    changes: tuple[tuple[float, str], ...] = ()
    """Times and descriptions of the changes of the path."""
    notes: dict[str, str] = field(default_factory=dict)
    """A sentence below a panel, by the panel's key."""
    near: tuple[float, float] | None = None
    """A time in which single packets are distinguishable, if packets were recorded."""


@dataclass(frozen=True)
class Timeline:
    """Runs over time; a page lays those that are selected over each other."""

    runs: list[Recorded]
    first: tuple[int, ...] = (0,)
    """Indices of the runs selected at first."""
    drawn: tuple[int, ...] = ()
    """Indices of the runs of a panel that is drawn alone, if they are others: those of all together of a comparison."""


@dataclass(frozen=True)
class Text:
    """Preformatted text, such as a scenario."""

    title: str
    text: str


@dataclass(frozen=True)
class Again:
    """Scenarios that a reader can change and run again in the page: label and TOML text of each."""

    scenarios: tuple[tuple[str, str], ...]
    left: str = ""
    """Its omissions, in words."""


Block = Table | Lines | Heat | Clouds | Density | Timeline | Text | Again


@dataclass(frozen=True)
class Section:
    """A heading with its blocks."""

    title: str
    blocks: list[Block]
    note: str = ""
    part: str = ""
    """Its part of a long report: the page's navigation then has the parts instead of all sections."""


@dataclass(frozen=True)
class Finding:
    """A sentence of the summary."""

    text: str
    better: int = 0
    """1 if the first-named contender is better, -1 if it is worse, else 0."""


@dataclass(frozen=True)
class Report:
    """A whole report."""

    title: str
    about: str
    """Description of the results, such as that of the scenario."""
    facts: list[tuple[str, str]]
    findings: list[Finding]
    findings_note: str
    sections: list[Section] = field(default_factory=list)
