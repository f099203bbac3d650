"""Tracks of a recorded run."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fullpipe import _core
from fullpipe.report.model import Column, Source, Span, Stay, Track
from fullpipe.report.panels import packets
from fullpipe.results import read_parquet
from fullpipe.runs.given import declared
from fullpipe.runs.view.path import links_of_acks
from fullpipe.runs.view.plot_links import NOTABLE_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fullpipe.report.model import Panel, Values
    from fullpipe.results.model import Series

MOST_FLOWS = 7
MOST_LINKS = 8
MOST_SPANS = 2000
_RATE = ("Mbit/s", 1e-6)
_TIME = ("ms", 1e3)
_SIZE = ("kB", 1e-3)
_SHOWN = {"bit/s": _RATE, "s": _TIME, "B": _SIZE}
"""Unit and factor for display of each unit of a trace."""

_TITLES = {
    "cwnd": ("Congestion window", "B"),
    "inflight": ("In flight", "B"),
    "bdp": ("BDP", "B"),
    "ssthresh": ("ssthresh", "B"),
    "pacing_rate": ("Pacing rate", "bit/s"),
    "delivery_rate": ("Delivery rate, samples", "bit/s"),
    "rtt": ("RTT", "s"),
    "srtt": ("Smoothed RTT", "s"),
    "min_rtt": ("Minimum RTT", "s"),
    "delivered": ("Delivery rate", "bit/s"),
    "lost": ("Declared lost", "B"),
    "lost_packets": ("Declared lost", "packets"),
    "retransmits": ("Sent again", "packets"),
    "receive_window": ("Advertised window", "B"),
    "rate": ("Rate of the link", "bit/s"),
    "sojourn": ("Queueing delay", "s"),
    "queue_packets": ("Queue", "packets"),
    "drops": ("Drops", "packets"),
    "marks": ("CE marks", "packets"),
    "active": ("Active flows", "flows"),
    "jain": ("Jain's index per second", ""),
    **packets.TITLES,
}
_NOT_TRACKS = {"time", "flow", "link", "workload", "acked", "queue_bytes", "limited_by"}


@cache
def column(name: str) -> Column:
    """Returns title and display unit of a trace's column."""
    if name == "share":
        return Column("Queueing delay by flow", *_TIME)
    if name in _TITLES:
        title, unit = _TITLES[name]
        return Column(title, *_SHOWN.get(unit, (unit, 1.0)))
    algorithm, _, field = name.partition(".")
    for each in _core.algorithms():
        for found in each["fields"] if each["name"] == algorithm else ():
            if found["name"] == field:
                return Column(name, *_SHOWN.get(found["unit"], (found["unit"], 1.0)))
    return Column(name, "", 1.0)


def rows_of(panel: Panel, sources: Sequence[Source]) -> int:
    """Returns the number of lines, or rows of bars, of a panel; 0 if it has only lines to compare others with."""
    if panel.stays:
        return sum(panel.stays in each.stays for each in sources)
    if panel.view == "spans":
        return sum(bool(each.spans) for each in sources)
    found = [
        curve
        for curve in panel.curves
        for each in sources
        if each.kind == curve.of and curve.column in each.tracks
    ]
    return len(found) if any(curve.style != "reference" for curve in found) else 0


def sources(series: Series, algorithms: Mapping[str, str]) -> list[Source]:
    """Reads the flows and links of a recorded run, with all that is known of each.

    Args:
        series: The files of its tables.
        algorithms: The algorithm of each flow.

    Raises:
        OSError: When a table can't be read.
    """
    tables = {name: read_parquet(file) for name, file in series.files.items()}
    flows = tables["flows"]
    # in the scenario's order, since the column is an Enum
    names = [str(name) for name in flows["flow"].unique().sort()][:MOST_FLOWS]
    found = [_flow(name, algorithms.get(name, ""), tables) for name in names]
    point = series.point
    acks = links_of_acks(point.scenario) if point.scenario and not point.measured else set()
    found += _links(tables, acks)
    found += _queues(tables, algorithms)
    found += _workloads(tables)
    return [each for each in found if each.tracks or each.stays or each.spans]


