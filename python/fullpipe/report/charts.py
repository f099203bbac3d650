"""The picture of a sweep: curves over a swept number, maps over two, otherwise a mark for each contender."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from fullpipe.report import values
from fullpipe.report.panels import curves, maps, steady
from fullpipe.report.static import Piece, pieces_of, together
from fullpipe.report.static_charts import WIDTH
from fullpipe.report.static_time import in_lines, say
from fullpipe.report.style import PAPER
from fullpipe.results.load import load
from fullpipe.runs.view.colors import styles
from fullpipe.runs.view.figure import Picture
from fullpipe.runs.view.left import left_out
from fullpipe.stats import mean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.report.values import Group
    from fullpipe.results.model import Results
    from fullpipe.stats import Quantity

_LARGER = 1.5
_STYLE: Any = {**PAPER, "font.size": 10, "axes.titlesize": 10, "legend.fontsize": 9}
_DPI = 110
_MOST_ROWS = 40


def draw(directory: Path, metrics: Sequence[str] = ()) -> Picture:
    """Draws the metrics of a sweep.

    Args:
        directory: The results.
        metrics: The metrics to draw, by name; empty for those that suit the scenario.

    Raises:
        MetricError: When a metric is unknown, or no run has a value of it.
        NoResultsError: When no run has finished.
        OSError: When the results can't be read.
    """
    results = load(directory)
    measures = values.measures(results, metrics)
    groups = values.groups(results, [each.column for each in measures.every])
    lines = curves.section(results, groups, measures)
    tables = None if lines else maps.section(results, groups, measures)
    with mpl.rc_context(_STYLE):
        found = lines or tables
        parts = [*pieces_of(found, _LARGER * WIDTH)] if found else []
        charts = [each for each in parts if isinstance(each, Piece)]
        if charts:
            said = (found.note if found else "", steady.brief(results, measures.at("maps")))
            figure = together(charts, Picture, " ".join(filter(None, said)))
            figure.set_dpi(_DPI)
        else:
            figure = Picture(dpi=_DPI, layout="constrained")
            marked = measures.at("maps") or measures.every
            _draw_marks(figure, groups, marked, steady.brief(results, marked))
    figure.suptitle(_title(results), x=0.01, ha="left", weight="bold", fontsize=11)
    return figure


def _title(results: Results) -> str:
    counts = [len(point.seeds) for point in results.points.values()]
    seeds = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{max(counts)}"
    return fill(
        f"{results.title}, means of {seeds} seeds" if max(counts) > 1 else results.title, 100
    )


def _draw_marks(
    figure: Picture, groups: Sequence[Group], shown: Sequence[Quantity], note: str
) -> None:
    """Draws a panel for each metric, with a row for each contender: its mean, and the 95 % interval as a bar."""
    rows = groups[:_MOST_ROWS]
    names = [in_lines(", ".join(filter(None, (each.place, each.contender)))) for each in rows]
    looks = styles([each.algorithm or each.contender for each in rows])
    panels = [each for each in shown if any(row.of(each.column) for row in rows)]
    figure.set_size_inches(_LARGER * WIDTH, 0.28 * len(rows) + 1.3)
    axes = np.atleast_1d(figure.subplots(1, max(len(panels), 1), sharey=True))
    for axis, quantity in zip(axes, panels, strict=False):
        for number, (row, look) in enumerate(zip(rows, looks, strict=True)):
            if not (known := row.of(quantity.column)):
                continue
            found = mean(known)
            ends = [found.low, found.high] if len(known) > 2 else [found.value] * 2
            scaled = [end * quantity.scale for end in ends]
            axis.plot(scaled, [number, number], color=look.color, linewidth=2, alpha=0.5)
            axis.plot(found.value * quantity.scale, number, "o", color=look.color)
        unit = f", {quantity.unit}" if quantity.unit else ""
        axis.set_title(fill(f"{quantity.words}{unit}", 96 // len(panels)), loc="left", fontsize=9)
        axis.set_xlim(left=0)
        axis.grid(visible=False, axis="y")
    axes[0].set_yticks(range(len(rows)), names)
    axes[0].set_ylim(len(rows) - 0.5, -0.5)
    rest = [", ".join(filter(None, (each.place, each.contender))) for each in groups[_MOST_ROWS:]]
    say(figure, left_out(rest, len(groups)), note)
