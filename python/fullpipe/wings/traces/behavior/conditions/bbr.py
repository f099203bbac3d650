"""BBR's gains: Startup, Drain, and the cap of the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fullpipe.wings.traces.behavior.conditions.declare import (
    BBR2,
    BBR3,
    Condition,
    Occasion,
    of_versions,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullpipe.wings.traces.behavior.observed import Observed, Stay
    from fullpipe.wings.traces.behavior.rules import Rules

BBR1 = ("bbr1",)
_GAIN = 0.1
"""Accepted relative distance of a gain: the bandwidth is measured over the trace's rows, not for each packet."""
_ROSE = 1.2
_PROBE_GAIN = 1.25
BURST = 16
"""Segments that the window may hold above its cap, at least: the allowance for bursts of ACKs, and send quanta."""
_QUANTA, _QUANTUM_S, _LARGEST_QUANTUM = 3, 1e-3, 65536
"""The window holds three quanta: a millisecond of the pacing rate, at most 64 kB (draft-ietf-ccwg-bbr-06 §5.6.3)."""
_FILTER = 10
"""Round trips for which the allowance for bursts of ACKs lasts; in Startup it grows with the bandwidth."""
_CAP = 0.1
_FULL_RATE, _ROUNDS = 0.75, 20.0
"""Without states and pacing rate, Startup's queue is gone this number of round trips after the delivery rate has first
reached this share of its largest."""


def startup(trace: Observed) -> Stay | None:
    """Returns the first stay in Startup, if it ended; without states, up to the fall of the pacing rate."""
    from fullpipe.wings.traces.behavior.observed import Stay

    if trace.changes:
        stays = trace.stays("startup")
        return stays[0] if stays and stays[0].whole else None
    pacing = trace.column("pacing_rate")
    most = np.fmax.accumulate(pacing)
    fallen = np.flatnonzero(pacing < 0.7 * most)
    if not len(fallen):
        return None
    return Stay(float(trace.time[0]), float(trace.time[fallen[0]]), True)


def _startup_gain(trace: Observed, rules: Rules) -> Iterator[Occasion]:
    stay = startup(trace)
    if stay is None:
        return
    gain = rules.number("startup_pacing_gain") * (1 - rules.number("pacing_margin"))
    pacing = trace.before(trace.column("pacing_rate"), stay.end)
    bandwidth = trace.before(trace.most_bandwidth, stay.end)
    if not _rose(trace, stay.end):
        return
    if bandwidth > 0 and np.isfinite(pacing):
        yield Occasion(stay.end, pacing / bandwidth, (gain * (1 - _GAIN), gain * (1 + _GAIN)))


def _rose(trace: Observed, end: float) -> bool:
    """Returns whether Startup set the pacing rate; on a path that holds the initial window it may not."""
    known = trace.column("pacing_rate")[trace.time < end]
    known = known[np.isfinite(known)]
    return bool(len(known)) and float(known[-1]) > _ROSE * float(known.min())


def _drain_gain(trace: Observed, rules: Rules) -> Iterator[Occasion]:
    stay = startup(trace)
    if stay is None or not _rose(trace, stay.end):
        return
    end = stay.end + trace.at(trace.rtt, stay.end) / 2 + trace.gap
    if trace.changes:
        drains = trace.stays("drain")
        end = drains[0].end if drains else stay.end
        if end - stay.end <= trace.gap:
            return  # drained at once
    else:
        # The pacing rate of a Drain that ends at once is not seen.
        known = bdp(trace, stay.end, 10.0)
        burst = _burst(
            trace, trace.at(trace.most_bandwidth, stay.end), rules.number("startup_pacing_gain")
        )
        queued = trace.at(trace.column("inflight"), stay.end) > known * (1 + _GAIN) + burst
        if not queued:
            return
    gain = rules.number("drain_pacing_gain") * (1 - rules.number("pacing_margin"))
    rows = trace.rows(stay.end, end)
    pacing = trace.column("pacing_rate")[rows]
    bandwidth = trace.at(trace.most_bandwidth, stay.end)
    if bandwidth > 0 and len(pacing):
        within = (gain * (1 - _GAIN), gain * (1 + _GAIN))
        yield Occasion(stay.end, float(pacing.min()) / bandwidth, within)