def _flow(name: str, algorithm: str, tables: Mapping[str, pl.DataFrame]) -> Source:
    rows = tables["flows"].filter(pl.col("flow") == name)
    time = _values(rows, "time")
    tracks = {}
    for each in rows.columns:
        if each not in _NOT_TRACKS and rows[each].dtype.is_numeric():
            scaled = _values(rows, each) * column(each).factor * (8 if each == "delivered" else 1)
            if np.isfinite(scaled).any():
                tracks[each] = Track(time, scaled)
    if (of := declared(algorithm)) and not of["ssthresh"]:
        tracks.pop("ssthresh", None)  # A value is that of its last startup.
    tracks |= dict(packets.packet_tracks(name, tables))
    if "min_rtt" in tracks and (capacity := _capacity(tables, time)) is not None:
        tracks["bdp"] = Track(time, _values(rows, "min_rtt") * capacity / 8 * column("bdp").factor)
    stays = {
        "limited_by": _runs(time, rows, "limited_by"),
        "state": _states(name, algorithm, rows, tables),
    }
    for each in rows.columns:
        if (
            each.endswith(".state")
            and each.partition(".")[0] != algorithm
            and (own := _runs(time, rows, each))
        ):
            stays[each] = own
    known = {each: found for each, found in stays.items() if found}
    return Source(name, "flow", algorithm, tracks, known, _spans(name, tables))


def _capacity(tables: Mapping[str, pl.DataFrame], time: Values) -> Values | None:
    """Returns the rate of the first link at some times, in bit/s; None if it is unknown."""
    links = tables.get("links")
    if links is None or links.is_empty() or "rate" not in links.columns:
        return None
    first = links.filter(pl.col("link") == links["link"].unique().sort()[0])
    rates = _values(first, "rate")
    return np.interp(time, _values(first, "time"), rates) if np.isfinite(rates).all() else None


def _states(
    name: str, algorithm: str, rows: pl.DataFrame, tables: Mapping[str, pl.DataFrame]
) -> list[Stay]:
    """Returns the stays in each state, at their exact times."""
    if "transitions" not in tables or rows.is_empty():
        return []
    changes = tables["transitions"].filter(pl.col("flow") == name)
    words = states_in_order(algorithm, rows, changes)
    if not words:
        return []
    begin, end = float(rows["time"][0]), float(rows["time"][-1])
    times = [begin, *changes["time"], end]
    stays = [Stay(*each) for each in zip(words, times[:-1], times[1:], strict=True)]
    return [each for each in stays if each.till > each.since]


def states_in_order(algorithm: str, rows: pl.DataFrame, changes: pl.DataFrame) -> list[str]:
    """Returns the states of a flow, the first one included; empty if its algorithm has none.

    Args:
        algorithm: The flow's algorithm.
        rows: The flow's rows of the trace.
        changes: Its changes of state. A flow that stayed in one state has none, and its rows have the state.
    """
    if not changes.is_empty():
        return [str(changes["from"][0]), *map(str, changes["to"])]
    state = f"{algorithm}.state"
    known = rows[state].drop_nulls().to_list() if state in rows.columns else []
    return [str(known[0])] if known else []


def _runs(time: Values, rows: pl.DataFrame, name: str) -> list[Stay]:
    """Returns the stays in each word of a column, at the times of its samples."""
    if name not in rows.columns or rows[name].null_count() == rows.height:
        return []
    words = rows[name].cast(pl.String)
    begins = np.flatnonzero(words.ne_missing(words.shift()).fill_null(value=True).to_numpy())
    ends = [*time[begins[1:]], time[-1]]
    return [
        Stay(word, float(time[begin]), float(end))
        for begin, end in zip(begins, ends, strict=True)
        if (word := words[int(begin)]) is not None
    ]


def _links(tables: Mapping[str, pl.DataFrame], of_acks: set[str]) -> Iterator[Source]:
    """Yields the links.

    The rates of those that only ACKs cross would be taken for limits of the flows. Where ACKs do not wait either,
    such a link is left out.
    """
    if "links" not in tables:
        return
    links = tables["links"]
    left = links_left(links, of_acks)
    for name in links["link"].unique().sort():
        if name in left:
            continue
        rows = links.filter(pl.col("link") == name)
        time = _values(rows, "time")
        tracks = {
            each: Track(time, _values(rows, each) * column(each).factor)
            for each in links.columns
            if each not in _NOT_TRACKS
            and not (each == "rate" and name in of_acks)
            and np.isfinite(_values(rows, each)).any()
        }
        yield Source(str(name), "link", "", tracks)


def links_left(links: pl.DataFrame, of_acks: set[str]) -> dict[str, str]:
    """Maps each link that is not drawn to the reason: there are too many, or ACKs do not wait there."""
    names = [str(name) for name in links["link"].unique().sort()]
    idle = [
        name
        for name in names
        if name in of_acks and not _is_notable(links.filter(pl.col("link") == name))
    ]
    busy = [name for name in names if name not in idle]
    return dict.fromkeys(idle, "ACKs do not wait there") | dict.fromkeys(busy[MOST_LINKS:], "")


