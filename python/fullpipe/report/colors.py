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
    look_of,
    looks,
    shaded,
    turns_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.model import Clouds, Line

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
    "look_of",
    "looks",
    "of_clouds",
    "own_looks",
    "shaded",
    "turns_of",
]


def own_looks(lines: Sequence[Line]) -> list[Look]:
    """Returns the look of each line of a chart: the colors of their algorithms, or else one color for each line."""
    if all(line.algorithm for line in lines):
        turns = [
            each if line.turn is None else line.turn
            for line, each in zip(lines, turns_of([line.algorithm for line in lines]), strict=True)
        ]
        return [
            look_of(line.algorithm, turn)
            if line.style is None
            else look_of(line.algorithm, turn)._replace(dash=line.style % len(DASHES))
            for line, turn in zip(lines, turns, strict=True)
        ]
    styles = [number if line.style is None else line.style for number, line in enumerate(lines)]
    return [Look(style % len(COLORS), style % len(DASHES), 0) for style in styles]


def of_clouds(blocks: Sequence[Clouds]) -> dict[str, tuple[int, Look]]:
    """Returns number and look of each contender of scatter plots, by its label."""
    names = {label: algorithm or label for each in blocks for label, algorithm in each.known}
    names |= {each.label: each.algorithm or each.label for block in blocks for each in block.clouds}
    own = zip(names, looks([*names.values()]), strict=True)
    drawn = {each.label for block in blocks for each in block.clouds}
    return {label: (number, look) for number, (label, look) in enumerate(own) if label in drawn}


def heat(share: float) -> tuple[str, str]:
    """Returns the cividis color for a value of 0 to 1, and black or white for text on it."""
    from matplotlib import colormaps

    red, green, blue, _ = colormaps["cividis"](share)
    luminance = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
    # the contrast ratio of WCAG
    text = "#000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#fff"
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}", text
