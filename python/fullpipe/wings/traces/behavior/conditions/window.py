"""The window after a loss: CUBIC's, Reno's and BBR's factors."""

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

    from fullpipe.wings.traces.behavior.observed import Event, Observed
    from fullpipe.wings.traces.behavior.rules import Rules

_APART = 4.0
"""Events that are closer than this number of RTTs are not judged: the window has not settled between them."""
_LONGEST = 2.5
"""An event with losses over more RTTs than this is not judged: it may be several."""
_AT_ONCE = 0.9
"""Without a threshold, this is the most: losses a round trip after the first ones may be those of a second event."""
_TIMEOUT = 2.5
"""A window of at most this number of segments after losses is that of a timeout, for which other rules hold."""
_FALL = 0.9
"""A window of more than this share has not fallen."""
_LEAST_WINDOW = 8.0
"""Smaller windows, in segments, need not fall by a tenth: the least window is two."""
_OF_WINDOW, _OF_FLIGHT = 0.04, 0.1
_SEGMENTS = 1.5
_MOST_ROUNDS = 3
"""Events over more round trips are not judged: several powers of beta bound nothing."""
_LATELY_S = 1.0
"""A bandwidth of this last time is still in BBR's filter, whose cycles take about two seconds or more."""


def decreases(trace: Observed) -> Iterator[tuple[Event, float, float, bool]]:
    """Yields each separate event after the first with the window before and after it.

    The last value says whether these are windows; otherwise they are data in flight. The first event
    ends slow start, whose window grows while the losses are on their way.
    """
    of_window = trace.has("cwnd")
    values = trace.column("cwnd" if of_window else "inflight")
    every: list[Event | None] = [*trace.episodes, None]
    for last, event, later in zip(every, every[1:], every[2:], strict=False):
        if last is None or event is None:
            return
        rtt = trace.at(trace.rtt, event.begin)
        apart = event.begin - last.end > _APART * rtt
        if later:
            apart = apart and later.begin - event.end > _APART * rtt
        longest = _LONGEST if trace.has("ssthresh") and of_window else _AT_ONCE
        if not apart or event.end - event.begin > longest * rtt or event.recovered > trace.end:
            continue
        rows = trace.rows(event.begin - max(rtt, 2 * trace.gap), event.begin)
        earlier = values[rows.start : event.first]
        if not len(earlier) or not np.isfinite(earlier).all():
            continue
        before = float(earlier[-1]) if of_window else float(earlier.max())
        after = _after(trace, event, rtt)
        if np.isfinite(after) and after > _TIMEOUT * trace.segment:
            yield event, before, after, of_window


def _after(trace: Observed, event: Event, rtt: float) -> float:
    """Returns the window that remains: the threshold, else the window when the losses are repaired."""
    if trace.has("ssthresh") and trace.has("cwnd"):
        values = trace.column("ssthresh")
        known = values[trace.rows(event.begin, event.recovered)]
        known = known[np.isfinite(known)]
        if len(known):
            return float(known[-1]) if len(np.unique(known[1:])) <= 1 else float("nan")
    values = trace.column("cwnd" if trace.has("cwnd") else "inflight")
    during = values[trace.rows(event.begin, event.recovered)]
    if not len(during) or during.min() <= _TIMEOUT * trace.segment:
        return float("nan")
    if trace.has("cwnd"):
        return trace.at(values, event.recovered)
    return float(np.median(values[trace.rows(event.recovered, event.recovered + rtt)]))


def _factor(trace: Observed, beta: float) -> Iterator[Occasion]:
    for event, before, after, of_window in decreases(trace):
        reach = (_OF_WINDOW if of_window else _OF_FLIGHT) + _SEGMENTS * trace.segment / before
        yield Occasion(event.begin, after / before, (beta - reach, beta + reach))


