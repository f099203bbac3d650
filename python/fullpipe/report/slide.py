"""Writes one panel of recorded runs: a picture in the format 16:9, or its numbers as CSV."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING, Any

from fullpipe.report.model import Timeline
from fullpipe.report.panels import drawn, time
from fullpipe.report.write import SlideForm, replace, target_of
from fullpipe.results import disk
from fullpipe.results.beside import beside
from fullpipe.results.model import NoResultsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.report.model import Panel
    from fullpipe.report.panels.drawn import Shown

_STYLE: Any = {
    "font.size": 14,
    "axes.titlesize": 18,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "text.parse_math": False,
    "svg.hashsalt": "fullpipe",
}


def write(
    directories: Sequence[Path],
    key: str,
    form: SlideForm,
    out: Path | None,
    time_s: tuple[float, float] | None,
) -> Path:
    """Does the work of :func:`fullpipe.report.write_panel`."""
    runs = _runs(directories)
    panel = drawn.find(key, runs)
    if time_s:
        runs = _part(runs, panel, *time_s)
    target = target_of(directories, f"report-{key}.{form}", out)
    if form is SlideForm.CSV:
        return replace(target, lambda aside: disk.write(aside, _text(panel, runs)))
    return replace(target, lambda aside: _draw(panel, runs, form, aside))


def _runs(directories: Sequence[Path]) -> list[Shown]:
    section = time.section(beside(directories))
    blocks = section.blocks if section else []
    for block in blocks:
        if isinstance(block, Timeline):
            return drawn.shown([block.runs[number] for number in block.first])
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


def _draw(panel: Panel, runs: Sequence[Shown], form: SlideForm, target: Path) -> None:
    import matplotlib as mpl

    from fullpipe.report.static_time import one_panel

    metadata: dict[str, Any] = {}
    match form:
        case SlideForm.SVG:
            metadata = {"Date": None}
        case SlideForm.PDF:
            metadata = {"CreationDate": None}
        case _:
            pass
    with mpl.rc_context(_STYLE), disk.NewFile(target) as out:
        one_panel(runs, panel).savefig(out, format=form, dpi=180, metadata=metadata)
