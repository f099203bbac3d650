"""Checks for flaws of a comparison that no interval shows, however narrow it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fullpipe.runs.view.table import short
from fullpipe.stats.clusters import Clusters, sample_ratio
from fullpipe.stats.words import digits
from fullpipe.wings.fleet.compare.count import GROUPS
from fullpipe.wings.fleet.compare.decide import said, signed
from fullpipe.wings.fleet.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fullpipe.wings.fleet.compare.decide import Compared
    from fullpipe.wings.fleet.compare.estimate import Estimates

    Values = NDArray[np.float64]

ENOUGH_DATA = "enough data"
"""Name of the check of the size of the data, which makes no verdict doubtful."""
_MISMATCH = 0.001
"""The check of sample ratios fails below this p. Strict, since a failure discredits all results."""
_MIX = 0.05
_FEW = 5
_MOST_OF_IT, _ENOUGH_HOSTS = 0.75, 8
"""A host with this share of the variance makes intervals twice as wide; of 8 that are alike, one does so by chance in
a hundredth of the cases (Grubbs' test)."""
_OVERLAP = 0.8
_OWN = 0.5
_FAMILY = {"bbr": ("bbr", "bbr1", "bbrv1"), "bbr2": ("bbr2", "bbrv2"), "bbr3": ("bbr3", "bbrv3")}


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        name: Name of the check.
        fine: Whether the check found no flaw; None if it can't be made.
        text: The finding.
    """

    name: str
    fine: bool | None
    text: str


def checks(estimates: Estimates, compared: Sequence[Compared]) -> list[Check]:
    """Makes all checks."""
    found = [
        _clusters(estimates),
        _division(estimates),
        _filter(estimates),
        _mix(estimates, compared),
    ]
    found += [
        _times(estimates),
        _driven(estimates, compared),
        _power(estimates, compared),
        _names(estimates),
        _files(estimates),
    ]
    return found


def _clusters(estimates: Estimates) -> Check:
    """Checks that each arm has enough independent clusters."""
    plan, table = estimates.plan, _main(estimates)
    clusters = estimates.clusters[table]
    numbers = [clusters.number(arm) for arm in range(len(plan.arms))]
    of, grouped = _words(plan.unit), plan.unit != "host" and min(numbers) == GROUPS
    counts = ", ".join(f"{arm} {number}" for arm, number in zip(plan.arms, numbers, strict=True))
    groups = "" if plan.unit == "host" else f", in {GROUPS} groups" if grouped else ", in groups"
    text = f"{of} were resampled ({plan.why}){groups}{'' if grouped else f': {counts}'}"
    if min(numbers) < 2:
        text += ". A single cluster has no spread, so there are no intervals"
    elif min(numbers) < _FEW:
        text += f"; with fewer than {_FEW}, intervals are wide and assume that {of} are alike"
    apart = plan.nested and plan.unit not in ("pair", "host") and min(_hosts(estimates)) == 1
    if apart:
        text += (
            ". The intervals leave out differences between hosts: "
            "the effect of an arm with one host can't be separated from that of the host"
        )
    return Check("clusters", min(numbers) >= _FEW and not apart, text)


def _division(estimates: Estimates) -> Check:
    """Checks that each arm has its expected share of connections (sample ratio mismatch)."""
    plan, table = estimates.plan, _main(estimates)
    seen, draws = estimates.counted.seen[table], estimates.draws[table]
    if empty := [arm for arm, own in zip(plan.arms, seen, strict=True) if not own.any()]:
        return Check(
            "sample ratio", False, f"no {table} in {', '.join(empty)}, so nothing to compare"
        )
    arms, clusters = np.indices(seen.shape)
    there = Clusters(arms.ravel(), clusters.ravel(), seen.ravel())
    expected, why = _expected(estimates)
    plain, robust = sample_ratio(there, draws[1:].reshape(len(draws) - 1, -1), expected)
    counts = seen.sum(axis=1)
    shares = ", ".join(
        f"{arm} {count / counts.sum():.1%} ({wanted:.1%})"
        for arm, count, wanted in zip(plan.arms, counts, expected, strict=True)
    )
    text = f"{table} by arm, expected share in parentheses ({why}): {shares}; chi-squared p {_p(plain)}"
    if math.isnan(robust):
        return Check("sample ratio", plain >= _MISMATCH, text)
    text += f", with clusters p {_p(robust)}"
    if robust < _MISMATCH:
        text += ". The arms did not get their expected shares: find the cause before you trust any other result"
    return Check("sample ratio", robust >= _MISMATCH, text)


def _expected(estimates: Estimates) -> tuple[Values, str]:
    plan = estimates.plan
    if plan.options.ratio:
        parts = np.array([plan.options.ratio[arm] for arm in plan.arms])
        return parts / parts.sum(), "from --ratio"
    if plan.nested and plan.unit != "pair":
        hosts = np.array(_hosts(estimates), dtype=float)
        return hosts / hosts.sum(), "by number of hosts"
    return np.full(len(plan.arms), 1 / len(plan.arms)), "equal shares"


def _filter(estimates: Estimates) -> Check:
    """Checks that the share of rows that pass the filter by size is similar in all arms."""
    plan, table = estimates.plan, _main(estimates)
    seen, kept = (
        each[table].sum(axis=1) for each in (estimates.counted.seen, estimates.counted.size)
    )
    shares = kept / np.maximum(seen, 1)
    text = ", ".join(f"{arm} {share:.1%}" for arm, share in zip(plan.arms, shares, strict=True))
    ratio = float(shares.max() / shares.min()) - 1 if shares.min() > 0 else math.inf
    text = f"share of {table} with at least {plan.options.min_bytes:,} bytes: {text}"
    if ratio > plan.options.effect:
        text += ". An arm with more aborted downloads keeps only its better ones: also compare with --min-bytes 0"
    return Check("filter", ratio <= plan.options.effect, text)


def _mix(estimates: Estimates, compared: Sequence[Compared]) -> Check:
    """Checks that the arms have similar mixes of RTTs, or else that the mix decides no verdict."""
    name, mix = "RTT mix", estimates.mix
    if estimates.plan.unit == "pair":
        return Check(name, None, "every arm ran on every path, so the users are the same")
    if mix is None:
        return Check(
            name,
            None,
            "RTTs are unknown, known for too few rows, or from one cluster: whether the arms serve the same users "
            "is not judged",
        )
    what = "connections" if mix.table == "connections" else "requests"
    which = "minimum" if mix.table == "connections" else "smoothed"
    text = (
        f"{mix.far:.1%} of {mix.arm}'s {what} would need a different {which} RTT to match the mix of all "
        f"arms (up to {mix.chance:.1%} by chance)"
    )
    if not mix.differs:
        return Check(name, True, text)
    changed = [each for each in compared if each.changed]
    if changed:
        text += f": with the same mix, the verdict is another for {_listed(changed)}"
        text += ". The arms serve different users, or one lost users"
        if mix.table == "requests":
            text += ", or their queues differ: ingest outputs of ss, whose minimum RTTs tell which"
        return Check(name, False, text)
    text += ": with the same mix, every verdict is the same"
    return Check(name, mix.far <= _MIX, text)


def _times(estimates: Estimates) -> Check:
    """Checks that the arms were observed at the same time."""
    plan, table = estimates.plan, _main(estimates)
    rows = (
        plan.rows[table]
        .filter(pl.col("kept") > 0)
        .group_by("arm")
        .agg(pl.col("start").min(), pl.col("end").max())
    )
    spans = {
        arm: (start, end)
        for arm, start, end in rows.iter_rows()
        if arm in plan.arms and start is not None
    }
    if len(spans) < 2:
        return Check("same time", None, "times are unknown")
    latest, earliest = (
        max(start for start, _ in spans.values()),
        min(end for _, end in spans.values()),
    )
    longest = max((end - start).total_seconds() for start, end in spans.values())
    shared = max((earliest - latest).total_seconds(), 0.0)
    text = f"all arms were observed together for {_long(shared)} of {_long(longest)}"
    fine = longest == 0 or shared >= _OVERLAP * longest
    return Check(
        "same time",
        fine,
        text + ("" if fine else ": differences may come from the time of observation, not the arm"),
    )


def _driven(estimates: Estimates, compared: Sequence[Compared]) -> Check:
    """Checks that no verdict depends on a single host."""
    name, found = "one host", [each for each in compared if each.alone]
    if estimates.plan.unit == "pair":
        return Check(name, None, "every arm ran on every path, so no host can cause a difference")
    widened = _widened(estimates)
    if not any(each.verdict in ("better", "worse", "higher", "lower") for each in compared):
        return Check(name, None, f"there is no difference that one host could cause{widened}")
    if not found:
        return Check(name, True, f"no verdict changes when any one host is left out{widened}")
    parts = []
    for each in found[:3]:
        assert each.alone
        host, value = each.alone
        without = math.exp(value) if each.change.relative else value * each.metric.quantity.scale
        rest = (
            f"{signed((without - 1) * 100)} %"
            if each.change.relative
            else f"{signed(without)} {each.metric.quantity.unit}"
        )
        parts.append(
            f"without {host}, {each.metric.quantity.words} of {each.a} vs. {each.b} is {rest}, not {said(each)}"
        )
    more = f"; {len(found) - 3} more" if len(found) > 3 else ""
    return Check(name, False, "; ".join(parts) + more + widened)


def _widened(estimates: Estimates) -> str:
    """Returns the host that causes most of the spread of the most metrics, which makes their intervals wide, in words.

    The share of a host in the jackknife's variance tells how much narrower an interval would be without it.
    """
    of: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for each in estimates.all:
        for arm, without in zip(estimates.plan.arms, each.without, strict=True):
            there = np.flatnonzero(np.isfinite(without))
            if len(there) < _ENOUGH_HOSTS or without.shape[0] != len(estimates.plan.hosts):
                continue
            pulls = np.square(without[there] - without[there].mean())
            share = float(pulls.max() / pulls.sum()) if pulls.any() else 0.0
            if share > _MOST_OF_IT:
                host = estimates.plan.hosts[there[pulls.argmax()]]
                factor = math.sqrt(1 / max(1 - share, 1e-4))
                of.setdefault((host, arm), []).append((factor, each.metric.quantity.words))
    if not of:
        return ""
    (host, arm), found = max(of.items(), key=lambda item: len(item[1]))
    factor, words = max(found)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return (
        f". {host} differs from the other hosts of {arm}: without it the interval of {words} "
        f"would be about {digits(factor)} times as narrow{more}"
    )


def _power(estimates: Estimates, compared: Sequence[Compared]) -> Check:
    """Checks that the data are enough to detect the smallest effect of interest."""
    name, effect = ENOUGH_DATA, estimates.plan.options.effect
    known = [each for each in compared if math.isfinite(each.data) and each.change.relative]
    short = sorted((each for each in known if each.data > 1), key=lambda each: -each.data)
    if not known:
        return Check(name, None, "without intervals, the power can't be estimated")
    if not short:
        return Check(
            name,
            True,
            f"an effect of {effect:.0%} would be detected in 4 of 5 such experiments, for every metric",
        )
    open_ = [each for each in short if each.verdict == "undecided"]
    seen = f"{len(known) - len(short)} of {len(known)} comparisons"
    text = f"an effect of {effect:.0%} would be detected in 4 of 5 such experiments for {seen}"
    if not open_:
        return Check(name, True, f"{text}; none of the others is undecided")
    least, most = _times_as_much(open_[-1].data), _times_as_much(open_[0].data)
    are = "is" if len(open_) == 1 else "are"
    times = least if least == most else f"{least} to {most}"
    return Check(
        name,
        False,
        f"{text}. {len(open_)} of the others {are} undecided and would need {times} times the data",
    )


def _times_as_much(data: float) -> str:
    return f"{data:.1f}" if data < 10 else f"{data:,.0f}"


def _names(estimates: Estimates) -> Check:
    """Checks that connections ran the algorithm in the name of their arm."""
    cc = estimates.plan.cc
    known = cc.filter(pl.col("cc").is_not_null())
    if not len(known):
        return Check("algorithm", None, "the congestion control of the connections is unknown")
    parts, fine = [], True
    for arm in estimates.plan.arms:
        rows = known.filter(pl.col("arm") == arm)
        if not len(rows):
            continue
        first, share = rows["cc"][0], rows["rows"][0] / rows["rows"].sum()
        names = _FAMILY.get(first, (first,))
        called = (
            any(name in arm.lower() for names in _FAMILY.values() for name in names)
            or "cubic" in arm.lower()
        )
        mine = any(name in arm.lower() for name in names)
        fine &= share > _OWN * 1.9 and (mine or not called)
        parts.append(f"{arm} {share:.1%} {first}")
    return Check("algorithm", fine, f"most frequent congestion control: {', '.join(parts)}")


def _files(estimates: Estimates) -> Check:
    """Checks that all rows are there that were written."""
    name, listed = "files", record(estimates.plan.options.directory)
    if listed is None:
        return Check(
            name, None, "no list of the tables' files is there: a missing file is not noticed"
        )
    if listed.missing:
        return Check(name, False, listed.missing)
    return Check(name, True, "all files of these tables are as they were written")


def _main(estimates: Estimates) -> str:
    """Returns the table that represents users best."""
    return next(
        table
        for table in ("connections", "requests", "counters")
        if table in estimates.counted.size
    )


def _hosts(estimates: Estimates) -> list[int]:
    """Returns the number of hosts of each arm."""
    rows = estimates.plan.rows[_main(estimates)].filter(pl.col("rows") > 0)
    return [rows.filter(pl.col("arm") == arm)["host"].n_unique() for arm in estimates.plan.arms]


def _words(unit: str) -> str:
    return {"net": "clients' networks (/24, /48)", "client": "clients", "pair": "pairs"}.get(
        unit, f"{unit}s"
    )


def _listed(compared: Sequence[Compared]) -> str:
    names: Iterator[str] = iter(dict.fromkeys(each.metric.quantity.words for each in compared))
    return ", ".join(names)


def _p(p: float) -> str:
    return f"= {p:.2g}" if p >= 1e-4 else "< 0.0001"


def _long(seconds: float) -> str:
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size * (2 if unit == "days" else 1):
            return f"{short(seconds / size)} {unit}"
    return f"{seconds:.3g} s"
