"""What each metric is called in words, its unit, and whether more of it is better."""

from __future__ import annotations

import re
from typing import NamedTuple


class Quantity(NamedTuple):
    """A column of a data set of runs; `docs/metrics.md` has its formula."""

    column: str
    words: str
    """As in a sentence."""
    unit: str
    """In which it is shown."""
    scale: float
    """What is shown is the value times this."""
    better: int
    """1 when more is better, -1 when less is, 0 when neither is."""


_STATISTICS = {
    "min": "least",
    "mean": "mean",
    "p50": "median",
    "p95": "p95",
    "p99": "p99",
    "max": "greatest",
}

_PLAIN = {
    "goodput_bps": ("goodput", "Mbit/s", 1e-6, 1),
    "loss_fraction": ("retransmitted share", "%", 100.0, -1),
    "retransmits": ("retransmissions", "packets", 1.0, -1),
    "drops": ("dropped packets", "packets", 1.0, -1),
    "marks": ("marked packets", "packets", 1.0, 0),
    "sent": ("sent packets", "packets", 1.0, 0),
    "completion_s": ("completion time", "s", 1.0, -1),
    "slowdown.all.flows.mean": ("mean slowdown", "", 1.0, -1),
    "jain": ("Jain's index", "", 1.0, 1),
    "min_max": ("least over most goodput", "", 1.0, 1),
    "utilisation": ("utilisation", "%", 100.0, 1),
    "queue_within_1_rtt": ("share of time with a queue of 1 RTT or less", "%", 100.0, 1),
    "queue_within_2_rtts": ("share of time with a queue of 2 RTTs or less", "%", 100.0, 1),
    "losses": ("randomly lost packets", "packets", 1.0, 0),
    "policed": ("policed packets", "packets", 1.0, -1),
    "duplicates": ("duplicated packets", "packets", 1.0, 0),
    "ack_drops": ("dropped ACKs", "packets", 1.0, -1),
    "acks": ("ACKs", "packets", 1.0, 0),
    "acks_filtered": ("filtered ACKs", "packets", 1.0, 0),
    "packets": ("packets", "packets", 1.0, 0),
    "convergence_s": ("convergence time", "s", 1.0, -1),
}

_OF_LINKS = (
    "utilisation|queue_within_1_rtt|queue_within_2_rtts"
    "|drops|losses|policed|duplicates|marks|packets|acks|ack_drops|acks_filtered"
)

_DISTRIBUTIONS = {"rtt_s": "RTT", "queue_delay_s": "queueing delay"}

SHORT = {
    "goodput": "goodput_bps",
    "jain": "jain",
    "retransmits": "retransmits",
    "loss": "loss_fraction",
    "drops": "drops",
    "completion": "completion_s",
    **{
        f"{short}.{statistic}": f"{short}_s.{statistic}"
        for short in ("rtt", "queue_delay")
        for statistic in _STATISTICS
    },
}
"""Names without units, for those who type them."""


def quantity(column: str) -> Quantity | None:
    """What a column is: `goodput_bps`, `rtt_s.p95`, `link.bottleneck.utilisation`; None when it is no metric."""
    link = re.fullmatch(rf"link\.(.+?)\.(queue_delay_s\.\w+|{_OF_LINKS})", column)
    inner = link[2] if link else column
    whose = f" at {link[1]}" if link else ""
    if inner in _PLAIN:
        words, unit, scale, better = _PLAIN[inner]
        return Quantity(column, words + whose, unit, scale, better)
    base, _, statistic = inner.partition(".")
    if base in _DISTRIBUTIONS and statistic in _STATISTICS:
        return Quantity(
            column, f"{_STATISTICS[statistic]} {_DISTRIBUTIONS[base]}{whose}", "ms", 1e3, -1
        )
    if base == "limited_by" and statistic:
        return Quantity(
            column, f"share of time limited by {statistic.replace('_', ' ')}", "%", 100.0, 0
        )
    return None
