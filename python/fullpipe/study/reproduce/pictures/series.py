"""Draws a run together with a source's time series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.figure import Figure

from fullpipe.results import plain_path
from fullpipe.runs.view import states

if TYPE_CHECKING:
    from fullpipe.study.reproduce.claims import Samples
    from fullpipe.study.reproduce.pictures import Picture
    from fullpipe.study.reproduce.runner import Again

_THEIRS, _OURS = "#000000", "#D55E00"
_SECONDS = 16.0
_PACKET = 1448
# The kernel's phases, and fullpipe's names of them.
_STATES = {
    "STARTUP": "startup",
    "DRAIN": "drain",
    "DOWN": "probe_bw_down",
    "CRUISE": "probe_bw_cruise",
    "REFILL": "probe_bw_refill",
    "UP": "probe_bw_up",
    "PROBE_RTT": "probe_rtt",
}


def over_series(picture: Picture, _samples: Samples, again: Again) -> Figure:
    """Draws RTT, data in flight and states of the first seconds: the source's, and ours with seed 1.

    States are drawn only if the source has them.

    The source's file is CSV with the columns `t_s`, `rtt_ms`, `inflight_pkts` and `phase`.
    """
    assert picture.series is not None  # checked by read_pictures
    theirs = pl.read_csv(plain_path(picture.series), infer_schema_length=None, glob=False).filter(
        pl.col("t_s") <= _SECONDS
    )
    run = picture.points[0].setup.run(1, "20ms", again.runner)
    ours = run.trace().filter(pl.col("time") <= _SECONDS)
    phases = theirs.filter(pl.col("phase").is_in(_STATES))
    figure = Figure(figsize=(10, 5.4 if len(phases) else 4.9), dpi=110, layout="constrained")
    heights = [1.0, 1.0, 0.22] if len(phases) else [1.0, 1.0]
    axes = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    for panel, title, unit, their_column, our_values in (
        (axes[0], "round-trip time", "ms", "rtt_ms", ours["rtt"] * 1e3),
        (axes[1], "in flight", "packets", "inflight_pkts", ours["inflight"] / _PACKET),
    ):
        panel.plot(
            theirs["t_s"], theirs[their_column], color=_THEIRS, linewidth=1.4, label="kernel"
        )
        panel.plot(ours["time"], our_values, color=_OURS, linewidth=1.0, label="fullpipe, seed 1")
        panel.set_title(title, loc="left", fontsize="medium")
        panel.set_ylabel(unit)
        panel.set_ylim(bottom=0)
        panel.grid(color="#dddddd", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    if len(phases):
        band = axes[2]
        mine = states.stays(run, _SECONDS).filter(pl.col("flow") == run.flow_metrics[0]["name"])
        states.draw(band, pl.concat([_stays(phases), mine.with_columns(flow=pl.lit("fullpipe"))]))
        band.set_title("state", loc="left", fontsize="medium")
        band.spines[:].set_visible(False)
    axes[0].set_xlim(0, _SECONDS)
    axes[-1].set_xlabel("time, s")
    axes[0].legend(loc="upper right", frameon=False, ncols=2)
    return figure


def _stays(phases: pl.DataFrame) -> pl.DataFrame:
    """Returns the source's phases in the form of :func:`fullpipe.runs.view.states.stays`."""
    begins = phases.filter((pl.col("phase") != pl.col("phase").shift()).fill_null(value=True))
    return begins.select(
        flow=pl.lit("kernel"),
        state=pl.col("phase").replace_strict(_STATES),
        since=pl.col("t_s"),
        till=pl.col("t_s").shift(-1, fill_value=_SECONDS),
    )
