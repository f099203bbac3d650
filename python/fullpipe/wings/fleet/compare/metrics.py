"""Measures, each counted once, and the metrics made from them, each declared once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from fullpipe.stats import Quantity
from fullpipe.stats.sketch import Buckets

if TYPE_CHECKING:
    from collections.abc import Iterable

OUTLIER = 0.6
"""A connection with a larger loss is an outlier; Dropbox calls such losses "absurdly large"."""

_SECONDS = Buckets(1e-6, 9)
_RATES = Buckets(1e2, 10)
_SHARES = Buckets(1e-6, 6)
_PACKETS = Buckets(1.0, 5)


@dataclass(frozen=True, eq=False)  # compared by identity: names are unique
class Measure:
    """A quantity counted in each cell: values in buckets, or two sums.

    Attributes:
        name: Name of its column during counting.
        table: Name of its table.
        value: Value that goes into buckets, or is summed.
        buckets: Buckets; None for a sum.
        weight: Weight whose sum divides the sum of values; null where `value` is left out.
    """

    name: str
    table: str
    value: pl.Expr
    buckets: Buckets | None = None
    weight: pl.Expr | None = None


@dataclass(frozen=True, eq=False)  # compared by identity: names are unique
class Metric:
    """A number computed for each arm.

    Attributes:
        quantity: Name, unit, and whether more of it is better. Its `column` is the key in JSON.
        measure: Measure that it is computed from.
        quantile: Quantile to compute from a measure in buckets.
        means: Precise definition.
    """

    quantity: Quantity
    measure: Measure
    means: str
    quantile: float = 0.5


_inflight = pl.coalesce(
    pl.col("unacked_packets_mean"), pl.when(pl.col("unacked_packets") > 0).then("unacked_packets")
)
_rtt = pl.coalesce("rtt_s_mean", "rtt_s")
_sent = pl.coalesce(pl.col("bytes_sent"), pl.col("data_segs_out") * pl.col("mss_bytes"))
_no_outlier = pl.when(pl.col("loss") <= OUTLIER)
# Linux begins with 3, and raises the value to the reordering that it observes.
_reordered = pl.coalesce(pl.col("reord_seen") > 0, pl.col("reordering_packets") > 3)

LOSS_BYTES = Measure(
    "loss_bytes",
    "connections",
    pl.col("loss") * _sent,
    weight=pl.when(pl.col("loss").is_not_null()).then(_sent),
)
LOSS = Measure("loss", "connections", pl.col("loss"), _SHARES)
LOSS_MEAN = Measure(
    "loss_mean", "connections", _no_outlier.then("loss"), weight=_no_outlier.then(1)
)
OUTLIERS = Measure(
    "outliers",
    "connections",
    pl.col("loss") > OUTLIER,
    weight=pl.when(pl.col("loss").is_not_null()).then(1),
)
BUSY_RATE = Measure("busy_rate", "connections", pl.col("busy_rate_bps"), _RATES)
BANDWIDTH = Measure("bandwidth", "connections", pl.col("bandwidth_bps"), _RATES)
INFLIGHT = Measure("inflight", "connections", _inflight, _PACKETS)
RTT = Measure("rtt", "connections", _rtt, _SECONDS)
MIN_RTT = Measure("min_rtt", "connections", pl.col("min_rtt_s"), _SECONDS)
RWND = Measure("rwnd", "connections", pl.col("rwnd_limited"), _SHARES)
RWND_TIME = Measure(
    "rwnd_time",
    "connections",
    pl.col("rwnd_limited") * pl.col("busy_s"),
    weight=pl.when(pl.col("rwnd_limited").is_not_null()).then("busy_s"),
)
REORDERING = Measure("reordering", "connections", pl.col("reordering_packets"), _PACKETS)
REORDERED = Measure(
    "reordered", "connections", _reordered, weight=pl.when(_reordered.is_not_null()).then(1)
)
THROUGHPUT = Measure("throughput", "requests", pl.col("throughput_bps"), _RATES)
RETRANS = Measure("retrans", "counters", pl.col("retrans_segs"), weight=pl.col("out_segs"))
CPU = Measure("cpu", "counters", pl.col("cpu_s") - pl.col("cpu_idle_s"), weight=pl.col("cpu_s"))


def _of(
    column: str,
    words: str,
    unit: str,
    better: int,
    measure: Measure,
    means: str,
    quantile: float = 0.5,
) -> Metric:
    scale = {"%": 100.0, "Mbit/s": 1e-6, "ms": 1e3}.get(unit, 1.0)
    return Metric(Quantity(column, words, unit, scale, better), measure, means, quantile)


def _quantiles(column: str, words: str, measure: Measure, means: str) -> Iterable[Metric]:
    for quantile in (0.25, 0.5, 0.75, 0.9):
        which = f"p{quantile * 100:.0f}"
        yield _of(f"{column}.{which}", f"{which} {words}", "Mbit/s", 1, measure, means, quantile)


METRICS = (
    _of(
        "retrans",
        "RetransSegs",
        "%",
        -1,
        RETRANS,
        "Σ RetransSegs / Σ OutSegs of all hosts' /proc/net/snmp",
    ),
    _of(
        "loss",
        "loss over all bytes",
        "%",
        -1,
        LOSS_BYTES,
        "Σ retransmitted / Σ sent payload of all connections",
    ),
    _of(
        "loss.mean",
        "loss per connection",
        "%",
        -1,
        LOSS_MEAN,
        f"mean of the connections' loss, without connections above {OUTLIER:.0%}",
    ),
    _of(
        "outliers",
        f"connections that lost > {OUTLIER:.0%}",
        "%",
        -1,
        OUTLIERS,
        "share of all connections",
    ),
    *_quantiles(
        "throughput", "throughput (nginx)", THROUGHPUT, "per request: 8 × bytes / request time"
    ),
    *_quantiles(
        "busy_rate",
        "rate while busy",
        BUSY_RATE,
        "per connection: 8 × bytes acknowledged / busy time",
    ),
    _of(
        "bandwidth",
        "median bandwidth",
        "Mbit/s",
        1,
        BANDWIDTH,
        "per connection: BBR's estimate, else delivery rate",
    ),
    _of(
        "inflight",
        "median in flight",
        "packets",
        0,
        INFLIGHT,
        "per connection: mean unacked over samples with data in flight",
    ),
    _of(
        "rtt",
        "median RTT",
        "ms",
        -1,
        RTT,
        "per connection: mean smoothed RTT over samples with data in flight",
    ),
    _of(
        "rtt.p90",
        "p90 RTT",
        "ms",
        -1,
        RTT,
        "per connection: mean smoothed RTT, as for the median RTT",
        0.9,
    ),
    _of(
        "rwnd_limited",
        "receive-window limited time",
        "%",
        0,
        RWND_TIME,
        "Σ time limited by the receive window / Σ busy time",
    ),
    _of(
        "reordered",
        "connections with reordering",
        "%",
        -1,
        REORDERED,
        "share with reord_seen > 0, or without that field reordering > 3",
    ),
    _of("cpu", "CPU busy", "%", -1, CPU, "Σ busy / Σ all processor time of all hosts' /proc/stat"),
)

MAIN = tuple(
    each
    for each in METRICS
    if each.quantity.column in ("loss", "throughput.p50", "busy_rate.p50", "rtt", "inflight")
)
"""The metrics that are computed for each stratum."""

# Computed from a grid of two quantities, not from a measure.
FAIRNESS = _of(
    "rtt_inflight",
    "RTT–in-flight rank correlation",
    "",
    0,
    Measure("rtt_inflight", "connections", pl.lit(None)),
    "Spearman's coefficient over connections: 0 if packets in flight don't depend on RTT",
)

DRAWN = (LOSS, BANDWIDTH, BUSY_RATE, INFLIGHT, RTT, RWND, REORDERING, THROUGHPUT)
"""The measures whose cumulative distribution is shown."""

MEASURES = (
    *tuple({each.measure.name: each.measure for each in METRICS}.values()),
    LOSS,
    MIN_RTT,
    RWND,
    REORDERING,
)


def measures(table: str) -> list[Measure]:
    """Returns the measures of a table."""
    return [each for each in MEASURES if each.table == table]
