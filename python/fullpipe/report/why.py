"""Sentences about one run: each is a claim about its metrics or its trace.

They are about the time from `measure_from` to the end, except those on equal rates and on completed transfers.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from fullpipe import _core
from fullpipe.report.panels.time import in_words
from fullpipe.report.panels.tracks import states_in_order
from fullpipe.report.why_words import (
    MOST_NAMES,
    capitalized,
    duration,
    listed,
    multiple,
    percentage,
    percentages,
    shortened,
    typical,
    uneven,
    whose,
)
from fullpipe.results.total import total_of
from fullpipe.runners import has
from fullpipe.runs.view.table import rate_text
from fullpipe.stats import fairness
from fullpipe.stats.words import digits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fullpipe.base.metrics import FlowMetrics, LinkMetrics, Metrics, WorkloadMetrics

MOST = 8
"""The most sentences about a run."""
BUSY = 0.9
"""The utilization below which a sentence gives it."""
HELD = 0.1
"""The least share of time of a limit that is named."""
STRIKING = 0.05
"""The least share of time of a state that is named."""
UNEQUAL = 1.25
"""The least ratio of two goodputs that is given."""
IN_VAIN = 0.01
"""The least share of packets sent again without a loss that is given."""
_MORE = 1.5
"""The least ratio of retransmissions to losses at which they are many: those just before the window add to it."""
_NO_QUEUE = 0.01
"""The share of the path's RTT below which a queue is not worth a sentence."""
_MOST_LIMITS = 3
# Constants that order the sentences that have no ratio: above a queue of one RTT, below one of seven.
_ANSWERS, _LIMITS = 3.0, 2.0

_MEASURED_WORDS = {"application": "an empty send queue"}
"""The words of what a kernel's samples show: they do not show why its sender has written no more."""
# States in which a flow sends less, or more, than in its steady state.
_STATES = {
    *("startup", "slow_start", "css", "drain", "probe_rtt", "recovery", "slowdown"),
    *("probe_bw_down", "probe_bw_up"),
}


class Claim(NamedTuple):
    """A sentence, and the size of the effect by which sentences are ordered: the logarithm (base 2) of a ratio."""

    text: str
    size: float


class _Some(NamedTuple):
    """A flow, a workload, or all flows of an algorithm, as the subject of a clause."""

    name: str
    flows: Sequence[FlowMetrics | WorkloadMetrics]

    def total(self, metric: str) -> int:
        """Returns the sum of a count; 0 without it, as in measurements of other programs."""
        counts: list[int | None] = [each[metric] for each in self.flows]  # type: ignore[literal-required]
        return sum(count or 0 for count in counts)

    def tells(self, metric: str) -> bool:
        """Returns whether each flow has the metric, which measurements of other programs may lack."""
        return all(each[metric] is not None for each in self.flows)  # type: ignore[literal-required]


def about(
    metrics: Metrics,
    tables: Mapping[str, pl.DataFrame],
    path_rtt_s: float | None = None,
    ways: Mapping[str, str] | None = None,
) -> list[str]:
    """Returns at most eight sentences about a run, the largest effect first.

    Args:
        metrics: The run's metrics.
        tables: The tables of its trace that exist, by their names; without any, only the metrics are described.
        path_rtt_s: The scenario's `path.rtt` in seconds; None if it is unknown.
        ways: The direction of each flow, if they differ: flows of one direction alone share a link.
    """
    return [each.text for each in claims(metrics, tables, path_rtt_s, ways)[:MOST]]


def claims(
    metrics: Metrics,
    tables: Mapping[str, pl.DataFrame],
    path_rtt_s: float | None,
    ways: Mapping[str, str] | None = None,
) -> list[Claim]:
    """Returns all sentences of :func:`about` with the sizes of their effects, the largest first."""
    some = _some(metrics)
    found = [
        *_held(some, metrics["runner"]),
        *(_utilization(metrics["links"]) if any(map(_is_bulk, metrics["flows"])) else ()),
        *_queue(metrics["links"], path_rtt_s),
        *_filled(metrics, tables, some),
        *_lost(metrics["links"], some),
        *_acks_lost(metrics, some),
        *_sent_in_vain(some),
        *_measured_flows(metrics["flows"]),
        *_sent_again(metrics),
        *_marked(some),
        *_all_shares(metrics, tables, some, ways or {}),
        *_states(metrics, tables),
        *_answers(some),
        *_transfers(some),
        *_arrived(metrics),
    ]
    return sorted(found, key=lambda each: -each.size)


