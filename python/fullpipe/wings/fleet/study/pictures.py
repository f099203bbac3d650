"""Two figures of a study of a fleet: the results of the arms, and the effect of other assumptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from fullpipe.study.verdicts.judged import Verdict
from fullpipe.study.verdicts.show import digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fullpipe.study.verdicts.judged import Judged
    from fullpipe.wings.fleet.study.published import ArmClaim, FleetStudy
    from fullpipe.wings.fleet.study.study import FleetOutcome

# Okabe and Ito's colors.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#777777")
_BLUE, _RED, _GREY = "#cfe3f2", "#f6d9c6", "#eeeeee"


def overview(study: FleetStudy, outcome: FleetOutcome, over: tuple[str, ...]) -> Figure:
    """Draws distributions of loss, throughput, packets in flight and RTT, and two clouds of BBR's connections."""
    figure = Figure(figsize=(13, 7.6), dpi=110, layout="constrained")
    paths = len(next(iter(outcome.arms.values()))["loss"])
    figure.suptitle(
        f"{study.preset}: {paths:,} downloads of 3 MB under each arm",
        x=0.01,
        ha="left",
        weight="bold",
    )
    panels = figure.subplots(2, 3)
    colors = dict(zip(over, _COLORS, strict=False))
    _tail(panels[0, 0], outcome, colors)
    _gains(panels[0, 1], outcome, colors)
    _cdf(panels[0, 2], outcome, colors, "inflight", "packets in flight (mean of a download)")
    _cdf(panels[1, 0], outcome, colors, "rtt", "RTT, ms (mean of a download)")
    _cloud(panels[1, 1], outcome, "bbr1", ("rtt", "inflight"), ("RTT, ms", "packets in flight"))
    _cloud(
        panels[1, 2],
        outcome,
        "bbr2",
        ("min_rtt", "bandwidth"),
        ("minimum RTT, ms", "bandwidth, Mbit/s"),
    )
    panels[0, 0].legend(frameon=False, loc="upper right")
    for panel in panels.flat:
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def _tail(panel: Axes, outcome: FleetOutcome, colors: dict[str, str]) -> None:
    panel.set_title("Share of downloads with a higher loss", loc="left", fontsize="medium")
    for arm, color in colors.items():
        loss = np.sort(100 * outcome.arms[arm]["loss"])
        panel.plot(loss, 100 * (1 - np.arange(len(loss)) / len(loss)), color=color, label=arm)
    panel.set(
        xscale="log",
        xlim=(0.03, 60),
        xlabel="retransmitted, % of all bytes",
        ylabel="% of downloads",
        ylim=(0, 80),
    )
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _gains(panel: Axes, outcome: FleetOutcome, colors: dict[str, str]) -> None:
    panel.set_title("Throughput relative to CUBIC's, by percentile", loc="left", fontsize="medium")
    at = np.arange(2, 99)
    first = next(iter(colors))
    base = np.percentile(outcome.arms[first]["throughput"], at)
    for arm, color in colors.items():
        panel.plot(at, np.percentile(outcome.arms[arm]["throughput"], at) / base, color=color)
    panel.set(xlabel="percentile of throughput", ylabel=f"ratio to {first}")


def _cdf(
    panel: Axes, outcome: FleetOutcome, colors: dict[str, str], column: str, title: str
) -> None:
    for arm, color in colors.items():
        values = np.sort(outcome.arms[arm][column])
        panel.plot(values, 100 * np.arange(1, len(values) + 1) / len(values), color=color)
    panel.set(xscale="log", xlabel=title, ylabel="% of downloads", ylim=(0, 100))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _cloud(
    panel: Axes, outcome: FleetOutcome, arm: str, of: tuple[str, str], titles: tuple[str, str]
) -> None:
    x, y = (outcome.arms[arm][name] for name in of)
    panel.set_title(f"{arm}: downloads, darker where more", loc="left", fontsize="medium")
    panel.hexbin(
        x,
        np.maximum(y, 1e-2),
        xscale="log",
        yscale="log",
        gridsize=60,
        bins="log",
        cmap="Blues",
        mincnt=1,
    )
    panel.set(xlabel=titles[0], ylabel=titles[1])
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def assumptions(study: FleetStudy, outcome: FleetOutcome) -> Figure:
    """Draws values with a row per judged claim and a column per assumption, blue if met and red if missed."""
    judged = [n for n, each in enumerate(outcome.claims) if each.verdict is not Verdict.REPORT]
    names = ["base population", *outcome.assumptions]
    columns: list[list[Judged[ArmClaim]]] = [
        list(outcome.fewer),
        *(list(rows) for rows in outcome.assumptions.values()),
    ]
    figure = Figure(
        figsize=(5.2 + 0.95 * len(names), 1.6 + 0.3 * len(judged)), dpi=110, layout="constrained"
    )
    panel = figure.subplots()
    for x, rows in enumerate(columns):
        for y, number in enumerate(judged):
            each = rows[number]
            turned = each.verdict is not outcome.fewer[number].verdict and each.sure
            color = {Verdict.MET: _BLUE, Verdict.MISSED: _RED}.get(each.verdict, _GREY)
            panel.add_patch(_box(x, y, color))
            panel.text(
                x,
                y,
                digits(each.ours.value),
                ha="center",
                va="center",
                weight="bold" if turned else "normal",
            )
    panel.set_xlim(-0.5, len(names) - 0.5)
    panel.set_ylim(len(judged) - 0.5, -0.5)
    panel.set_xticks(
        range(len(names)), [name.replace("-", "\n") for name in names], fontsize="small"
    )
    labels = [
        f"{outcome.claims[n].subject.case} {outcome.claims[n].subject.metric}" for n in judged
    ]
    panel.set_yticks(range(len(judged)), labels, fontsize="small")
    panel.xaxis.tick_top()
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    figure.suptitle(
        f"{study.name}: blue: met; red: missed; bold: the assumption flips the verdict",
        x=0.01,
        ha="left",
        weight="bold",
    )
    return figure


def _box(x: float, y: float, color: str) -> Rectangle:
    return Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, color=color)