def bdp(trace: Observed, time: float, window: float) -> float:
    """Returns the BDP that BBR's filters give at a time: the largest bandwidth, and the least RTT of a window of it."""
    rtt = trace.at(trace.least_rtt, time)
    if trace.has("rtt"):
        times, rtts = trace.samples("rtt")
        lately = rtts[(times <= time) & (times > time - window)]
        rtt = float(lately.min()) if len(lately) else rtt
    return trace.most_bandwidth_in(time - window, time) * rtt / 8


def _burst(trace: Observed, bandwidth: float, gain: float) -> float:
    """Returns the bytes that the window may hold above its cap."""
    quantum = min(gain * bandwidth / 8 * _QUANTUM_S, _LARGEST_QUANTUM)
    return max(BURST * trace.segment, _QUANTA * quantum)


def _drained(trace: Observed, rules: Rules) -> Iterator[Occasion]:
    rounds = rules.number("drain_rounds") if rules.has("drain_rounds") else 0.0
    stays = [stay for stay in trace.stays("drain") if stay.whole]
    inflight = trace.column("inflight")
    for stay in stays[:1]:
        rtt = trace.at(trace.rtt, stay.end)
        if rounds and stay.end - stay.begin > (rounds - 0.5) * trace.at(trace.rtt, stay.end):
            continue  # it ended by its limit in rounds
        known = bdp(trace, stay.end, 10.0)
        if not known > 0:
            continue
        # A Drain that ends at once keeps Startup's quanta.
        gain = rules.number("startup_pacing_gain")
        burst = _burst(trace, trace.at(trace.most_bandwidth, stay.end), gain)
        most = 1.0 + burst / known + _GAIN
        value = trace.at(inflight, stay.end + min(trace.gap, rtt / 4)) / known
        yield Occasion(stay.end, value, (0.0, most))


def _cap(trace: Observed, rules: Rules) -> Iterator[Occasion]:
    begin = full_pipe(trace)
    if begin is None:
        return
    name = "cwnd" if trace.has("cwnd") else "inflight"
    values = trace.column(name)
    gain = max(rules.number("cwnd_gain"), rules.number("up_cwnd_gain"))
    time = begin + _FILTER * trace.at(trace.rtt, begin) + 1.0
    while time <= trace.end:
        rows = trace.rows(time - 1.0, time)
        if rows.stop > rows.start and not _lately_lost(trace, rules, time):
            known = bdp(trace, time, 10.0)
            if known > 0:
                bandwidth = trace.most_bandwidth_in(time - 10.0, time)
                most = gain * (1 + _CAP) + _burst(trace, bandwidth, _PROBE_GAIN) / known
                row = rows.start + int(np.nanargmax(values[rows]))
                yield Occasion(float(trace.time[row]), float(values[row]) / known, (0.0, most))
        time += 1.0


def _lately_lost(trace: Observed, rules: Rules, time: float) -> bool:
    """Returns whether losses may have lowered BBR's bandwidth in a second that ends at a time, or just before it.

    Until the next probe, deliveries beyond the lower bandwidth count as bursts of ACKs, which add up to a window to
    the cap. BBRv1 has no such bound.
    """
    if not rules.has("beta"):
        return False
    rtt = float(trace.rtt[trace.rows(time - 1.0, time)].max(initial=0.0))
    cycle = rules.number("probe_wait_base") + rules.number("probe_wait_spread")
    since = time - 1.0 - cycle - (_FILTER + 2) * rtt
    return any(each.end > since and each.begin < time for each in trace.losses)


def _cruise_gain(trace: Observed, rules: Rules) -> Iterator[Occasion]:
    gain = rules.number("cruise_pacing_gain") * (1 - rules.number("pacing_margin"))
    pacing = trace.column("pacing_rate")
    for stay in trace.stays("probebwcruise"):
        # The filter has the bandwidth of two cycles of a few seconds each.
        known = trace.most_bandwidth_in(stay.begin - 10.0, stay.end)
        rates = pacing[trace.rows(stay.begin + trace.gap, stay.end)]
        rates = rates[np.isfinite(rates)]
        if known > 0 and len(rates) and stay.end - stay.begin > trace.at(trace.rtt, stay.end):
            # The packets of a round trip are a whole number, and tell the rate by one more or less.
            one = 8 * trace.segment / (known * trace.at(trace.least_rtt, stay.end))
            most = gain * (1 + _GAIN + one)
            yield Occasion(stay.begin, float(np.median(rates)) / known, (0.0, most))