def window(metrics: Metrics) -> str:
    """Returns the time that the sentences are about: "from 1 s to 6 s"."""
    return f"from {metrics['measure_from_s']:.4g} s to {metrics['duration_s']:.4g} s"


def window_note(several: Mapping[str, Metrics]) -> str:
    """Returns the times that the sentences on some runs are about, and how their runners know the limits."""
    spans: dict[str, list[str]] = {}
    for name, metrics in several.items():
        spans.setdefault(window(metrics), []).append(name)
    told = [f"{listed(names)} {span}" if len(spans) > 1 else span for span, names in spans.items()]
    text = capitalized(told[0]) if len(told) == 1 else f"Times: {'; '.join(told)}"
    note = f"{text}, unless other times are given."
    measured = [name for name, each in several.items() if has(each["runner"], "samples")]
    if measured:
        whose = f" of {listed(measured)}" if len(several) > 1 else ""
        note += f" The limits{whose} come from the kernel's clocks and samples, not from each event as in a simulation."
    flows = [flow for name in measured for flow in several[name]["flows"]]
    if any(flow["limited_by"].get("application", 0.0) >= HELD for flow in flows):
        note += (
            " The send queue is empty while the application has nothing to send, and between two writes of a sender "
            "that always has."
        )
    return note


def _some(metrics: Metrics) -> list[_Some]:
    """Returns each flow and workload, or if they are many, the flows of each algorithm."""
    each: list[FlowMetrics | WorkloadMetrics] = [*metrics["flows"], *metrics.get("workloads", [])]
    if len(each) <= MOST_NAMES:
        return [_Some(one["name"], [one]) for one in each]
    names = dict.fromkeys(one["cc"] for one in each)
    groups = [_Some(cc, [one for one in each if one["cc"] == cc]) for cc in names]
    return [
        group._replace(name=f"{len(group.flows)} × {group.name}")
        if len(group.flows) > 1
        else group._replace(name=group.flows[0]["name"])
        for group in groups
    ]


def _held(some: Sequence[_Some], runner: str) -> Iterator[Claim]:
    """Yields the limits of each flow; flows that one and the same limit held share a clause."""
    words = {each["name"]: each["words"] for each in _core.limits()}
    if has(runner, "samples"):
        words |= _MEASURED_WORDS
    held: dict[object, list[tuple[_Some, list[tuple[str, float]]]]] = {}
    for one in some:
        limits = _limits(one)
        if limits:
            alike = limits[0][0] if len(limits) == 1 else one.name
            held.setdefault(alike, []).append((one, limits))
    clauses = []
    for those in held.values():
        several = len(those) > 1 or len(those[0][0].flows) > 1
        parts = []
        for limit, _ in those[0][1]:
            shares = [dict(limits)[limit] for _, limits in those]
            parts.append(f"by {words[limit]} for {percentages(shares)}")
        text = listed(parts).replace("by its ", "by their ") if several else listed(parts)
        mean = ", on average," if any(len(one.flows) > 1 for one, _ in those) else ""
        names = listed([one.name for one, _ in those])
        clauses.append(f"{names} {'were' if several else 'was'}{mean} held {text} of the time")
    if clauses:
        yield Claim(f"{'; '.join(shortened(clauses))}.", _LIMITS)


