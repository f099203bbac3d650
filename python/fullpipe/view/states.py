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

# One color for what states have in common: growing green, steady grey, probing for more red,
# draining blue, a look at the empty path black, repair purple.
_COLORS = {
    "startup": "#009E73",
    "slow_start": "#009E73",
    "css": "#8FD4BD",
    "drain": "#0072B2",
    "probe_bw": "#D9D9D9",
    "congestion_avoidance": "#D9D9D9",
    "probe_bw_cruise": "#D9D9D9",
    "probe_bw_refill": "#E69F00",
    "probe_bw_up": "#D55E00",
    "probe_bw_down": "#56B4E9",
    "probe_rtt": "#000000",
    "slowdown": "#000000",
    "ramp": "#E69F00",
    "recovery": "#CC79A7",
}
# Letters of names that fit beside the title, handles and gaps apart.
_LEGEND_LINE = 110
_OTHERS = ("#8C6D31", "#7B4173", "#637939", "#843C39", "#3182BD", "#969696")


def stays(run: RunData, until: float) -> pl.DataFrame:
    """How long each flow was in which state, and the algorithm of its receiver, if it has one.

    Returns:
        A row a stay: `flow`, `state`, and `since` and `till` in seconds from the start of the run,
        `till` at most `until`; flows in the run's order, none that never changed its state. A
        receiver's stays are those of "<flow>'s receiver", as exact as the trace has rows.
    """
    changes = run.trace("transitions").filter(pl.col("time") <= until)
    words = pl.col("from", "to").cast(pl.String)
    rows = []
    for flow in run.flows:
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
    """States from their beginnings to the next."""
    return (
        pl.DataFrame({"flow": [whose] * len(states), "state": states, "since": since})
        .with_columns(till=pl.col("since").shift(-1, fill_value=until))
        .filter(pl.col("till") > pl.col("since"))
    )


def _receivers(seen: pl.DataFrame) -> list[str]:
    """The columns of a flow's rows that have the state of an algorithm in its receiver."""
    columns = (
        f"{each['name']}.state" for each in _core.algorithms() if each["recovery"] == "sender"
    )
    return [
        column
        for column in columns
        if column in seen.columns and seen[column].null_count() < seen.height
    ]


def draw(panel: Axes, rows: pl.DataFrame) -> None:
    """Draws :func:`stays`: a line a flow, a color a state, with a legend of the states."""
    flows = rows["flow"].unique(maintain_order=True).to_list()
    colors = _colors(rows["state"].unique(maintain_order=True).to_list())
    for (flow, state), each in rows.group_by("flow", "state", maintain_order=True):
        bars = each.select("since", pl.col("till") - pl.col("since")).rows()
        line = len(flows) - 1 - flows.index(flow)
        panel.broken_barh(bars, (line + 0.1, 0.8), color=colors[str(state)], linewidth=0)
    panel.set_ylim(0, len(flows))
    panel.set_yticks(np.arange(len(flows)) + 0.5, reversed(flows), fontsize="small")
    panel.tick_params(axis="y", length=0)
    panel.legend(
        handles=[Patch(color=color, label=state) for state, color in colors.items()],
        loc="lower right",
        bbox_to_anchor=(1.0, 0.96),
        ncols=-(-len(colors) // (1 if sum(map(len, colors)) <= _LEGEND_LINE else 2)),
        fontsize="x-small",
        frameon=False,
        handlelength=1.0,
        columnspacing=1.0,
        borderaxespad=0.0,
    )


def _colors(states: Sequence[str]) -> dict[str, str]:
    """A color a state: those with a meaning of its own first, in the order above."""
    known = {state: color for state, color in _COLORS.items() if state in states}
    new = [state for state in states if state not in known]
    return known | {state: _OTHERS[number % len(_OTHERS)] for number, state in enumerate(new)}
