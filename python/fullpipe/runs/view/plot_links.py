"""The parts of a picture about links: their queues, and the rate of the bottleneck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fullpipe.runs.view.axes import ABOVE, GREY, draw_line, numbers
from fullpipe.runs.view.colors import DROPS, MARKS
from fullpipe.runs.view.left import left_out
from fullpipe.runs.view.path import links_of_acks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from fullpipe.runs.data import RunData
    from fullpipe.runs.view.axes import Values

# Color and style of the lines of the links' queues.
_QUEUES = ((GREY, "-"), ("#000000", "--"), ("#999999", "-"), ("#000000", ":"))
NOTABLE_S = 1e-3
"""Mean queueing delay from which on a link of ACKs alone is drawn."""
BINS = 200
"""The number of parts of a picture's time over which rates are averaged."""


def draw_queue(panel: Axes, run: RunData, until: float) -> None:
    """Draws the queue lengths of the links, with a tick at each time when a packet was dropped or marked."""
    rows = run.trace("links").filter(pl.col("time") <= until)
    acks = links_of_acks(run.scenario.to_toml())
    links = [
        link
        for link in run.link_metrics
        if link["name"] not in acks or (link["queue_delay_s"]["mean"] or 0.0) >= NOTABLE_S
    ]
    idle = [link["name"] for link in run.link_metrics if link not in links]
    longest = sorted(links, key=lambda link: link["queue_delay_s"]["mean"] or 0.0)[-len(_QUEUES) :]
    count = len(run.link_metrics)
    left = (
        left_out([link["name"] for link in links if link not in longest], count),
        left_out(idle, count, "ACKs do not wait there"),
    )
    # In the scenario's order.
    for link, (color, style) in zip(
        [link for link in links if link in longest], _QUEUES, strict=False
    ):
        own = rows.filter(pl.col("link") == link["name"])
        draw_line(
            panel,
            numbers(own, "time"),
            numbers(own, "sojourn") * 1e3,
            color,
            f"{link['name']} (ACKs)" if link["name"] in acks else link["name"],
            style=style,
        )
    whose = "at the bottleneck"
    if len(links) > 1:
        whose = (
            "at each link"
            if len(longest) == len(links)
            else f"at the {len(longest)} links with the longest queues"
        )
        panel.legend(**ABOVE, ncols=len(longest), fontsize="small")
    # Sums of all links.
    sums = rows.group_by("time", maintain_order=True).agg(pl.col("drops", "marks").sum())
    time = numbers(sums, "time")
    for column, height, color in (("drops", 0.965, DROPS), ("marks", 0.905, MARKS)):
        times = time[1:][np.diff(numbers(sums, column)) > 0]
        if len(times):
            ticks = np.unique(np.round(times / until * 2000)) / 2000 * until
            where = panel.get_xaxis_transform()
            panel.plot(
                ticks, np.full(len(ticks), height), "|", color=color, markersize=7, transform=where
            )
    befell = (
        "dropped (red) and marked (purple)"
        if any(link["marks"] for link in run.link_metrics)
        else "dropped"
    )
    it = "" if len(run.link_metrics) == 1 else " at any link"
    acks_dropped = dropped_acks({link["name"]: link["ack_drops"] for link in run.link_metrics})
    which = "data packets" if acks_dropped else "packets"
    words = [f"queueing delay {whose}; ticks: {which} {befell}{it}", *left, acks_dropped]
    panel.set_title(
        "\n".join(filter(None, words)),
        loc="left",
        fontsize="medium",
    )


def dropped_acks(counts: Mapping[str, int]) -> str:
    """Returns a sentence on the dropped ACKs of links, which have no ticks; empty without any."""
    found = [f"{count:,} at {link}" for link, count in counts.items() if count]
    return f"Dropped ACKs, without ticks: {', '.join(found)}." if found else ""


def draw_link_rate(panel: Axes, run: RunData) -> None:
    """Draws the rate of the bottleneck over time, and those of links that are not much faster."""
    rates = _link_rate(run)
    edges = [time for time, _ in rates] + [run.metrics["duration_s"]]
    heights = [rate / 1e6 for _, rate in rates]
    panel.stairs(heights, edges, baseline=None, color=GREY, linestyle="--", linewidth=1, zorder=1)
    names = {heights[-1]: ["link rate"]}
    acks = links_of_acks(run.scenario.to_toml())
    further = [(name, rate) for name, rate in run.scenario.links[1:] if name not in acks]
    if further:
        names = {heights[-1]: [run.link_metrics[0]["name"]]}
        # The scale would not show the others if it had to include much faster links.
        for name, rate in further:
            if rate / 1e6 <= 1.5 * max(heights) and name not in run.scenario.varying_links:
                names.setdefault(rate / 1e6, []).append(name)
        for height in list(names)[1:]:
            panel.axhline(height, color=GREY, linestyle="--", linewidth=1, zorder=1)
    # Names of rates that are too close to each other share a line of text.
    apart = 0.08 * max(*names, panel.get_ylim()[1])
    told: list[tuple[float, list[str]]] = []
    for height, those in sorted(names.items()):
        if told and height - told[-1][0] < apart:
            told[-1] = (height, [*told[-1][1], *those])
        else:
            told.append((height, those))
    for height, those in told:
        _name_rate(panel, ", ".join(those), height)


def _name_rate(panel: Axes, name: str, height: float) -> None:
    panel.annotate(
        name,
        (1, height),
        xycoords=panel.get_yaxis_transform(),
        xytext=(-2, 3),
        textcoords="offset points",
        ha="right",
        color=GREY,
        fontsize="small",
        bbox={"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5},
        zorder=4,
    )


def _link_rate(run: RunData) -> list[tuple[float, int]]:
    """Returns the times at which the bottleneck's rate changes, with the rate from then on."""
    return run.scenario.rate_over_time(BINS)


def draw_equal_share(panel: Axes, run: RunData, edges: Values, rates: dict[str, Values]) -> None:
    """Draws the equal share: the link's rate divided by the number of active flows."""
    if len(run.link_metrics) > 1:
        return  # the run's data do not say which flows share a link
    if any(flow["cc"] == "none" for flow in run.flow_metrics):
        return  # an unresponsive flow has no trace, and takes no equal share
    there = np.isfinite(np.stack(list(rates.values()))).sum(axis=0)
    times, bps = zip(*_link_rate(run), strict=True)
    capacity = np.array(bps)[np.searchsorted(times, edges[:-1], side="right") - 1] / 1e6
    shares = np.where(there > 0, capacity / np.maximum(there, 1), np.nan)
    panel.stairs(shares, edges, baseline=None, color=GREY, linestyle="--", linewidth=1, zorder=3)
    panel.set_title(
        f"{panel.get_title(loc='left')}; dashed: link rate / active flows",
        loc="left",
        fontsize="medium",
    )