def _limits(one: _Some) -> list[tuple[str, float]]:
    """Returns the limits that held these flows for a tenth of the time or more, with their mean shares."""
    those = [
        each for each in one.flows if each["cc"] != "none" and any(each["limited_by"].values())
    ]
    if not those:
        return []
    shares = {
        name: fmean(each["limited_by"].get(name, 0.0) for each in those)
        for name in (limit["name"] for limit in _core.limits())
    }
    named = [(limit, share) for limit, share in shares.items() if share >= HELD]
    return sorted(named, key=lambda each: -each[1])[:_MOST_LIMITS]


def _utilization(links: Sequence[LinkMetrics]) -> Iterator[Claim]:
    if not links:
        return
    busiest = max(links, key=lambda link: link["utilization"])
    if (share := busiest["utilization"]) < BUSY:
        which = f"The busiest link, {busiest['name']}," if len(links) > 1 else "The link"
        yield Claim(
            f"{which} was busy for {percentage(share)} of the time.", -math.log2(max(share, 1e-9))
        )


def _longest(links: Sequence[LinkMetrics]) -> LinkMetrics | None:
    """Returns the link with the longest queue, on average."""
    known = [link for link in links if link["queue_delay_s"]["mean"] is not None]
    return max(known, key=lambda link: link["queue_delay_s"]["mean"] or 0.0, default=None)


def _queue(links: Sequence[LinkMetrics], path_rtt_s: float | None) -> Iterator[Claim]:
    link = _longest(links)
    if link is None or not (mean := link["queue_delay_s"]["mean"]):
        return
    if path_rtt_s and mean < _NO_QUEUE * path_rtt_s:
        return
    which = f"the queue at {link['name']}" if len(links) > 1 else "the queue"
    text, size = f"{which} was {duration(mean)} long on average", 0.0
    if path_rtt_s:
        size = math.log2(1 + mean / path_rtt_s)
        text += f", {multiple(mean / path_rtt_s)} the path's RTT of {duration(path_rtt_s)}"
        within = link["queue_within_1_rtt"]
        if within is not None and within < 1 - STRIKING:
            text += f", and longer than that RTT for {percentage(1 - within)} of the time"
    yield Claim(capitalized(f"{text}."), size)


def _filled(
    metrics: Metrics, tables: Mapping[str, pl.DataFrame], some: Sequence[_Some]
) -> Iterator[Claim]:
    """Yields the owners of the bytes in the longest queue."""
    link = _longest(metrics["links"])
    if "queues" not in tables or link is None or len(some) < 2:
        return
    rows = _measured(tables["queues"], metrics).filter(pl.col("link") == link["name"])
    by_flow = rows.group_by("flow").agg(pl.col("queue_bytes").cast(pl.Float64).sum())
    sums = {str(flow): float(size) for flow, size in by_flow.iter_rows()}
    if (total := sum(sums.values())) > 0:
        parts = [(one.name, sum(sums.get(each["name"], 0.0) for each in one.flows)) for one in some]
        where = f" at {link['name']}" if len(metrics["links"]) > 1 else ""
        yield Claim(f"The bytes in the queue{where}: {whose(parts, total)}.", uneven(parts, total))


def _lost(links: Sequence[LinkMetrics], some: Sequence[_Some]) -> Iterator[Claim]:
    parts = [(one.name, float(one.total("drops"))) for one in some]
    total, sent = sum(count for _, count in parts), sum(one.total("sent") for one in some)
    if not sent or not all(one.tells("drops") and one.tells("sent") for one in some):
        return
    if not total:
        yield Claim("No packet was lost.", 0.0)
        return
    causes = [
        (sum(link[cause] for link in links), words)  # type: ignore[literal-required]
        for cause, words in (
            ("drops", "dropped by the queue"),
            ("losses", "lost randomly"),
            ("policed", "dropped by the policer"),
        )
    ]
    by = [f"{count:,} {words}" for count, words in causes if count]
    why = ""
    if sum(count for count, _ in causes) == total:
        why = f": {listed(by)}" if len(by) > 1 else f", all {by[0].partition(' ')[2]}"
    which = "data packets" if any(one.total("ack_drops") for one in some) else "packets"
    text = f"{total:,.0f} {which} were lost, {percentage(total / sent)} of those sent{why}."
    if total == 1:
        text = text.replace("packets were", "packet was").replace(", all ", ", ")
    elif len(some) > 1:
        text += f" Of these, {whose(parts, total)}."
    yield Claim(text, math.log2(1 + 100 * total / sent))