def _is_notable(rows: pl.DataFrame) -> bool:
    """Returns whether packets wait, or are lost, at a link."""
    waits, lost = rows["sojourn"].mean(), rows["drops"].max()
    return (isinstance(waits, float) and waits >= NOTABLE_S) or bool(lost)


def longest_queue(links: pl.DataFrame) -> str:
    """Returns the link with the longest queueing delay on average, from the columns `link` and `sojourn`."""
    means = links.group_by("link", maintain_order=True).agg(pl.col("sojourn").mean())
    return str(means.sort("sojourn", descending=True, maintain_order=True)["link"][0])


def _queues(tables: Mapping[str, pl.DataFrame], algorithms: Mapping[str, str]) -> Iterator[Source]:
    """Yields the part of each flow and workload in the longest queue, in time to send it.

    The largest parts have sources of their own, the others one together, so that the sum is the whole queue.
    """
    if "queues" not in tables or "links" not in tables or tables["queues"].is_empty():
        return
    links = tables["links"]
    link = longest_queue(links)
    queues = tables["queues"].filter(pl.col("link") == link)
    sums = queues.group_by("flow").agg(pl.col("queue_bytes").cast(pl.Float64).sum())
    largest = sums.filter(pl.col("queue_bytes") > 0).sort("queue_bytes", descending=True)["flow"]
    alone = largest[: MOST_FLOWS if len(largest) <= MOST_FLOWS else MOST_FLOWS - 1]
    whole = links.filter(pl.col("link") == link)
    time, delay = _values(whole, "time"), _delay_of_a_byte(whole)
    for name in alone.sort():  # in the scenario's order, since the column is an Enum
        delays = _bytes_at(whole, queues.filter(pl.col("flow") == name)) * delay
        yield Source(
            str(name), "queue", algorithms.get(str(name), ""), {"share": Track(time, delays)}
        )
    if others := len(largest) - len(alone):
        rest = queues.filter(~pl.col("flow").is_in(alone.to_list()))
        rest = rest.group_by("time").agg(pl.col("queue_bytes").sum())
        delays = _bytes_at(whole, rest) * delay
        yield Source(f"{others} others", "queue", "", {"share": Track(time, delays)})


def _bytes_at(samples: pl.DataFrame, rows: pl.DataFrame) -> Values:
    """Returns `queue_bytes` of some rows at the times of all samples; 0 where there is no row."""
    found = samples.select("time").join(
        rows.select("time", "queue_bytes"), on="time", how="left", maintain_order="left"
    )
    return _values(found.fill_null(0), "queue_bytes")


def _delay_of_a_byte(rows: pl.DataFrame) -> Values:
    """Returns the time that a byte in the queue takes in each row of a link, in ms.

    At a constant rate it follows from that rate: the sojourn of an AQM is that of one packet, whose flow may have a
    short queue of its own. At a rate that varies it is a part of the sojourn, which counts the rates to come.
    """
    rates = _values(rows, "rate") if "rate" in rows.columns else np.array([np.nan])
    if rates[0] > 0 and (rates == rates[0]).all():
        seconds: Values = np.full(rows.height, 8 / rates[0])
    else:
        size = _values(rows, "queue_bytes")
        seconds = _values(rows, "sojourn") / np.where(size > 0, size, np.inf)
    return np.nan_to_num(seconds) * column("share").factor


def _workloads(tables: Mapping[str, pl.DataFrame]) -> Iterator[Source]:
    if "workloads" not in tables:
        return
    for (name,), rows in tables["workloads"].group_by("workload", maintain_order=True):
        active = Track(_values(rows, "time"), _values(rows, "active"))
        yield Source(str(name), "workload", "", {"active": active})


def _spans(name: str, tables: Mapping[str, pl.DataFrame]) -> list[Span]:
    """Returns the flow's answers from request to last byte."""
    if "responses" not in tables:
        return []
    rows = tables["responses"].filter(pl.col("flow") == name).head(MOST_SPANS)
    return [
        Span(float(row["start"]), float(row["end"]), f"{row['bytes']:,} B")
        for row in rows.iter_rows(named=True)
    ]


def _values(rows: pl.DataFrame, name: str) -> Values:
    """Returns a column as floats, with NaN for null and for "unlimited" (2^62 and more)."""
    values: Any = rows[name].cast(pl.Float64).to_numpy()
    return np.where(values < 2.0**62, values, np.nan)
