"""Colors that are distinct for every kind of color vision, and dashes for gray print."""

from __future__ import annotations

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Colors of Okabe and Ito, without yellow, which is too pale. https://jfly.uni-koeln.de/color/"""

ON_DARK = ("#4DA6E0", "#FF8A3D", "#2CC79B", "#E39AC4", "#9AD4F5", "#F2B632", "#F5F5F5")
"""The same hues, light enough for a dark page."""

DASHES = ((), (8, 4), (2, 3), (10, 3, 2, 3), (14, 4), (5, 2), (3, 6))
"""Dash pattern of each line: lengths of dashes and gaps."""


def heat(share: float) -> tuple[str, str]:
    """Returns the cividis color for a value of 0 to 1, and black or white for text on it."""
    from matplotlib import colormaps

    red, green, blue, _ = colormaps["cividis"](share)
    luminance = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
    # the contrast ratio of WCAG
    text = "#000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#fff"
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}", text