def _acks_lost(metrics: Metrics, some: Sequence[_Some]) -> Iterator[Claim]:
    """Yields the ACKs that links dropped, and those lost elsewhere on the way back."""
    total = sum(one.total("ack_drops") for one in some)
    if not total or not all(one.tells("ack_drops") for one in some):
        return
    links = [each for each in metrics["links"] if each["ack_drops"]]
    clauses: list[str] = []
    shares = [0.0]
    for link in sorted(links, key=lambda each: -each["ack_drops"]):
        dropped = link["ack_drops"]
        # The ACKs that left are counted from the start of the run, those dropped from that of the window.
        shares.append(dropped / (dropped + link["acks"]))
        least = "at least " if metrics["measure_from_s"] else ""
        verb = "ACKs were dropped" if not clauses else "were"
        clauses.append(
            f"{dropped:,} {verb} at {link['name']}, {least}{percentage(shares[-1])} of those that arrived there"
        )
    if (others := total - sum(each["ack_drops"] for each in links)) > 0:
        clauses.append(
            f"{others:,} more were lost elsewhere on the way back"
            if clauses
            else f"{others:,} ACKs were lost on the way back"
        )
    text = f"{'; '.join(shortened(clauses))}."
    if total == 1:
        text = text.replace("ACKs were", "ACK was")
    yield Claim(text, math.log2(1 + 100 * max(shares)))


def _sent_in_vain(some: Sequence[_Some]) -> Iterator[Claim]:
    """Yields the retransmissions of packets that were not lost, if they are many: each loss needs one of its own."""
    if not all(one.tells(each) for one in some for each in ("retransmits", "drops", "sent")):
        return
    again, lost, sent = (
        sum(one.total(each) for one in some) for each in ("retransmits", "drops", "sent")
    )
    if not sent or again - lost < IN_VAIN * sent or again < _MORE * lost:
        return
    acks = any(one.total("ack_drops") for one in some)
    why = "were dropped or late" if acks else "came late or out of order"
    many = f"{digits(again / lost)} times as many as were lost" if lost else "and none was lost"
    rest = "The others had not been lost: their" if lost else "Their"
    yield Claim(
        f"{again:,} packets were sent again, {many}. {rest} ACKs {why}.",
        math.log2(1 + 100 * (again - lost) / sent),
    )


def _measured_flows(flows: Sequence[FlowMetrics]) -> Iterator[Claim]:
    """Yields rates and RTTs of flows that another program sent, the largest first: nothing else is known of these."""
    those = [each for each in flows if _is_measured(each) and each["goodput_bps"]]
    clauses, sizes = [], [0.0]
    for flow in sorted(those, key=lambda each: -each["goodput_bps"]):
        text, rtt = (
            f"{flow['name']} had a goodput of {rate_text(flow['goodput_bps'])}",
            flow["rtt_s"],
        )
        if rtt["min"] and rtt["p95"]:
            text += f" and an RTT of {typical(rtt)}, at least {duration(rtt['min'])}"
            sizes.append(math.log2(rtt["p95"] / rtt["min"]))
        clauses.append(text)
    if clauses:
        yield Claim(f"{'; '.join(shortened(clauses))}.", max(sizes))


def _sent_again(metrics: Metrics) -> Iterator[Claim]:
    """Yields the retransmissions of measured flows, and what the links dropped."""
    those = [each for each in metrics["flows"] if _is_measured(each) and each["drops"] is None]
    counts = [(each["retransmits"], each["sent"]) for each in those]
    known = [(again, sent) for again, sent in counts if again is not None and sent]
    total = total_of(metrics["host"])
    if total:
        yield Claim(f"{total}.", 0.0)
    elif known and len(known) == len(counts):
        again, sent = (sum(each) for each in zip(*known, strict=True))
        text = f"{again:,} of {sent:,} packets were sent again, {percentage(again / sent)}."
        if not again:
            text = f"None of {sent:,} packets was sent again."
        yield Claim(text, math.log2(1 + 100 * again / sent))
    if those and metrics["links"] and (dropped := sum(link["drops"] for link in metrics["links"])):
        yield Claim(f"The queues dropped {dropped:,} packets.", 0.0)


