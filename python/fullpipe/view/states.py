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

    from fullpipe.run_data import RunData

# Colors by purpose: growth is green, steady state grey, probing for bandwidth red, draining blue,
# measuring the empty path black, loss recovery purple.
_COLORS = {
    "startup": "#009E73",
    "slow_start": "#66A61E",
    "css": "#8FD4BD",
    "drain": "#0072B2",
    "probe_bw": "#D9D9D9",
    "congestion_avoidance": "#BDBDBD",
    "probe_bw_cruise": "#E3DCCB",
    "probe_bw_refill": "#E69F00",
    "probe_bw_up": "#D55E00",
    "probe_bw_down": "#56B4E9",
    "probe_rtt": "#000000",
    "slowdown": "#4D4D4D",
    "ramp": "#B8860B",
    "recovery": "#CC79A7",
    # Limits of a flow: the window green, pacing orange, the other side blue, the application grey.
    "cwnd": "#009E73",
    "pacing": "#E69F00",
    "receive_window": "#0072B2",
    "send_buffer": "#56B4E9",
    "application": "#D9D9D9",
    "host": "#8C6D31",
    "handshake": "#000000",
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


def colors(states: Sequence[str]) -> dict[str, str]:
    """Returns a color for each state: first the states with a fixed color, in the order of `_COLORS`."""
    known = {state: color for state, color in _COLORS.items() if state in states}
    new = [state for state in states if state not in known]
    return known | {state: _OTHERS[number % len(_OTHERS)] for number, state in enumerate(new)}
