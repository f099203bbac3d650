"""The look of figures for paper: fullpipe's own, below that of a user's style file; and the ways to save them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from fullpipe.errors import UserError
from fullpipe.results import disk
from fullpipe.runs.view.pgf import measured

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.figure import Figure

CHARTS: Any = {
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
"""Grid and frame of charts."""
_BASE: Any = {
    **CHARTS,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "fullpipe",
    "text.parse_math": False,  # a dollar sign in a name is no formula
}
PAPER: Any = {
    **_BASE,
    "font.size": 8,
    "axes.titlesize": 8.5,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.1,
    "lines.markersize": 3,
}
"""The style of figures for paper."""
COLUMN: Any = {
    **_BASE,
    "font.size": 7,
    "axes.titlesize": 7,
    "legend.fontsize": 6.5,
    "lines.linewidth": 1.0,
    "lines.markersize": 2.6,
}
"""The style of figures for a column of a paper."""
OF_SLIDE: Any = {
    **_BASE,
    "font.size": 14,
    "axes.titlesize": 18,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
}
"""The style of slides."""
_METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


class StyleError(UserError):
    """A style file that can't be used; the text has the fix."""


class Save(Protocol):
    """Saves a figure to a file of a format."""

    def __call__(self, figure: Figure, file: Path, form: str, dpi: int = 200) -> None:
        """Saves it.

        Raises:
            OSError: When the file can't be written.
        """


@contextmanager
def styled(style: Path | None, base: Any = PAPER) -> Iterator[Save]:  # noqa: ANN401
    """Provides the style of figures, and the function that saves one.

    Args:
        style: A style file of matplotlib, whose settings replace those of `base`.
        base: The style below it.

    Raises:
        StyleError: When the style file can't be used.
    """
    import matplotlib as mpl

    with mpl.rc_context({**base, **(_read(style) if style else {})}):

        def save(figure: Figure, file: Path, form: str, dpi: int = 200) -> None:
            options: Any = (
                {} if form == "pgf" else {"dpi": dpi, "metadata": _METADATA.get(form, {})}
            )
            try:
                with disk.NewFile(file) as out, measured(form):
                    figure.savefig(out, format=form, **options)
            except RuntimeError as problem:
                if style is None:
                    raise
                raise StyleError(
                    f"--style {style}: matplotlib can't draw with it: {problem}\n"
                    "  fix: leave out the setting, such as text.usetex without LaTeX"
                ) from None

        yield save


def _read(file: Path) -> Any:  # noqa: ANN401
    import logging

    from matplotlib import rc_params_from_file

    if not file.is_file():
        raise StyleError(
            f"--style {file}: no such file\n  fix: name a style file of matplotlib, like ieee.mplstyle"
        )
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("matplotlib")
    log.addHandler(handler)
    propagates, log.propagate = log.propagate, False
    try:
        found = rc_params_from_file(file, fail_on_error=True, use_default_template=False)
    except (ValueError, KeyError, UnicodeError) as problem:
        raise _bad(file, f"{problem}") from None
    finally:
        log.removeHandler(handler)
        log.propagate = propagates
    if said:
        raise _bad(file, said[0])
    return found


def _bad(file: Path, problem: str) -> StyleError:
    words = " ".join(problem.split())
    return StyleError(
        f"--style {file}: not a style file of matplotlib: {words}\n"
        "  fix: correct the line; `python -c 'import matplotlib; print(matplotlib.rcParams)'` lists the settings"
    )
