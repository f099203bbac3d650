"""PGF pictures without LaTeX: matplotlib asks it for the size of each text, and a machine that draws may not have it.

Sizes are those of matplotlib's own font. A document that includes the picture sets its texts in the document's font,
at the same anchors.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fullpipe.base.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.font_manager import FontProperties

_POINTS = 72
_MARKS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "−": r"\ensuremath{-}",
    "×": r"\ensuremath{\times}",
    "±": r"\ensuremath{\pm}",
    "≥": r"\ensuremath{\ge}",
    "≤": r"\ensuremath{\le}",
    "μ": r"\ensuremath{\mu}",
    "→": r"\ensuremath{\to}",
    "▲": r"\ensuremath{\uparrow}",
    "▼": r"\ensuremath{\downarrow}",
    "\N{NO-BREAK SPACE}": "~",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
}


class _Sizes:
    """The part of `LatexManager`, matplotlib's connection to LaTeX, that figures need."""

    @classmethod
    def _get_cached_or_new(cls) -> _Sizes:
        return cls()

    def __init__(self) -> None:
        from matplotlib.backends.backend_agg import RendererAgg

        self._renderer: Any = RendererAgg(1, 1, _POINTS)  # type: ignore[no-untyped-call]

    def get_width_height_descent(
        self, text: str, prop: FontProperties
    ) -> tuple[float, float, float]:
        """Returns width, height and depth of a text, points."""
        width, height, depth = self._renderer.get_text_width_height_descent(
            text, prop, ismath=False
        )
        return width, height, depth


@contextmanager
def measured(form: str) -> Iterator[None]:
    """Lets matplotlib write PGF in the block, with texts that LaTeX reads as they are; other formats are as before."""
    if form != "pgf":
        yield
        return
    from matplotlib.backends import backend_pgf

    module: Any = backend_pgf
    before = module.LatexManager, module._tex_escape
    module.LatexManager, module._tex_escape = _Sizes, escaped
    try:
        yield
    finally:
        module.LatexManager, module._tex_escape = before


def escaped(text: str) -> str:
    """Returns a text that LaTeX prints as it is."""
    return "".join(_MARKS.get(letter, letter) for letter in printable(" ".join(text.splitlines())))