def full_pipe(trace: Observed) -> float | None:
    """Returns the time at which Startup's queue is gone; None if it stays."""
    if trace.changes:
        stays = [stay for stay in trace.stays("drain") if stay.whole]
        return stays[0].end + 2 * trace.at(trace.rtt, stays[0].end) if stays else None
    if not trace.has("pacing_rate"):
        # Startup takes three round trips more to notice that the pipe is full, and Drain as many.
        most = trace.most_bandwidth
        full = float(trace.time[int(np.argmax(most >= _FULL_RATE * most[-1]))])
        return full + _ROUNDS * trace.at(trace.rtt, full) if most[-1] > 0 else None
    stay = startup(trace)
    return stay.end + 4 * trace.at(trace.rtt, stay.end) if stay else None


_STARTUP = of_versions("draft-ietf-ccwg-bbr-06 §5.3.1.1", BBR2, BBR3) | of_versions(
    "draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.2", BBR1
)
_DRAIN = of_versions("draft-ietf-ccwg-bbr-06 §5.3.2", BBR2, BBR3) | of_versions(
    "draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.3", BBR1
)
_CRUISE = of_versions("draft-ietf-ccwg-bbr-06 §5.3.3.2", BBR2, BBR3)
_CAPPED = of_versions("draft-ietf-ccwg-bbr-06 §5.6.4", BBR2, BBR3) | of_versions(
    "draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.3", BBR1
)
_REASON = "10 % for the bandwidth, which the trace's rows give over a round trip"

CONDITIONS = (
    Condition(
        key="startup-gain",
        what="pacing rate / bandwidth at the end of Startup",
        unit="",
        rule="Startup paces at its gain times the measured bandwidth",
        sections=_STARTUP,
        needs=("pacing_rate", "delivered", "rtt|srtt"),
        occasions="end of Startup with a pacing rate above the initial one",
        because=_REASON,
        measure=_startup_gain,
        case="A.1",
    ),
    Condition(
        key="drain-gain",
        what="pacing rate / bandwidth after Startup",
        unit="",
        rule="Drain paces at its gain times the measured bandwidth",
        sections=_DRAIN,
        needs=("pacing_rate", "delivered", "rtt|srtt"),
        occasions="end of Startup with a pacing rate above the initial one",
        because=_REASON,
        measure=_drain_gain,
        case="A.3",
    ),
    Condition(
        key="drained",
        what="data in flight / BDP at the end of Drain",
        unit="",
        rule="Drain ends when one BDP is in flight",
        sections=_DRAIN,
        needs=("states", "inflight", "delivered", "rtt|srtt"),
        occasions="end of Drain before its limit in rounds",
        because="10 %, and a burst of 16 segments or three quanta of 1 ms",
        measure=_drained,
        case="A.3",
    ),
    Condition(
        key="cruise-gain",
        what="pacing rate / bandwidth in ProbeBW_CRUISE",
        unit="",
        rule="ProbeBW_CRUISE paces at most at the measured bandwidth",
        sections=_CRUISE,
        needs=("states", "pacing_rate", "delivered", "rtt|srtt"),
        occasions="ProbeBW_CRUISE of more than a round trip",
        because=_REASON,
        measure=_cruise_gain,
    ),
    Condition(
        key="window-cap",
        what="largest window of a second / BDP",
        unit="",
        rule="The window is at most its gain times the BDP, and an allowance for bursts",
        sections=_CAPPED,
        needs=("cwnd|inflight", "delivered", "rtt|srtt"),
        occasions="second after Drain without a loss lately",
        because="10 %, and a burst of 16 segments or three quanta of 1 ms",
        measure=_cap,
    ),
)
