"""What a report consists of, before it becomes a page, a paper's pictures or Markdown."""

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
    """A cell that is sorted by its value and shown as text."""

    value: float | None
    text: str


@dataclass(frozen=True)
class Code:
    """A cell with a command."""

    text: str


Cell = str | Number | Code


@dataclass(frozen=True)
class Table:
    """Rows that can be sorted by each column."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    note: str = ""


@dataclass(frozen=True)
class Line:
    """A line of a chart; all arrays have the shape (points,), NaN is a gap."""

    label: str
    x: Values
    y: Values
    low: Values | None = None
    high: Values | None = None
    style: int | None = None
    """Which color and dash, where that is not the place in the chart: the same flow looks the same everywhere."""
    pale: bool = False


@dataclass(frozen=True)
class Lines:
    """A chart of lines that can be zoomed."""

    title: str
    x: str
    y: str
    lines: list[Line]
    stepped: bool = False
    note: str = ""
    log_x: bool = False
    log_y: bool = False
    """On a logarithmic axis all values must be above zero."""


@dataclass(frozen=True)
class Heat:
    """A map of one quantity over two parameters; NaN where nothing was run."""

    title: str
    unit: str
    row_key: str
    column_key: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Values
    """Shape (rows, columns)."""
    least: float
    """What the palest color stands for: maps beside each other share their scale."""
    most: float
    row: str
    """Maps of the same word stand beside each other."""


@dataclass(frozen=True)
class Cloud:
    """The runs of one kind, as points and their ellipse."""

    label: str
    x: list[float]
    y: list[float]
    ellipse: Ellipse | None


@dataclass(frozen=True)
class Clouds:
    """Two quantities against each other. The first axis is turned round: better is up and to the right."""

    title: str
    x: str
    y: str
    clouds: list[Cloud]


@dataclass(frozen=True)
class Density:
    """Two quantities of so many that only counts in hexagons are kept; both axes are logarithmic."""

    title: str
    x: str
    y: str
    middles: tuple[Values, Values]
    """The decimal logarithms of the hexagons' middles, shape (hexagons,) each."""
    counts: Values
    """Shape (hexagons,)."""
    size: tuple[float, float]
    """The distance of two middles beside each other, and of two above each other, in decades."""
    reach: tuple[float, float, float, float]
    """The axes' least and greatest x and y, logarithms: pictures beside each other have the same."""
    across: tuple[float, ...] = ()
    """Lines from left to right, logarithms of y."""
    upright: tuple[float, ...] = ()
    """Those from below to above, of x."""
    note: str = ""


@dataclass(frozen=True)
class Recorded:
    """One run over time."""

    label: str
    command: str
    panels: list[Lines]


@dataclass(frozen=True)
class Timeline:
    """Runs over time, of which a page shows one and lets choose."""

    runs: list[Recorded]


@dataclass(frozen=True)
class Text:
    """Text as it is: a scenario."""

    title: str
    text: str


Block = Table | Lines | Heat | Clouds | Density | Timeline | Text


@dataclass(frozen=True)
class Section:
    """A heading with what is below it."""

    title: str
    blocks: list[Block]
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """A sentence of the summary."""

    text: str
    better: int = 0
    """1 when it praises its subject, -1 when it blames it."""


@dataclass(frozen=True)
class Report:
    """The whole."""

    title: str
    about: str
    """What the scenario says of itself."""
    facts: list[tuple[str, str]]
    findings: list[Finding]
    findings_note: str
    sections: list[Section] = field(default_factory=list)
