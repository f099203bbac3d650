"""Writes one panel of recorded runs, or one figure or table of many runs: a picture, its numbers, or LaTeX."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe.report.figures import inches, kind_of, notes, section, table
from fullpipe.report.model import Timeline
from fullpipe.report.panels import drawn, time
from fullpipe.report.write import SlideForm, replace, target_of
from fullpipe.results import disk
from fullpipe.results.beside import beside
from fullpipe.results.model import NoResultsError
from fullpipe.runs.view.left import left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from fullpipe.report.figures import Kind
    from fullpipe.report.model import Panel
    from fullpipe.report.panels.drawn import Shown

_MM = 25.4
_PAGE = 10.0
"""Height of the text of a page, inches: that of A4 with margins of 20 mm."""
_WIDTH, _COLUMN, _SHAPE = 160 / 25.4, 4.5, 0.62
"""Width of a figure, and that below which it has the style of a column, inches; height of a panel to its width."""


class Asked(NamedTuple):
    """Wishes of a user besides the panel; :func:`fullpipe.report.write_panel` has the same arguments."""

    show: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    width: str | None = None
    style: Path | None = None
    time_s: tuple[float, float] | None = None


def write(
    directories: Sequence[Path],
    key: str,
    form: SlideForm,
    out: Path | None,
    asked: Asked,
    tell: Callable[[str], object],
) -> Path:
    """Does the work of :func:`fullpipe.report.write_panel`."""
    if asked.width is not None and form in (SlideForm.CSV, SlideForm.TEX):
        raise drawn.PanelError(
            f"--width: nothing of format {form} is drawn\n  fix: leave out --width, or write --format pdf"
        )
    wide = None if asked.width is None else inches(asked.width)
    target = target_of(directories, f"report-{key}.{form}", out)
    if kind := kind_of(key):
        return _figure(directories, kind, form, target, asked, wide or _WIDTH, tell)
    if form is SlideForm.TEX:
        raise drawn.PanelError(
            f"--panel {key} --format tex: a picture, and no table\n"
            "  fix: write pgf, which LaTeX includes, or csv; or choose --panel results"
        )
    for name, given in (("--show", asked.show), ("--over", asked.over)):
        if given:
            raise drawn.PanelError(
                f"{name}: for figures of many runs, and panel {key} is over time\n  fix: leave out {name}"
            )
    runs, left = _runs(directories)
    panel = drawn.find(key, runs)
    if asked.time_s:
        runs = _part(runs, panel, *asked.time_s)
    if form is SlideForm.CSV:
        tell(left)
        return replace(target, lambda aside: disk.write(aside, _text(panel, runs)))
    return replace(target, lambda aside: _draw(panel, runs, form, aside, asked.style, wide, left))


def _figure(
    directories: Sequence[Path],
    kind: Kind,
    form: SlideForm,
    target: Path,
    asked: Asked,
    wide: float,
    tell: Callable[[str], object],
) -> Path:
    """Writes a figure or table of many runs."""
    if asked.time_s:
        raise drawn.PanelError(
            f"--time: for panels over time, and {kind.key} has no time\n  fix: leave out --time"
        )
    if kind.is_table != (form is SlideForm.TEX) and form is not SlideForm.CSV:
        forms = "tex or csv" if kind.is_table else "svg, png, pdf, pgf or csv"
        what = "a table" if kind.is_table else "a picture"
        raise drawn.PanelError(
            f"--panel {kind.key} --format {form}: {what}\n  fix: write --format {forms}"
        )
    results = beside(directories)
    found, drift = section(kind, results, asked.show, asked.over)
    if form in (SlideForm.CSV, SlideForm.TEX):
        tell(" ".join(filter(None, (*notes(found), drift))))
    if form is SlideForm.CSV:
        return replace(target, lambda aside: disk.write(aside, table(found)))
    if form is SlideForm.TEX:
        from fullpipe.report.tex import tables

        text = tables(results.title, [found], drift, target.stem)
        return replace(target, lambda aside: disk.write(aside, text))
    from fullpipe.report.static import Piece, pieces_of, together
    from fullpipe.report.style import styled

    def draw(aside: Path) -> None:
        with styled(asked.style, _base(wide)) as save:
            parts = [each for each in pieces_of(found, wide) if isinstance(each, Piece)]
            note = " ".join(filter(None, (found.note, drift)))
            figure: Figure = together(parts, note=note, title=len(parts) > 1)
            save(figure, aside, form, 300)
        if (high := figure.get_size_inches()[1]) > _PAGE:
            fixes = [
                *(["choose fewer metrics with --show"] if len(parts) > 1 else []),
                *(
                    [f"write --width {_WIDTH * _MM:.0f}mm"]
                    if wide < _WIDTH
                    else ["write a larger --width"]
                ),
            ]
            tell(f"{high * _MM:.0f} mm high, more than a page has: {' or '.join(fixes)}")

    return replace(target, draw)


def _base(wide: float) -> Any:  # noqa: ANN401
    """Returns the style of a figure of a width in inches."""
    from fullpipe.report.style import COLUMN, PAPER

    return COLUMN if wide < _COLUMN else PAPER


def _runs(directories: Sequence[Path]) -> tuple[list[Shown], str]:
    """Returns the runs that a page shows at first, or all together of a comparison; and words about the others."""
    section = time.section(beside(directories))
    blocks = section.blocks if section else []
    for block in blocks:
        if isinstance(block, Timeline):
            chosen = block.drawn or block.first
            rest = [each.label for number, each in enumerate(block.runs) if number not in chosen]
            left = left_out(rest, len(block.runs))
            return drawn.shown([block.runs[number] for number in chosen]), left
    names = ", ".join(map(str, directories))
    raise NoResultsError(
        f"{names}: no run was recorded over time\n  fix: record one: --trace 10ms --out DIR"
    )


def _part(runs: Sequence[Shown], panel: Panel, begin_s: float, end_s: float) -> list[Shown]:
    part = drawn.within(runs, begin_s, end_s)
    if not drawn.has(panel, part):
        until = max(each.run.end_s for each in runs)
        raise drawn.PanelError(
            f"--time {begin_s:g}s..{end_s:g}s: panel {panel.key} has nothing in this time\n"
            f"  fix: choose a part of 0s..{until:.6g}s with data of it, or leave out --time"
        )
    return part


def _text(panel: Panel, runs: Sequence[Shown]) -> str:
    text = StringIO()
    csv.writer(text).writerows(drawn.table(panel, runs))  # lines end as in RFC 4180
    return text.getvalue()


def _draw(
    panel: Panel,
    runs: Sequence[Shown],
    form: SlideForm,
    target: Path,
    style: Path | None,
    wide: float | None,
    left: str,
) -> None:
    from fullpipe.report.static_time import SLIDE, one_panel
    from fullpipe.report.style import OF_SLIDE, styled

    base, size = OF_SLIDE, SLIDE
    if wide is not None:
        size = wide, _SHAPE * wide
        base = {**_base(wide), "lines.linewidth": 0.7}  # traces have many points
    with styled(style, base) as save:
        save(one_panel(runs, panel, size, left), target, form, 180 if wide is None else 300)
