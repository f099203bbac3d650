"""Measures of how a BBR's rate wanders, from a trace; like the metrics without what is before `measure_from`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from fullpipe.reproduce.measures.run_view import RunView

_A_DROP = 0.9
_ON_DELAY = ("delay rose", "a queue has built up")


def pacing_variation(run: RunView, flow: int) -> float:
    """The standard deviation of the flow's pacing rate over its mean, each row of the trace alike."""
    rates = _rows(run, flow)["pacing_rate"].drop_nulls().to_numpy().astype("float64")
    return float(rates.std(ddof=1) / rates.mean()) if len(rates) > 1 else float("nan")


def pacing_rtt_correlation(run: RunView, flow: int) -> float:
    """Pearson's correlation of the flow's pacing rate and its latest RTT, over the rows of the trace."""
    import polars as pl

    both = _rows(run, flow).select("pacing_rate", "rtt").drop_nulls().cast(pl.Float64)
    return float(both.select(pl.corr("pacing_rate", "rtt")).item())


def cruise_drops_per_s(run: RunView, flow: int) -> float:
    """How often a second the pacing rate falls by more than a tenth from row to row in ProbeBW_CRUISE, with no loss."""
    import polars as pl

    rows = _rows(run, flow)
    state = f"{run.metrics['flows'][flow]['cc']}.state"
    cruising = pl.col(state).cast(pl.String) == "probe_bw_cruise"
    drops = rows.select(
        cruising
        & cruising.shift(1)
        & (pl.col("lost") == pl.col("lost").shift(1))
        & (pl.col("pacing_rate") < _A_DROP * pl.col("pacing_rate").shift(1))
    ).sum()
    return float(drops.item()) / _length(rows)


def probes_per_s(run: RunView, flow: int) -> float:
    """How often a second the flow enters ProbeBW_UP."""
    import polars as pl

    return float(len(_changes(run, flow).filter(pl.col("to") == "probe_bw_up"))) / _length(
        _rows(run, flow)
    )


def up_ends_on_delay(run: RunView, flow: int) -> float:
    """The share of ProbeBW_UPs that end since delay rose or a queue built up, 0 to 1. NaN when none ends."""
    import polars as pl

    ends = _changes(run, flow).filter(pl.col("from") == "probe_bw_up")["reason"].cast(pl.String)
    return float(ends.is_in(_ON_DELAY).sum()) / len(ends) if len(ends) else float("nan")


def _rows(run: RunView, flow: int) -> pl.DataFrame:
    return _of_flow(run, "flows", flow)


def _changes(run: RunView, flow: int) -> pl.DataFrame:
    return _of_flow(run, "transitions", flow)


def _of_flow(run: RunView, table: str, flow: int) -> pl.DataFrame:
    import polars as pl

    name, since = run.metrics["flows"][flow]["name"], run.metrics["measure_from_s"]
    return run.trace(table).filter(pl.col("flow").cast(pl.String) == name, pl.col("time") >= since)


def _length(rows: pl.DataFrame) -> float:
    return float(rows["time"][-1] - rows["time"][0])


MEASURES = (
    pacing_variation,
    pacing_rtt_correlation,
    cruise_drops_per_s,
    probes_per_s,
    up_ends_on_delay,
)
