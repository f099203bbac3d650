"""A figure of published and measured values side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fullpipe.study.reproduce.show import runs_each
from fullpipe.study.verdicts.judged import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from fullpipe.study.reproduce.published import Published
    from fullpipe.study.reproduce.study import CaseOutcome
    from fullpipe.study.reproduce.tables import Cell
    from fullpipe.study.verdicts.judged import Judged

# Okabe and Ito's colors. Each verdict also has its own marker.
_LOOK = {
    Verdict.MET: ("#0072B2", "o", "ours, met"),
    Verdict.MISSED: ("#D55E00", "X", "ours, missed"),
    Verdict.REPORT: ("#777777", "D", "ours, reported only"),
}
_BAND = "#cfe3d4"
_BAND_REPORT = "#e9e9e9"
_WIDTH = 13.0
_LINE = 0.34


def overview(published: Published, outcomes: Sequence[CaseOutcome]) -> Figure:
    """Draws published value, accepted range, our mean and its range: a line per case, a panel per metric.

    Cases are grouped by table; each table has its own panels with their own scales. Only cases that
    were run are drawn.
    """
    ran = [outcome for outcome in outcomes if not outcome.skipped]
    runs = runs_each(len(outcome.runs) for outcome in ran)
    tables = {
        name: [each for each in ran if each.case.table == name]
        for name in dict.fromkeys(o.case.table for o in ran)
    }
    metrics = {
        name: list(dict.fromkeys(judged.metric for each in cases for judged in each.cells))
        for name, cases in tables.items()
    }
    columns = max((len(each) for each in metrics.values()), default=1)
    lines = [len(cases) + 1.5 for cases in tables.values()] or [1.0]
    figure = Figure(
        figsize=(_WIDTH, 1.5 + _LINE * sum(lines) + 0.5 * len(lines)), dpi=110, layout="constrained"
    )
    figure.suptitle(
        f"{published.title}: published and our values, {runs} per case",
        x=0.01,
        ha="left",
        weight="bold",
    )
    panels = figure.subplots(
        len(lines), columns, squeeze=False, gridspec_kw={"height_ratios": lines}
    )
    for row, (name, cases) in zip(panels, tables.items(), strict=False):
        for number, (panel, metric) in enumerate(zip(row, metrics[name], strict=False)):
            _draw(panel, metric, cases, labeled=number == 0)
        for panel in row[len(metrics[name]) :]:
            panel.set_axis_off()
        row[0].annotate(
            name,
            (0, 1),
            (-4, 16),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            weight="bold",
        )
    figure.legend(handles=_legend(), loc="outside lower right", ncols=7, frameon=False)
    return figure


def _draw(panel: Axes, metric: str, cases: Sequence[CaseOutcome], labeled: bool) -> None:
    panel.set_title(metric, loc="left", fontsize="medium")
    panel.set_yticks(
        range(len(cases)), [case.case.name for case in cases] if labeled else [""] * len(cases)
    )
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(len(cases) - 0.4, -0.6)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.grid(axis="x", color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    for place, case in enumerate(cases):
        for judged in case.cells:
            if judged.metric == metric:
                _draw_cell(panel, place, judged)
    panel.set_xlim(left=0)


def _draw_cell(panel: Axes, place: int, judged: Judged[Cell]) -> None:
    if judged.verdict is Verdict.SKIPPED:
        return
    low, high = judged.within
    color, marker, _ = _LOOK[judged.verdict]
    band = _BAND_REPORT if judged.verdict is Verdict.REPORT else _BAND
    panel.barh(place, high - max(low, 0), left=max(low, 0), height=0.62, color=band, zorder=1)
    panel.plot(
        [judged.subject.published] * 2,
        [place - 0.31, place + 0.31],
        color="black",
        linewidth=2.2,
        zorder=3,
    )
    panel.plot(
        [judged.ours.least, judged.ours.most], [place, place], color=color, linewidth=1.6, zorder=4
    )
    panel.plot(
        judged.ours.value,
        place,
        marker,
        color=color,
        markersize=_size(marker),
        markeredgecolor="white",
        zorder=5,
    )


def _size(marker: str) -> float:
    return 10 if marker == "X" else 7


def _legend() -> list[Line2D | Patch]:
    ours = [
        Line2D(
            [],
            [],
            color=color,
            marker=marker,
            markeredgecolor="white",
            markersize=_size(marker),
            label=label,
        )
        for color, marker, label in _LOOK.values()
    ]
    return [
        Line2D(
            [],
            [],
            color="black",
            marker="|",
            markersize=11,
            markeredgewidth=2.2,
            linestyle="",
            label="published",
        ),
        Patch(color=_BAND, label="accepted range"),
        Patch(color=_BAND_REPORT, label="accepted range, not judged"),
        *ours,
        Line2D([], [], color="#444444", linewidth=1.6, label="minimum to maximum of the runs"),
    ]
