"""BBR's schedule: ProbeRTT, and the time between probes for bandwidth."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.wings.traces.behavior.conditions.bbr import BBR1, bdp, full_pipe
from fullpipe.wings.traces.behavior.conditions.declare import (
    BBR2,
    BBR3,
    Condition,
    Occasion,
    of_versions,
)
from fullpipe.wings.traces.behavior.observed import LacksError, Stay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fullpipe.wings.traces.behavior.observed import Observed, Values
    from fullpipe.wings.traces.behavior.rules import Rules

_SHORTEST = 0.7
"""Without states, a dip of the data in flight counts as ProbeRTT from this share of its duration on."""
_FOUR = 4
_ROUNDING = 2e-6
"""RTTs that differ by this share are equal."""
_AT_ONCE = 4.0
"""A probe within this number of round trips is the second half of a careful one, which met no resistance."""


def probe_rtts(trace: Observed, rules: Rules) -> list[Stay]:
    """Returns the stays in ProbeRTT; without states, the dips of the data in flight to its level.

    Raises:
        LacksError: When the trace has neither, or its dips can be others.
    """
    if trace.changes:
        return trace.stays("probertt")
    inflight = trace.column("inflight")
    one = trace.most_bandwidth * trace.least_rtt / 8
    level = _level(trace, rules, one) + 2 * trace.segment
    if level[-1] >= one[-1]:
        raise LacksError("the trace has no states, and a BDP that is no more than ProbeRTT leaves")
    low = np.concatenate([[False], inflight <= level, [False]])
    edges = np.flatnonzero(np.diff(low.astype(int)))
    shortest = _SHORTEST * rules.number("probe_rtt_duration")
    # Before, Drain and the end of the recovery from Startup's losses are dips, too.
    full = full_pipe(trace) or 0.0
    stays = []
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        begin = float(trace.time[first])
        end = float(trace.time[min(last, len(trace.time) - 1)])
        if end - begin >= shortest and begin >= full:
            stays.append(Stay(begin, end, last < len(trace.time)))
    return stays


def _level(trace: Observed, rules: Rules, one_bdp: Values) -> Values:
    """Returns the data in flight that ProbeRTT allows, for each BDP: in BBRv1 always four segments."""
    least = _FOUR * trace.segment
    gain = rules.number("probe_rtt_cwnd_gain") if rules.has("probe_rtt_cwnd_gain") else 0.0
    return np.maximum(gain * one_bdp, least)


def _comes(trace: Observed, rules: Rules) -> Iterator[Occasion]:
    times, rtts = trace.samples("rtt")
    if len(times) < 2 or float(np.quantile(np.diff(times), 0.9)) > 0.5 * float(rtts.min()):
        raise LacksError("the trace has less than two RTT samples in a round trip")
    interval, lasts = rules.number("probe_rtt_interval"), rules.number("probe_rtt_duration")
    if not trace.changes and float(np.quantile(rtts, 0.9)) > lasts:
        raise LacksError("the trace has no states, and at this RTT no dip of the data in flight")
    equal = rules.has("probe_rtt_renewed_by_equal") and rules.flag("probe_rtt_renewed_by_equal")
    stays = [*probe_rtts(trace, rules), None]
    begin, low, unsure = float(times[0]), float("inf"), 0.0
    for stay in stays:
        end = stay.begin if stay else trace.end
        waiting = (times >= begin) & (times < end)
        found = _Period(times[waiting], rtts[waiting], begin, low, equal)
        waits = list(_waits(found, interval, trace, unsure))
        yield from waits
        if stay is None:
            return
        # A dip is longer than ProbeRTT, before it or behind it.
        beyond = 0.0 if trace.changes else max(stay.end - stay.begin - lasts, 0.0)
        if not waits:
            latest = float(found.renewed[-1])
            slack = _slack(trace, stay.begin) + unsure + beyond
            waited = stay.begin - latest
            # A lower RTT between two rows may have made the last one seen no lower: only the period is sure.
            least = interval - slack - (latest - begin)
            if not trace.changes and waited < least:
                continue  # another dip, after a loss or a pause
            yield Occasion(
                stay.begin,
                waited,
                (least, interval + slack),
                f"ProbeRTT came {waited:.2f} s after min_rtt's last sample, {latest:.2f} s, "
                f"instead of {interval:g} s",
            )
        inside = rtts[(times >= stay.begin) & (times <= stay.end)]
        begin, low, unsure = stay.end, float(inside.min()) if len(inside) else float("inf"), beyond


def _slack(trace: Observed, time: float) -> float:
    return 2 * trace.at(trace.rtt, time) + 2 * trace.gap


@dataclass(frozen=True)
class _Period:
    """RTT samples between two ProbeRTTs, and the least RTT of the first of them."""

    times: Values
    rtts: Values
    begin: float
    low: float
    equal: bool

    @property
    def renewed(self) -> Values:
        """The times at which the least RTT was lowered, or as in BBRv2 equaled; the first is the begin."""
        least = np.minimum.accumulate(np.concatenate([[self.low], self.rtts]))[:-1]
        lower = self.rtts <= least * (1 + _ROUNDING) if self.equal else self.rtts < least
        return np.concatenate([[self.begin], self.times[lower]])


def _waits(period: _Period, interval: float, trace: Observed, unsure: float) -> Iterator[Occasion]:
    """Yields the intervals without a lower RTT, and without the ProbeRTT that is then due."""
    end = float(period.times[-1]) if len(period.times) else period.begin
    for stamp, until in pairwise([*period.renewed.tolist(), end]):
        slack = _slack(trace, stamp + interval) + unsure
        if until - stamp > interval + slack:
            yield Occasion(
                stamp + interval,
                until - stamp,
                (interval - slack, interval + slack),
                f"ProbeRTT did not come within {interval:g} s of min_rtt's last sample, {stamp:.2f} s",
            )


def _inflight(trace: Observed, rules: Rules) -> Iterator[Occasion]:
    inflight = trace.column("inflight")
    for stay in trace.stays("probertt"):
        if not stay.whole:
            continue
        one = bdp(trace, stay.begin, 10.0)
        least = float(np.nanmin(inflight[trace.rows(stay.begin, stay.end)], initial=np.inf))
        if one > 0 and np.isfinite(least):
            level = float(_level(trace, rules, np.array([one]))[0])
            most = (level * 1.1 + 2 * trace.segment) / one
            yield Occasion(stay.begin, least / one, (0.0, most))


def _duration(trace: Observed, rules: Rules) -> Iterator[Occasion]:
    least = rules.number("probe_rtt_duration")
    for stay in trace.stays("probertt"):
        if not stay.whole:
            continue
        rtts = trace.rtt[trace.rows(stay.begin, stay.end)]
        rtt = float(rtts.max()) if len(rtts) else trace.at(trace.rtt, stay.begin)
        within = (least - 2 * trace.gap, least + 4 * rtt + 2 * trace.gap)
        yield Occasion(stay.begin, stay.end - stay.begin, within)


def _interval(trace: Observed, rules: Rules) -> Iterator[Occasion]:
    base, spread = rules.number("probe_wait_base"), rules.number("probe_wait_spread")
    downs, refills = trace.stays("probebwdown"), trace.stays("probebwrefill")
    dips = trace.stays("probertt")
    repeated = False
    for down in downs:
        refill = next((each for each in refills if each.begin >= down.end), None)
        end = refill.begin if refill else trace.end
        if any(down.begin <= dip.begin <= end for dip in dips):
            continue
        rtt = trace.at(trace.least_rtt, down.begin)
        slack = 2 * float(trace.rtt[trace.rows(down.begin, end)].max(initial=rtt)) + 2 * trace.gap
        waited = end - down.begin
        rates = trace.bandwidth[trace.rows(down.begin, end)]
        segments = float(rates.min(initial=np.inf)) * rtt / 8 / trace.segment
        rounds = min(rules.number("reno_rounds"), segments)
        least = min(base, max(0.9 * rounds - rules.number("reno_rounds_choices"), 0.0) * rtt)
        if refill and waited < _AT_ONCE * trace.at(trace.rtt, down.begin) and not repeated:
            repeated = True  # one alone: two in a row are judged
            continue
        repeated = False
        if refill is None and waited <= base + spread + slack:
            continue  # the trace ends before it is due
        yield Occasion(down.begin, waited, (least - slack, base + spread + slack))


_PROBE_RTT = of_versions("draft-ietf-ccwg-bbr-06 §5.3.4", BBR2, BBR3) | of_versions(
    "draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.5", BBR1
)

CONDITIONS = (
    Condition(
        key="probe-rtt",
        what="time from min_rtt's last lower sample to ProbeRTT",
        unit="s",
        rule="ProbeRTT comes when no lower RTT was seen for its interval",
        sections=_PROBE_RTT,
        needs=("rtt", "states|inflight", "delivered"),
        occasions="interval of ProbeRTT without a lower RTT",
        because="two round trips, and two intervals between the trace's rows",
        measure=_comes,
        case="A.10",
    ),
    Condition(
        key="probe-rtt-inflight",
        what="least data in flight in ProbeRTT / BDP",
        unit="",
        rule="ProbeRTT lowers the data in flight to half a BDP, in BBRv1 to four segments",
        sections=_PROBE_RTT,
        needs=("states", "inflight", "delivered", "rtt|srtt"),
        occasions="whole ProbeRTT",
        because="10 %, and two segments",
        measure=_inflight,
        case="A.10",
    ),
    Condition(
        key="probe-rtt-duration",
        what="time in ProbeRTT",
        unit="s",
        rule="ProbeRTT lasts 200 ms, and the round trips that lower the data in flight",
        sections=_PROBE_RTT,
        needs=("states", "rtt|srtt"),
        occasions="whole ProbeRTT",
        because="at most four round trips more, as in case A.10, and two intervals between the trace's rows",
        measure=_duration,
        case="A.10",
    ),
    Condition(
        key="probe-interval",
        what="time from ProbeBW_DOWN to the next ProbeBW_REFILL",
        unit="s",
        rule="BBR probes for bandwidth after 2 to 3 s, or after as many rounds as Reno would need, at most 63",
        sections=of_versions("draft-ietf-ccwg-bbr-06 §5.3.3.8", BBR2, BBR3),
        needs=("states", "delivered", "rtt|srtt"),
        occasions="cycle of ProbeBW without ProbeRTT",
        because="two round trips, and two intervals between the trace's rows",
        measure=_interval,
        case="A.9",
    ),
)