def _response(trace: Observed, _: Rules) -> Iterator[Occasion]:
    cwnd = trace.column("cwnd")
    for event in trace.episodes:
        rtt = trace.at(trace.rtt, event.begin)
        # A sender that does not respond may lose so much that its recovery never ends: the first loss is enough.
        first = trace.recovered(event.alone)
        end = max(event.begin + _LONGEST * rtt, first) + 2 * trace.gap
        before = trace.before(cwnd, event.begin)
        if end > trace.end or not before > _LEAST_WINDOW * trace.segment:
            continue
        known = cwnd[trace.rows(event.begin, end)]
        least = float(np.nanmin(known, initial=np.inf))
        yield Occasion(
            event.begin,
            least / before,
            (0.0, _FALL),
            f"the window has not fallen {end - event.begin:.2f} s after a loss at {event.begin:.2f} s:"
            f" {least / before:.3g} of it are left",
        )


def _cubic(trace: Observed, rules: Rules) -> Iterator[Occasion]:
    yield from _factor(trace, rules.number("beta"))


def _reno(trace: Observed, _: Rules) -> Iterator[Occasion]:
    yield from _factor(trace, 0.5)


def _bbr(trace: Observed, rules: Rules) -> Iterator[Occasion]:
    beta, gain = rules.number("beta"), rules.number("cwnd_gain")
    cwnd, cruises = trace.column("cwnd"), trace.stays("probebwcruise")
    for event in trace.losses:
        rtt = trace.at(trace.rtt, event.begin)
        end = event.end + 1.5 * rtt
        # In other states the window also changes its gain, or the long-term bound is set.
        if not any(stay.begin < event.begin - rtt and end < stay.end for stay in cruises):
            continue
        rounds = int(np.ceil((event.end - event.begin) / rtt)) + 1
        # The window also falls with the bandwidth: a BDP of the last second is sure to be one still.
        lately = trace.most_bandwidth_in(event.begin - max(_LATELY_S, 2 * rtt), event.begin)
        most = gain * lately * trace.at(trace.least_rtt, event.begin) / 8
        before = min(trace.before(cwnd, event.begin), most)
        if rounds > _MOST_ROUNDS or not before > 8 * trace.segment:
            continue
        after = float(cwnd[trace.rows(event.begin, end)].min())
        if after > _TIMEOUT * trace.segment:
            least = beta**rounds - _OF_WINDOW - _SEGMENTS * trace.segment / before
            yield Occasion(event.begin, after / before, (least, float("inf")))


_NEEDS = ("cwnd|inflight", "loss", "rtt|srtt")
_REASON = (
    "a segment and a half for rounding, and 0.04 of a window, or 0.1 of data in flight, "
    "for growth while the losses are repaired"
)

CONDITIONS = (
    Condition(
        key="beta",
        what="window after / before losses",
        unit="",
        rule="CUBIC keeps beta of its window after a loss",
        sections={"cubic": "RFC 9438 §4.6"},
        needs=_NEEDS,
        occasions="separate loss after slow start",
        because=_REASON,
        measure=_cubic,
    ),
    Condition(
        key="halving",
        what="window after / before losses",
        unit="",
        rule="Reno halves its window after a loss",
        sections={"newreno": "RFC 5681 §3.1, equation 4"},
        needs=_NEEDS,
        occasions="separate loss after slow start",
        because=_REASON,
        measure=_reno,
    ),
    Condition(
        key="loss-response",
        what="least window in the recovery from a loss / window before",
        unit="",
        rule="The window falls when a packet is lost",
        sections={"cubic": "RFC 9438 §4.6", "newreno": "RFC 5681 §3.1, equation 4"},
        needs=("cwnd", "loss", "rtt|srtt"),
        occasions="loss with a window of more than eight segments",
        because="a fall by a tenth, where the rules have three tenths or a half",
        measure=_response,
    ),
    Condition(
        key="loss-floor",
        what="window after / before losses",
        unit="",
        rule="BBR keeps at least beta of its window in each round trip of ProbeBW_CRUISE with losses",
        sections=of_versions("draft-ietf-ccwg-bbr-06 §5.5.10", BBR2, BBR3),
        needs=("cwnd", "states", "delivered", "loss", "rtt|srtt"),
        occasions="loss of at most three round trips within ProbeBW_CRUISE",
        because="a segment and a half for rounding, and 0.04",
        measure=_bbr,
        case="A.21",
    ),
)
