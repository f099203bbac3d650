"""Statistics of flows: sizes, arrivals, load, pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from fullpipe.wings.fleet.workload.flows import FlowsError, about, read

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
_BINS = 300


class Described(NamedTuple):
    """Statistics of flows with payload. Times are in seconds, sizes in bytes."""

    name: str
    flows: pl.DataFrame
    begun: Values
    """Start of each flow, relative to the first flow's start."""
    sizes: Values
    """Sizes of the flows, sorted."""
    gaps: Values
    """Times between consecutive starts of flows."""
    pauses: Values
    """Pauses within flows, from a chunk's last payload to the next chunk's first."""
    lasted: Values
    """Time from each flow's first payload to its last."""
    span_s: float
    """Time from the first start to the last payload."""
    edges: Values
    """Edges of the time bins."""
    load: Values
    """Bits per second in each bin."""
    starts: Values
    """Flow arrivals per second in each bin."""
    about: dict[str, Any]


def describe(file: Path) -> Described:
    """Describes a file of flows.

    Raises:
        FlowsError: When no flow carries payload.
        OSError: When the file can't be read.
    """
    flows = read(file)
    if not flows.height:
        raise FlowsError(
            f"{file}: no flow carries payload\n  fix: name a file with flows that carry payload"
        )
    begun = _seconds(flows["start"] - flows["start"][0])
    at, lasted, volumes, of = _chunks(flows)
    pauses = at[1:] - (at + lasted)[:-1]
    span = max(float((begun[of] + at + lasted).max()), 1e-9)
    edges = np.linspace(0, span, _BINS + 1)
    width = span / _BINS
    load = _spread(begun[of] + at, lasted, volumes * 8, edges) / width
    starts = np.histogram(begun, edges)[0] / width
    ends = np.append(of[1:] != of[:-1], True)
    return Described(
        name=str(file),
        flows=flows,
        begun=begun,
        sizes=np.sort(flows["bytes"].to_numpy().astype(np.float64)),
        gaps=np.diff(begun),
        pauses=pauses[of[1:] == of[:-1]],
        lasted=(at + lasted)[ends],
        span_s=span,
        edges=edges,
        load=load,
        starts=starts,
        about=about(file),
    )


def quantile(values: Values, share: float) -> float:
    """Returns the smallest value that is at least as large as a given share of all values."""
    return float(np.quantile(values, share, method="inverted_cdf"))


def by_bytes(sizes: Values, share: float) -> float:
    """Returns a quantile of flow sizes weighted by bytes: that share of all bytes is in flows up to it."""
    summed = np.cumsum(sizes)
    return float(sizes[min(np.searchsorted(summed, share * summed[-1]), len(sizes) - 1)])


def decades(sizes: Values) -> list[tuple[float, float, int, float]]:
    """Returns (from, to, flows, bytes) for each power of ten from the smallest to the largest flow."""
    low, high = (int(np.floor(np.log10(size))) for size in (sizes[0], sizes[-1]))
    rows = []
    for power in range(low, high + 1):
        within = sizes[(sizes >= 10.0**power) & (sizes < 10.0 ** (power + 1))]
        rows.append((10.0**power, 10.0 ** (power + 1), len(within), float(within.sum())))
    return rows


def _chunks(flows: pl.DataFrame) -> tuple[Values, Values, Values, NDArray[np.int64]]:
    """Returns each chunk's start within its flow, duration, bytes, and the row of its flow."""
    none = np.zeros(flows.height)
    whole = flows["bytes"].to_numpy().astype(np.float64)
    if "chunks" not in flows.columns:
        return none, none, whole, np.arange(flows.height)
    rows = (
        flows.select(pl.int_range(pl.len()).alias("row"), "chunks")
        .explode("chunks")
        .unnest("chunks")
    )
    of = rows["row"].to_numpy()
    # A flow without chunks counts as one chunk.
    volumes = rows["bytes"].cast(pl.Float64).fill_null(pl.Series(whole[of])).to_numpy()
    lasted = rows["lasted"] if "lasted" in rows.columns else rows["at"] * 0
    at, lasted = (values.fill_null(pl.duration()) for values in (rows["at"], lasted))
    return _seconds(at), _seconds(lasted), volumes, of


def _seconds(durations: pl.Series) -> Values:
    return durations.dt.total_nanoseconds().to_numpy().astype(np.float64) / 1e9


def _spread(at: Values, lasted: Values, volumes: Values, edges: Values) -> Values:
    """Returns the volume in each bin, with each chunk spread evenly over its duration."""
    width = edges[1] - edges[0]
    last = len(edges) - 2
    first_bin = np.clip((at / width).astype(np.int64), 0, last)
    last_bin = np.clip(((at + lasted) / width).astype(np.int64), first_bin, last)
    short = first_bin == last_bin
    found = np.bincount(first_bin[short], volumes[short], len(edges) - 1).astype(np.float64)
    for start, length, volume, first, end in zip(
        at[~short],
        lasted[~short],
        volumes[~short],
        first_bin[~short],
        last_bin[~short],
        strict=True,
    ):
        inner = np.clip(
            np.minimum(edges[first + 1 : end + 2], start + length)
            - np.maximum(edges[first : end + 1], start),
            0,
            None,
        )
        found[first : end + 1] += volume * inner / length
    return found
