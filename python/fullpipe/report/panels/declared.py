"""The panels over time: from these follow the page, pictures, the command's help and its errors."""

from __future__ import annotations

from fullpipe.report.model import Curve, Panel

PANELS = (
    Panel(
        "rate",
        "Delivery rate",
        "Mbit/s",
        (Curve("flow", "delivered"), Curve("link", "rate", "reference")),
    ),
    Panel(
        "cwnd",
        "Congestion window and data in flight",
        "kB",
        (
            Curve("flow", "cwnd"),
            Curve("flow", "inflight", "pale"),
            Curve("flow", "ssthresh", "dashed"),
            Curve("flow", "bdp", "dotted"),
        ),
        behind="state",
        alone="Data in flight",
        several="Congestion window",
    ),
    Panel("states", "States", "", stays="state"),
    Panel("limits", "Limited by", "", stays="limited_by"),
    Panel(
        "rtt", "Round-trip time", "ms", (Curve("flow", "rtt"), Curve("flow", "min_rtt", "dotted"))
    ),
    Panel(
        "queue",
        "Queueing delay",
        "ms",
        (Curve("link", "sojourn"),),
        ticks=("drops", "marks", "lost"),
    ),
    Panel(
        "share", "Queueing delay by flow, stacked", "ms", (Curve("queue", "share"),), view="stack"
    ),
    Panel("pacing", "Pacing rate", "Mbit/s", (Curve("flow", "pacing_rate"),), first=False),
    Panel("active", "Active flows", "flows", (Curve("workload", "active"),)),
    Panel("jain", "Jain's index per second", "", (Curve("run", "jain"),)),
    Panel("requests", "Requests and transfers", "", view="spans"),
    Panel(
        "packets",
        "Sequence numbers of packets",
        "MB",
        (
            Curve("flow", "packet_sent", "points"),
            Curve("flow", "packet_acked"),
            Curve("flow", "packet_sacked", "small"),
            Curve("flow", "packet_again", "again"),
            Curve("flow", "packet_gone", "gone"),
        ),
    ),
    Panel(
        "packet-delays",
        "One-way delay of packets by cause",
        "ms",
        (
            Curve("flow", "packet_queue", "points"),
            Curve("flow", "packet_path", "pale"),
            Curve("flow", "packet_access", "dotted"),
        ),
    ),
    Panel(
        "rate-rtt",
        "Delivery rate over RTT",
        "Mbit/s",
        (Curve("flow", "rtt"), Curve("flow", "delivered")),
        view="phase",
    ),
    Panel(
        "inflight-rtt",
        "Data in flight over RTT",
        "kB",
        (Curve("flow", "rtt"), Curve("flow", "inflight")),
        view="phase",
        first=False,
    ),
    Panel(
        "rate-rate",
        "Rate of one flow over that of the other",
        "Mbit/s",
        (Curve("flow", "delivered"), Curve("flow", "delivered")),
        view="phase",
        first=False,
    ),
)
"""The panels of a run, in the order of the page."""

FIGURES = {
    "curves": "metrics over a swept number, a line for each contender and value of a second one, a chart for the rest",
    "maps": "metrics over two swept keys",
    "scatter": "throughput over delay, with an ellipse of one standard deviation for each contender",
    "shares": "share of the seeds up to a value",
    "slowdown": "slowdown of arriving flows by their size",
    "completion": "share of transfers by completion time, a chart for each size",
}
"""Figures of many runs, by the keys of `--panel`."""
TABLES = {
    "results": "medians over the seeds, with 95 % intervals",
    "differences": "comparisons of contenders",
}
"""Tables of the same."""
