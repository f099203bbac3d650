"""The colors of a report: those of the algorithms, and that of a value in a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.runs.view.colors import (
    COLORS,
    DASHES,
    DROPS,
    MARKERS,
    MARKS,
    ON_DARK,
    Look,
    color_of,
    looks,
    shaded,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.model import Line

__all__ = [
    "COLORS",
    "DASHES",
    "DROPS",
    "MARKERS",
    "MARKS",
    "ON_DARK",
    "Look",
    "color_of",
    "heat",
    "looks",
    "own_looks",
    "shaded",
]


def own_looks(lines: Sequence[Line]) -> list[Look]:
    """Returns the look of each line of a chart: the colors of their algorithms, or else one color for each line."""
    if all(line.algorithm for line in lines):
        return [
            look if line.style is None else look._replace(dash=line.style % len(DASHES))
            for line, look in zip(lines, looks([line.algorithm for line in lines]), strict=True)
        ]
    styles = [number if line.style is None else line.style for number, line in enumerate(lines)]
    return [Look(style % len(COLORS), style % len(DASHES), 0) for style in styles]


def heat(share: float) -> tuple[str, str]:
    """Returns the cividis color for a value of 0 to 1, and black or white for text on it."""
    from matplotlib import colormaps

    red, green, blue, _ = colormaps["cividis"](share)
    luminance = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
    # the contrast ratio of WCAG
    text = "#000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#fff"
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}", text
