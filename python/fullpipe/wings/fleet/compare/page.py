"""A comparison as a report: the decision first, then its evidence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.report.model import Number, Report, Section, Table
from fullpipe.report.values import shown
from fullpipe.runs.view.table import short
from fullpipe.wings.fleet.compare import figures, metrics
from fullpipe.wings.fleet.compare.decide import pairs, said
from fullpipe.wings.fleet.compare.extras import cpu, ecn, histograms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.model import Block, Cell
    from fullpipe.wings.fleet.compare.analysis import Analysis
    from fullpipe.wings.fleet.compare.decide import Compared
    from fullpipe.wings.fleet.compare.metrics import Metric

VERDICTS = {
    "better": "better",
    "worse": "worse",
    "higher": "higher",
    "lower": "lower",
    "slight": "negligible: below the effect of interest",
    "same": "same, within the effect of interest",
    "undecided": "undecided",
    "unknown": "no interval",
}
_SIGNS = {True: "fine", False: "warning", None: "–"}


def page(analysis: Analysis) -> Report:
    """Builds the whole report."""
    plan = analysis.plan
    arms = ", ".join(plan.arms)
    facts = [
        (
            table,
            ", ".join(f"{arm} {number:,}" for arm, number in zip(plan.arms, numbers, strict=True)),
        )
        for table, numbers in analysis.numbers().items()
    ]
    facts.append(("minimum size", f"{plan.options.min_bytes:,} bytes"))
    if plan.start:
        hours = plan.step_us * plan.times / 3.6e9
        facts.append(("from", f"{plan.start:%Y-%m-%d %H:%M} UTC, {short(hours)} h"))
    return Report(
        f"{plan.options.directory.name}: {arms}",
        "Comparison of the fleet's arms: differences for users, their uncertainty, and possible flaws.",
        facts,
        analysis.findings,
        analysis.note,
        [each for each in _sections(analysis) if each and each.blocks],
    )


def _sections(analysis: Analysis) -> list[Section | None]:
    estimates = analysis.estimates
    rate = [
        figures.distribution(estimates, each)
        for each in (metrics.THROUGHPUT, metrics.BUSY_RATE, metrics.BANDWIDTH)
    ]
    over = {each.title: each for each in figures.times(estimates)}
    losses = [over.pop(title) for title in list(over) if title.startswith(("RetransSegs", "Loss"))]
    busy = [over.pop(title) for title in list(over) if title.startswith("CPU")]
    by_rtt = [figures.by_rtt(estimates, each) for each in metrics.MAIN]
    return [
        Section("Decision", list(_decisions(analysis)), _decision_note(analysis)),
        Section(
            "Checks",
            [_checks(analysis)],
            "Intervals can't show whether the arms are comparable at all. These checks test that.",
        ),
        Section(
            "Loss",
            _there(
                [
                    *losses,
                    figures.distribution(estimates, metrics.LOSS),
                    figures.tail(estimates),
                    _outliers(analysis),
                ]
            ),
        ),
        Section(
            "Throughput",
            [*over.values(), *_there(rate)],
            "Bands are pointwise 95 % intervals.",
        ),
        Section(
            "In flight and RTT",
            _there(
                [figures.distribution(estimates, each) for each in (metrics.INFLIGHT, metrics.RTT)]
            )
            + _queues(analysis),
        ),
        Section(
            "Receive window and reordering",
            _there(
                [
                    figures.distribution(estimates, each)
                    for each in (metrics.RWND, metrics.REORDERING)
                ]
            ),
        ),
        Section("By minimum RTT", _there([*by_rtt, _by(analysis, "rtt")])),
        Section(f"By {analysis.plan.by.name}", _there([_by(analysis, analysis.plan.by.name)]))
        if analysis.plan.by
        else None,
        _paths(analysis),
        ecn(analysis),
        cpu(busy),
        histograms(analysis),
    ]


def _there(blocks: Sequence[Block | None]) -> list[Block]:
    return [each for each in blocks if each]


def _decision_note(analysis: Analysis) -> str:
    effect = analysis.plan.options.effect
    standard = " “Standardized by RTT” is the effect if both arms had the same mix of minimum RTTs."
    return (
        "A verdict other than “undecided” or “no interval” needs a corrected p of at most 0.05, or an interval within "
        f"{effect:.0%}, the smallest effect of interest. Intervals are corrected for the number of comparisons, too."
        + (standard if any(each.standard for each in analysis.compared) else "")
    )


def _decisions(analysis: Analysis) -> list[Block]:
    plan, tables = analysis.plan, []
    for a, b in pairs(len(plan.arms)):
        one, other = plan.arms[a], plan.arms[b]
        rows = [each for each in analysis.compared if (each.a, each.b) == (one, other)]
        if not rows:
            continue
        standard = any(each.standard for each in rows)
        columns = (
            "metric",
            f"{other}",
            f"{one}",
            "effect (95 % CI)",
            *(["standardized by RTT"] if standard else []),
        )
        columns = (
            *columns,
            "corrected p",
            f"verdict on {one}",
            f"data needed for {plan.options.effect:.0%}",
        )
        tables.append(
            Table(
                f"{one} vs. {other}",
                columns,
                [_decision(each, standard) for each in rows],
                names=(one, other),
            )
        )
    means: list[tuple[Cell, ...]] = [
        (each.quantity.words, each.means)
        for each in dict.fromkeys(one.metric for one in analysis.compared)
    ]
    return [*tables, Table("Definitions of the metrics", ("metric", "definition"), means)]


def _decision(each: Compared, standard: bool) -> tuple[Cell, ...]:
    quantity = each.metric.quantity
    unit = f", {quantity.unit}" if quantity.unit else ""
    beside: tuple[Cell, ...] = ()
    if standard:
        beside = (
            Number(each.standard.spread.value, said(each, each.standard))
            if each.standard
            else Number(None, "–"),
        )
    return (
        quantity.words + unit,
        Number(each.value_b.value, shown(quantity, each.value_b.value)),
        Number(each.value_a.value, shown(quantity, each.value_a.value)),
        Number(each.change.spread.value, said(each)),
        *beside,
        Number(each.p, f"{each.p:.2g}" if math.isfinite(each.p) else "–"),
        VERDICTS[each.verdict] + (f" (changes without {each.alone[0]})" if each.alone else ""),
        Number(each.data, _data(each.data)),
    )


def _data(times: float) -> str:
    if not math.isfinite(times):
        return "–"
    return "enough" if times <= 1 else f"{times:.1f} ×" if times < 10 else f"{times:,.0f} ×"


def _checks(analysis: Analysis) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (each.name, _SIGNS[each.fine], each.text) for each in analysis.checks
    ]
    return Table("Checks", ("check", "result", "finding"), rows)


def _outliers(analysis: Analysis) -> Table | None:
    """Tabulates the loss with and without outliers."""
    strata = analysis.estimates.counted.strata
    if ("rtt", "outliers") not in strata:
        return None
    rows: list[tuple[Cell, ...]] = []
    for arm, name in enumerate(analysis.plan.arms):
        outliers, mean, whole = (
            strata["rtt", key][arm].sum(axis=(0, 1)) for key in ("outliers", "loss_mean", "loss")
        )
        number, of = int(outliers[0]), int(outliers[1])
        if not of:
            continue
        without = mean[0] / mean[1] if mean[1] else math.nan
        buckets = metrics.LOSS.buckets
        assert buckets
        quantiles = [float(buckets.quantile(whole[None], share)[0]) for share in (0.5, 0.9, 0.99)]
        rows.append(
            (
                name,
                Number(of, f"{of:,}"),
                Number(number, f"{number:,}"),
                Number(number / of, f"{number / of:.2g}" if number else "0"),
                Number(without, f"{without * 100:.3g}"),
                *(Number(each, f"{each * 100:.3g}") for each in quantiles),
            )
        )
    share = f"{metrics.OUTLIER:.0%}"
    columns = (
        "arm",
        "connections",
        f"outliers (> {share})",
        "share of outliers",
        "mean loss without outliers, %",
        "median, %",
        "p90, %",
    )
    return Table(
        f"Loss of connections, and outliers that lost more than {share}", (*columns, "p99, %"), rows
    )


def _queues(analysis: Analysis) -> list[Block]:
    """Draws RTT against packets in flight."""
    estimates, plan = analysis.estimates, analysis.plan
    found = next((each for each in estimates.all if each.metric is metrics.FAIRNESS), None)
    titles = [
        f"RTT and packets in flight, {arm}"
        + (
            f": rank correlation {found.values[number, 0]:.2f}"
            if found and np.isfinite(found.values[number, 0])
            else ""
        )
        for number, arm in enumerate(plan.arms)
    ]
    return figures.densities(
        estimates, estimates.counted.queues, titles, ("RTT, ms", 1e3), ("packets in flight", 1.0)
    )


def _by(analysis: Analysis, name: str) -> Table | None:
    """Tabulates effects by stratum, corrected for multiple comparisons over all strata."""
    compared = analysis.by_rtt if name == "rtt" else analysis.by(name)
    if not compared:
        return None
    strata = list(dict.fromkeys(label for label, _ in compared))
    rows: list[tuple[Cell, ...]] = []
    for label, one in compared:
        quantity = one.metric.quantity
        rows.append(
            (
                Number(strata.index(label), label),
                f"{quantity.words}{f', {quantity.unit}' if quantity.unit else ''}",
                f"{one.a} vs. {one.b}",
                Number(one.value_b.value, shown(quantity, one.value_b.value)),
                Number(one.value_a.value, shown(quantity, one.value_a.value)),
                Number(one.change.spread.value, said(one)),
                VERDICTS[one.verdict],
            )
        )
    heads = (
        "minimum RTT" if name == "rtt" else name,
        "metric",
        "arms",
        "second arm",
        "first arm",
        "effect",
        "verdict on the first arm",
    )
    return Table(f"Effects by {'minimum RTT' if name == 'rtt' else name}", heads, rows)


def _paths(analysis: Analysis) -> Section | None:
    blocks, rows, said_of = figures.paths(analysis.estimates)
    if not blocks:
        return None
    if rows:
        cells: list[tuple[Cell, ...]] = [
            (kind, at, means, Number(share, f"{share:.1%}")) for kind, at, means, share in rows
        ]
        blocks.append(
            Table(
                "Bands of common values",
                ("kind", "range", "possible meaning", "share of connections"),
                cells,
            )
        )
    note = "Dashed lines mark bands found in all arms together. " + " ".join(said_of)
    return Section("Distances and access rates", blocks, note)


def metric_of(column: str) -> Metric:
    """Returns the metric with a given key."""
    return next(
        each for each in (*metrics.METRICS, metrics.FAIRNESS) if each.quantity.column == column
    )
