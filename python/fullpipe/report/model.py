"""The contents of a report, independent of its form: page, figures for a paper, or Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fullpipe.stats import Ellipse

    Values = NDArray[np.float64]


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


@dataclass(frozen=True)
class Line:
    """A line of a chart; all arrays have shape (points,), and NaN makes a gap."""

    label: str
    x: Values
    y: Values
    low: Values | None = None
    high: Values | None = None
    style: int | None = None
    """Index of color and dash, if not the line's index: a flow keeps its look in all charts."""
    pale: bool = False


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


@dataclass(frozen=True)
class Cloud:
    """The runs of one contender, as points with their ellipse."""

    label: str
    x: list[float]
    y: list[float]
    ellipse: Ellipse | None


@dataclass(frozen=True)
class Clouds:
    """A scatter plot of two quantities. The x axis is reversed: better is up and to the right."""

    title: str
    x: str
    y: str
    clouds: list[Cloud]


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
class Recorded:
    """One run over time."""

    label: str
    command: str
    panels: list[Lines]


@dataclass(frozen=True)
class Timeline:
    """Runs over time; a page shows one at a time, with a selector."""

    runs: list[Recorded]


@dataclass(frozen=True)
class Text:
    """Preformatted text, such as a scenario."""

    title: str
    text: str


Block = Table | Lines | Heat | Clouds | Density | Timeline | Text


@dataclass(frozen=True)
class Section:
    """A heading with its blocks."""

    title: str
    blocks: list[Block]
    note: str = ""


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
