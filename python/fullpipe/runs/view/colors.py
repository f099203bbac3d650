"""Colors that belong to algorithms, distinct for every kind of color vision, and dashes for gray print."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from fullpipe.runs.given import declared

if TYPE_CHECKING:
    from collections.abc import Sequence

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Colors of Okabe and Ito, without yellow, which is too pale. https://jfly.uni-koeln.de/color/"""

ON_DARK = ("#4DA6E0", "#FF8A3D", "#2CC79B", "#E39AC4", "#9AD4F5", "#F2B632", "#F5F5F5")
"""The same hues, light enough for a dark page."""

DROPS, MARKS = "#A50026", "#6A3D9A"
"""Colors of drops and of CE marks, which no algorithm has."""

DASHES = ((), (8, 4), (2, 3), (10, 3, 2, 3), (14, 4), (5, 2), (3, 6))
"""Dash pattern of each line: lengths of dashes and gaps."""

MARKERS = ("o", "s", "D", "^", "v", "x", "+", "<", ">", "p", "*", "h")
"""Form of the points of each contender, as matplotlib names them."""

_OTHERS = {
    "none": 6,
    "all flows": 6,  # what belongs to a run as a whole
    "unknown": 3,  # of a measurement: neither CUBIC nor BBR, which it may be compared with
}
"""Indices of the colors of lines without an algorithm; algorithms declare theirs."""

_WIDEST, _THINNEST = 1.8, 0.9
"""Widths of the first and of the last of several lines, as parts of the usual one."""

_SHADES = (0.0, 0.45, -0.4, 0.6, -0.65, 0.2)
"""Shares by which the lines of one algorithm are moved toward white in turn; below zero, toward black."""


class Look(NamedTuple):
    """Indices of a line's color and dashes in `COLORS` and `DASHES`, and of its lightness."""

    color: int
    dash: int
    shade: int


class Style(NamedTuple):
    """Color of a line in a picture on white, as `#rrggbb`, and its dashes: lengths of dashes and gaps in points."""

    color: str
    dash: tuple[float, ...]

    @property
    def line(self) -> str | tuple[float, tuple[float, ...]]:
        """The dashes as matplotlib's `linestyle`."""
        return (0, self.dash) if self.dash else "-"


def color_of(algorithm: str) -> int:
    """Returns the index of an algorithm's color: a variant has that of its algorithm, any other name a fixed one."""
    if algorithm in _OTHERS:
        return _OTHERS[algorithm]
    known = declared(algorithm)
    color = known["color"] if known else None
    return crc32(algorithm.encode()) % 6 if color is None else color


def looks(algorithms: Sequence[str]) -> list[Look]:
    """Returns the look of each line of a picture: the color of its algorithm; lines of one color differ in dashes.

    Args:
        algorithms: The algorithm of each line.
    """
    return [look_of(*each) for each in zip(algorithms, turns_of(algorithms), strict=True)]


def turns_of(algorithms: Sequence[str]) -> list[int]:
    """Returns the number of each line among those of its color, from 0 on."""
    colors = [color_of(each) for each in algorithms]
    return [colors[:number].count(color) for number, color in enumerate(colors)]


def look_of(algorithm: str, turn: int) -> Look:
    """Returns the look of a line of an algorithm by its number among the lines of its color."""
    return Look(color_of(algorithm), turn % len(DASHES), turn % len(_SHADES))


def styles(algorithms: Sequence[str]) -> list[Style]:
    """Returns the style of each line of a picture: as :func:`looks`, and lines of one color also differ in lightness.

    Args:
        algorithms: The algorithm of each line.
    """
    return [
        Style(shaded(look), tuple(length / 2 for length in DASHES[look.dash]))
        for look in looks(algorithms)
    ]


def width(number: int, count: int) -> float:
    """Returns the width of one of several lines, as a part of the usual: where they coincide, all can be seen.

    Args:
        number: The line's index in the order of drawing; the last one is above the others.
        count: The number of lines.
    """
    return 1.0 if count < 2 else _WIDEST - (_WIDEST - _THINNEST) * number / (count - 1)


def shaded(look: Look) -> str:
    """Returns the color of a line, in its own lightness."""
    return _mixed(COLORS[look.color], _SHADES[look.shade % len(_SHADES)])


def _mixed(color: str, toward: float) -> str:
    parts = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
    if not any(parts):
        toward = abs(toward)  # black can only become lighter
    end = 255 if toward > 0 else 0
    return "#" + "".join(f"{round(each + (end - each) * abs(toward)):02x}" for each in parts)
