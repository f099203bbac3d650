"""Measures of the drift of BBR's rate, from a trace; like metrics, they exclude time before `measure_from`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.study.reproduce.measures.run_view import share

if TYPE_CHECKING:
    import polars as pl

    from fullpipe.study.reproduce.measures.run_view import RunView

_A_DROP = 0.9
_ON_DELAY = ("delay rose", "a queue has built up")


def pacing_variation(run: RunView, flow: int) -> float:
    """Coefficient of variation of the flow's pacing rate, over the rows of the trace."""
    rates = _rows(run, flow)["pacing_rate"].drop_nulls().to_numpy().astype("float64")
    return float(rates.std(ddof=1) / rates.mean()) if len(rates) > 1 else float("nan")


def pacing_rtt_correlation(run: RunView, flow: int) -> float:
    """Pearson correlation of the flow's pacing rate and its latest RTT, over the rows of the trace."""
    import polars as pl

    both = _rows(run, flow).select("pacing_rate", "rtt").drop_nulls().cast(pl.Float64)
    return float(both.select(pl.corr("pacing_rate", "rtt")).item())


def cruise_drops_per_s(run: RunView, flow: int) -> float:
    """Drops of the pacing rate by more than 10 % from row to row in ProbeBW_CRUISE without loss, per second."""
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
    """Entries of the flow into ProbeBW_UP, per second."""
    import polars as pl

    return float(len(_changes(run, flow).filter(pl.col("to") == "probe_bw_up"))) / _length(
        _rows(run, flow)
    )


@share
def up_ends_on_delay(run: RunView, flow: int) -> float:
    """Share of ProbeBW_UP phases that end because delay rose or a queue built up, 0 to 1. NaN if no phase ends."""
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
