"""A figure that a notebook shows without a magic command."""

from __future__ import annotations

from io import BytesIO
from typing import TypeAlias

from matplotlib.figure import Figure, SubFigure

Place: TypeAlias = Figure | SubFigure
"""A figure, or a part of one, to draw on."""


class Picture(Figure):
    """A figure of matplotlib that a notebook shows as the last value of a cell, without `%matplotlib inline`."""

    def png(self) -> bytes:
        """Returns the picture as a PNG file."""
        out = BytesIO()
        self.savefig(out, format="png")
        return out.getvalue()

    def _repr_png_(self) -> bytes:
        return self.png()