def _is_measured(flow: FlowMetrics) -> bool:
    """Returns whether another program sent a flow, so that its limits are unknown."""
    return (
        not any(flow["limited_by"].values())
        and flow["max_min_share"] is None
        and flow["cc"] != "none"
    )


def _marked(some: Sequence[_Some]) -> Iterator[Claim]:
    parts = [(one.name, float(one.total("marks"))) for one in some]
    total, sent = sum(count for _, count in parts), sum(one.total("sent") for one in some)
    if total:
        owners = f" Of these, {whose(parts, total)}." if len(some) > 1 else ""
        # A measurement may not tell how many were sent.
        share = f", {percentage(total / sent)} of those sent" if sent else ""
        yield Claim(
            f"{total:,.0f} packets were marked CE{share}.{owners}",
            math.log2(1 + 10 * total / sent) if sent else 0.0,
        )


def _all_shares(
    metrics: Metrics,
    tables: Mapping[str, pl.DataFrame],
    some: Sequence[_Some],
    ways: Mapping[str, str],
) -> Iterator[Claim]:
    """Goodputs of flows of one direction that send as much as they can, and when they were equal."""
    every = [each for each in metrics["flows"] if _is_bulk(each)]
    for way in dict.fromkeys(ways.get(each["name"]) for each in every):
        bulk = [each for each in every if ways.get(each["name"]) == way]
        yield from _shares(bulk, metrics, tables, some)


def _shares(
    bulk: Sequence[FlowMetrics],
    metrics: Metrics,
    tables: Mapping[str, pl.DataFrame],
    some: Sequence[_Some],
) -> Iterator[Claim]:
    if len(bulk) < 2:
        return
    rates = [
        (one.name, fmean(each["goodput_bps"] for each in those))
        for one in some
        if (those := [each for each in one.flows if each in bulk])
    ]
    if len(rates) < 2:
        rates = [(each["name"], each["goodput_bps"]) for each in bulk]
    (low_name, low), (high_name, high) = (
        choose(rates, key=lambda each: each[1]) for choose in (min, max)
    )
    if not high:
        return
    ratio = high / low if low else math.inf
    text = ""
    if ratio >= UNEQUAL:
        each = " a flow" if len(bulk) > len(rates) else ""
        amounts = f"{rate_text(high)} against {rate_text(low)}{each}"
        text = f"{high_name} had {digits(ratio)} times the goodput of {low_name}: {amounts}."
        if not low:
            text = f"{low_name} had no goodput, {high_name} {rate_text(high)}{each}."
    parts = tables["flows"].partition_by("flow") if "flows" in tables else []
    names = [str(rows["flow"][0]) for rows in parts]
    progress = [
        (rows["time"].to_numpy(), rows["delivered"].cast(pl.Float64).to_numpy()) for rows in parts
    ]
    if len(bulk) == len(metrics["flows"]) == len(progress):
        found = fairness(progress, max(float(time[-1]) for time, _ in progress))
        if not math.isnan(found.last[0]):  # not shorter than a spell
            text = f"{text} {in_words(found, names)}".strip()
    if text:
        yield Claim(text, math.log2(min(ratio, 1e3)))


def _is_bulk(flow: FlowMetrics) -> bool:
    """Returns whether a flow always has data to send, so that its share can be compared."""
    other = flow["responses"] or flow["frames"] or flow["lost_frames"]
    limits = flow["limited_by"]
    idle = limits.get("application", 0.0) + limits.get("handshake", 0.0)
    if flow["goodput_bps"] is None:  # a ping among measurements of other programs
        return False  # type: ignore[unreachable]
    return not other and flow["cc"] != "none" and flow["completion_s"] is None and idle < HELD


