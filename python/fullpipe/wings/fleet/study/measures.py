"""Measures of claims on a fleet: of one arm's connections, or of two or three arms on the same paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fullpipe.wings.fleet import store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Arm = Mapping[str, Values]
    """Columns of an arm's connections; all arms have the paths in the same order."""

_COLUMNS = {
    "path": pl.col("pair").cast(pl.Float64),
    "sent": pl.col("bytes_sent").cast(pl.Float64),
    "again": pl.col("bytes_retrans").cast(pl.Float64),
    "loss": pl.col("loss"),
    "throughput": pl.col("throughput_bps") / 1e6,
    "bandwidth": pl.col("bandwidth_bps") / 1e6,
    "inflight": pl.col("unacked_packets_mean"),
    "rtt": 1e3 * pl.col("rtt_s_mean"),
    "min_rtt": 1e3 * pl.col("min_rtt_s"),
    "window_limited": pl.col("rwnd_limited"),
    "reordered": (pl.col("reord_seen") > 0).cast(pl.Float64),
}
_OUTLIER = 0.6
_BINS = 10
"""Number of bins of RTTs, each with the same number of paths."""
_FEW = 20


def arms(directory: Path, least_bytes: int) -> dict[str, Arm]:
    """Returns each arm's connections of at least `least_bytes`, on paths where all arms have one."""
    requests = store.scan(directory, "requests").select("arm", "pair", "throughput_bps")
    frame = (
        store.scan(directory, "connections")
        .filter(pl.col("transferred_bytes") >= least_bytes)
        .join(requests, on=("arm", "pair"))
        .select("arm", "pair", **_COLUMNS)
        .collect(engine="streaming")
    )
    count = frame["arm"].n_unique()
    shared = frame.filter(pl.len().over("pair") == count).sort("arm", "pair")
    return {
        str(name): {column: rows[column].to_numpy() for column in _COLUMNS}
        for (name,), rows in shared.partition_by("arm", as_dict=True).items()
    }


def first(connections: Mapping[str, Arm], paths: int) -> dict[str, Arm]:
    """Returns the connections on the first `paths` paths."""
    return {
        name: {column: values[arm["path"] < paths] for column, values in arm.items()}
        for name, arm in connections.items()
    }


def retransmitted(arm: Arm) -> float:
    """Returns the percentage of retransmitted bytes over all connections together: RetransSegs %."""
    return 100 * _share(arm)


def mean_loss(arm: Arm) -> float:
    """Returns the mean loss per connection, in percent."""
    return 100 * float(np.mean(arm["loss"]))


def lossy(arm: Arm) -> float:
    """Returns the percentage of connections that lost more than 60 %."""
    return 100 * float(np.mean(arm["loss"] > _OUTLIER))


def reordered(arm: Arm) -> float:
    """Returns the percentage of connections with reordering."""
    return 100 * float(np.mean(arm["reordered"]))


def window_limited(arm: Arm) -> float:
    """Returns the mean share of busy time limited by the receive window, in percent."""
    return 100 * float(np.mean(arm["window_limited"]))


def _quantile(column: str, at: float) -> Callable[[Arm], float]:
    def of(arm: Arm) -> float:
        return float(np.quantile(arm[column], at))

    return of


def rank_correlation(arm: Arm) -> float:
    """Returns Spearman's rank correlation of a connection's mean RTT and mean packets in flight."""
    from scipy.stats import rankdata

    rtt, inflight = (rankdata(arm[name]) for name in ("rtt", "inflight"))
    return float(np.corrcoef(rtt, inflight)[0, 1])


def envelope(arm: Arm) -> float:
    """Returns the log-log slope of the 99th percentile of bandwidth over minimum RTT, above 30 ms."""
    chosen = (arm["min_rtt"] > 30) & (arm["bandwidth"] > 0)
    rtt, bandwidth = arm["min_rtt"][chosen], arm["bandwidth"][chosen]
    order = np.argsort(rtt)
    parts = [part for part in np.array_split(order, 2 * _BINS) if len(part) >= _FEW]
    if len(parts) < 3:
        return float("nan")
    x = np.log([np.median(rtt[part]) for part in parts])
    y = np.log([np.quantile(bandwidth[part], 0.99) for part in parts])
    return float(np.polyfit(x, y, 1)[0])


OF_ONE: dict[str, Callable[[Arm], float]] = {
    "retransmitted": retransmitted,
    "mean_loss": mean_loss,
    "lossy": lossy,
    "reordered": reordered,
    "window_limited": window_limited,
    "rank_correlation": rank_correlation,
    "envelope": envelope,
    "throughput_p25": _quantile("throughput", 0.25),
    "throughput_p50": _quantile("throughput", 0.5),
    "throughput_p75": _quantile("throughput", 0.75),
    "throughput_p90": _quantile("throughput", 0.9),
    "bandwidth_p50": _quantile("bandwidth", 0.5),
    "inflight_p50": _quantile("inflight", 0.5),
    "rtt_p50": _quantile("rtt", 0.5),
}
"""Measures of one arm."""


def lower_loss(one: Arm, other: Arm) -> float:
    """Returns the percentage of ten equally filled bins of RTT in which the first arm loses less."""
    order = np.argsort(one["min_rtt"])
    parts = np.array_split(order, _BINS)
    less = [_share(one, part) < _share(other, part) for part in parts]
    return 100 * float(np.mean(less))


def ratio(one: float, other: float) -> float:
    """Returns the ratio of the first number to the second."""
    return one / other if other else float("nan")


def difference(one: float, other: float) -> float:
    """Returns the first number minus the second."""
    return one - other


def _share(arm: Arm, rows: NDArray[np.intp] | slice = slice(None)) -> float:
    return float(arm["again"][rows].sum() / arm["sent"][rows].sum())


def closeness(middle: float, one: float, other: float) -> float:
    """Returns the distance of the first from the second, relative to its distance from the third.

    Below 1 the first is closer to the second.
    """
    return abs(middle - one) / abs(middle - other) if middle != other else float("inf")


OF_MORE: dict[str, tuple[int, Callable[..., float]]] = {
    "ratio": (2, ratio),
    "difference": (2, difference),
    "closeness": (3, closeness),
}
"""Comparisons of several arms' numbers, each with the number of arms."""
