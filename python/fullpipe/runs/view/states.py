"""The states of each flow's algorithm over time, as a band."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.patches import Patch

from fullpipe import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from fullpipe.runs.data import RunData

# Colors by purpose: growth is green, a steady state pale, probing for bandwidth orange to red, draining blue, measuring
# the empty path the color of text, loss recovery pink. A test compares them with each other and with the paper.
_COLORS = {
    "startup": "#009E73",
    "slow_start": "#66A61E",
    "css": "#4CC9A9",
    "initial": "#2E8B57",
    "starting": "#3CB371",
    "resuming": "#A6D854",
    "drain": "#0072B2",
    "probe_bw": "#BDBDBD",
    "congestion_avoidance": "#9FB0C0",
    "probe_bw_cruise": "#D3C5A0",
    "concave": "#B7A6CC",
    "reno_friendly": "#8C6D31",
    "cruising": "#A3BFA8",
    "default": "#C9A999",
    "learning": "#8E9AA8",
    "probe_bw_refill": "#E69F00",
    "probe_bw_up": "#D55E00",
    "convex": "#F4A582",
    "probing": "#F0B84B",
    "pushing": "#E34A33",
    "competitive": "#B2462F",
    "probe_bw_down": "#56B4E9",
    "probe_rtt": "#000000",
    "slowdown": "#4D4D4D",
    "ramp": "#B8860B",
    "recovery": "#CC79A7",
    # Limits of a flow: the window green, pacing orange, the other side blue, the application pale.
    "cwnd": "#009E73",
    "pacing": "#E69F00",
    "receive_window": "#0072B2",
    "send_buffer": "#56B4E9",
    "application": "#BDBDBD",
    "host": "#8C6D31",
    "handshake": "#000000",
}
# The same on a dark page, where pale states are dim, and the color of text is white.
_ON_DARK = {
    "startup": "#1FB58A",
    "slow_start": "#8CCB3A",
    "css": "#7BE3C8",
    "initial": "#3FA56D",
    "starting": "#5CCF8E",
    "resuming": "#C3EB7C",
    "drain": "#3D8FD1",
    "probe_bw": "#6C7176",
    "congestion_avoidance": "#50708F",
    "probe_bw_cruise": "#7D7253",
    "concave": "#77658F",
    "reno_friendly": "#A98545",
    "cruising": "#4E7D57",
    "default": "#8A5B52",
    "learning": "#8494A6",
    "probe_bw_refill": "#F2B632",
    "probe_bw_up": "#FF7A2E",
    "convex": "#F4A582",
    "probing": "#FFCB66",
    "pushing": "#FF5C45",
    "competitive": "#D9603F",
    "probe_bw_down": "#8CCBF2",
    "probe_rtt": "#FFFFFF",
    "slowdown": "#D0D0D0",
    "ramp": "#D9A520",
    "recovery": "#E39AC4",
    "cwnd": "#1FB58A",
    "pacing": "#F2B632",
    "receive_window": "#3D8FD1",
    "send_buffer": "#8CCBF2",
    "application": "#6C7176",
    "host": "#A98545",
    "handshake": "#FFFFFF",
}
# Letters of state names that fit on one line with the title, without handles and gaps.
_LEGEND_LINE = 85
_OTHERS = ("#8C6D31", "#7B4173", "#637939", "#843C39", "#3182BD", "#969696")


def stays(run: RunData, until: float) -> pl.DataFrame:
    """Returns the times that each flow spent in each state, also for the algorithm of its receiver.

    Returns:
        A row per stay in a state: `flow`, `state`, and `since` and `till` in seconds from the start
        of the run, `till` at most `until`; flows in the run's order, without flows that never
        changed their state. A receiver's stays have the name "<flow>'s receiver", and the
        resolution of the trace's rows.
    """
    changes = run.trace("transitions").filter(pl.col("time") <= until)
    words = pl.col("from", "to").cast(pl.String)
    rows = []
    for flow in run.flow_metrics:
        mine = changes.filter(pl.col("flow") == flow["name"]).with_columns(words)
        seen = run.trace().filter((pl.col("flow") == flow["name"]) & (pl.col("time") <= until))
        if not mine.is_empty():
            since = [seen["time"].min(), *mine["time"]]
            rows.append(_rows(flow["name"], [mine["from"][0], *mine["to"]], since, until))
        for column in _receivers(seen):
            turns = seen.filter(pl.col(column).ne_missing(pl.col(column).shift()))
            if turns.height > 1:
                states = turns[column].cast(pl.String).to_list()
                rows.append(
                    _rows(f"{flow['name']}'s receiver", states, turns["time"].to_list(), until)
                )
    schema = {"flow": pl.String, "state": pl.String, "since": pl.Float64, "till": pl.Float64}
    return pl.concat(rows) if rows else pl.DataFrame(schema=schema)


def _rows(whose: str, states: Sequence[str], since: Sequence[object], until: float) -> pl.DataFrame:
    """Returns rows for states, each from its beginning to the beginning of the next one."""
    return (
        pl.DataFrame({"flow": [whose] * len(states), "state": states, "since": since})
        .with_columns(till=pl.col("since").shift(-1, fill_value=until))
        .filter(pl.col("till") > pl.col("since"))
    )


def _receivers(seen: pl.DataFrame) -> list[str]:
    """Returns the columns of a flow's rows that have the state of an algorithm in its receiver."""
    columns = (
        f"{each['name']}.state" for each in _core.algorithms() if each["recovery"] == "sender"
    )
    return [
        column
        for column in columns
        if column in seen.columns and seen[column].null_count() < seen.height
    ]


def draw(panel: Axes, rows: pl.DataFrame) -> None:
    """Draws :func:`stays`: a line for each flow, a color for each state, with a legend of the states."""
    flows = rows["flow"].unique(maintain_order=True).to_list()
    chosen = colors(rows["state"].unique(maintain_order=True).to_list())
    for (flow, state), each in rows.group_by("flow", "state", maintain_order=True):
        bars = each.select("since", pl.col("till") - pl.col("since")).rows()
        line = len(flows) - 1 - flows.index(flow)
        panel.broken_barh(bars, (line + 0.1, 0.8), color=chosen[str(state)], linewidth=0)
    panel.set_ylim(0, len(flows))
    panel.set_yticks(np.arange(len(flows)) + 0.5, reversed(flows), fontsize="small")
    panel.tick_params(axis="y", length=0)
    panel.legend(
        handles=[Patch(color=color, label=state) for state, color in chosen.items()],
        loc="lower right",
        bbox_to_anchor=(1.0, 0.96),
        ncols=-(-len(chosen) // (1 if sum(map(len, chosen)) <= _LEGEND_LINE else 2)),
        fontsize="small",
        frameon=False,
        handlelength=1.0,
        columnspacing=1.0,
        borderaxespad=0.0,
    )


def colors(states: Sequence[str], *, dark: bool = False) -> dict[str, str]:
    """Returns a color for each state, on white or on a dark page; declared ones first, in the order of `_COLORS`."""
    declared = _ON_DARK if dark else _COLORS
    known = {state: declared[state] for state in _COLORS if state in states}
    new = [state for state in states if state not in known]
    return known | {state: _OTHERS[number % len(_OTHERS)] for number, state in enumerate(new)}