def _states(metrics: Metrics, tables: Mapping[str, pl.DataFrame]) -> Iterator[Claim]:
    """The states besides the steady one that took much of the time."""
    if "transitions" not in tables or "flows" not in tables:
        return
    found = []
    for flow in metrics["flows"]:
        if flow["completion_s"] is not None:
            continue
        shares = state_shares(flow["name"], metrics, tables)
        striking = sorted(
            (share, state)
            for state, share in shares.items()
            if state in _STATES and share >= STRIKING
        )
        if striking:
            parts = [f"{percentage(share)} of the time in {state}" for share, state in reversed(striking)]  # fmt: skip
            found.append((striking[-1][0], f"{flow['name']} spent {listed(parts[:3])}"))
    if found:
        most = sorted(found, key=lambda each: -each[0])[:2]
        text = "; ".join(text for _, text in most)
        yield Claim(f"{text}.", -math.log2(max(1 - most[0][0], 1e-3)))


def state_shares(
    flow: str, metrics: Metrics, tables: Mapping[str, pl.DataFrame]
) -> dict[str, float]:
    """Returns the share of each state in the measured time of a flow; empty if its algorithm has none."""
    changes = tables["transitions"].filter(pl.col("flow") == flow)
    rows = tables["flows"].filter(pl.col("flow") == flow)
    algorithm = next(each["cc"] for each in metrics["flows"] if each["name"] == flow)
    words = states_in_order(algorithm, rows, changes)
    if not words or rows.is_empty():
        return {}
    begin = max(float(rows["time"][0]), metrics["measure_from_s"])
    end = float(metrics["duration_s"])
    times = [min(max(time, begin), end) for time in (begin, *changes["time"], end)]
    shares: dict[str, float] = {}
    for word, since, till in zip(words, times[:-1], times[1:], strict=True):
        shares[word] = shares.get(word, 0.0) + (till - since) / max(end - begin, 1e-9)
    return shares


def _answers(some: Sequence[_Some]) -> Iterator[Claim]:
    clauses = []
    for flow in (each for one in some for each in one.flows):
        if flow.get("responses"):
            clauses.append(f"{flow['name']}'s {flow['responses']:,} responses took {typical(flow['response_s'])}")  # type: ignore[typeddict-item]  # fmt: skip
        if flow.get("frames"):
            lost = f" ({flow['lost_frames']:,} lost or late)" if flow["lost_frames"] else ""  # type: ignore[typeddict-item]  # fmt: skip
            clauses.append(f"{flow['name']}'s {flow['frames']:,} frames took {typical(flow['frame_delay_s'])}{lost}")  # type: ignore[typeddict-item]  # fmt: skip
    if clauses:
        yield Claim(f"{'; '.join(shortened(clauses))}.", _ANSWERS)


def _transfers(some: Sequence[_Some]) -> Iterator[Claim]:
    clauses = []
    for one in some:
        ends = [each["completion_s"] for each in one.flows if isinstance(each["completion_s"], float)]  # fmt: skip
        if ends:
            least, most = digits(min(ends)), digits(max(ends))
            after = least if least == most else f"{least} to {most}"
            clauses.append(f"{one.name} completed after {after} s")
    if clauses:
        yield Claim(f"{'; '.join(shortened(clauses))}.", _ANSWERS)


def _arrived(metrics: Metrics) -> Iterator[Claim]:
    clauses = [
        f"{each['completed']:,} flows of {each['name']} completed, after {typical(each['completion_s'])}"
        for each in metrics.get("workloads", [])
        if each["completed"]
    ]
    if clauses:
        yield Claim(f"{'; '.join(shortened(clauses))}.", _ANSWERS)


def _measured(rows: pl.DataFrame, metrics: Metrics) -> pl.DataFrame:
    return rows.filter(pl.col("time").is_between(metrics["measure_from_s"], metrics["duration_s"]))
