"""Differences between contenders: in sentences, and as a table."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING

from fullpipe.report.model import Finding, Number, Section, Table
from fullpipe.report.values import shown, titled
from fullpipe.stats import family, is_shown, paired, sentences
from fullpipe.stats.compare import LEAST_PAIRS
from fullpipe.stats.words import Compared, digits, is_large, none_significant, percent_digits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fullpipe.report.model import Cell
    from fullpipe.report.values import Group
    from fullpipe.stats import Quantity

_EACH_WITH_EACH = 4
_MOST_SENTENCES = 12


def compared(groups: Sequence[Group], metrics: Sequence[Quantity]) -> list[Compared]:
    """Compares contenders with the same setting, metric by metric, corrected for the number of comparisons.

    Compared are the same flow in different runs, and different flows of the same runs.
    """
    wanted = [each for each in metrics if is_shown(each.column, "differences")]
    found = []
    for one, other in _pairs(groups):
        for quantity in wanted:
            a, b = other.values.get(quantity.column, {}), one.values.get(quantity.column, {})
            if len(a.keys() & b.keys()) >= LEAST_PAIRS:
                found.append(
                    Compared(other.contender, one.contender, quantity, paired(a, b), one.place)
                )
    return family(found)


def _pairs(groups: Sequence[Group]) -> Iterator[tuple[Group, Group]]:
    """Yields all pairs of contenders, or with more than four each with the first."""
    places: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        places[group.place].append(group)
    for there in places.values():
        bundles: dict[tuple[str, object], list[Group]] = defaultdict(list)
        for group in there:
            bundles["flow", group.role].append(group)
        for group in there:
            bundles["run", group.point].append(group)
        for bundle in bundles.values():
            if len(bundle) <= _EACH_WITH_EACH:
                yield from combinations(bundle, 2)
            else:
                yield from ((bundle[0], each) for each in bundle[1:])


def findings(comparisons: Sequence[Compared]) -> tuple[list[Finding], str]:
    """Returns sentences on the significant differences, and a note on the method.

    With many settings, a sentence summarizes a metric over all of them.
    """
    if not comparisons:
        return (
            [],
            f"No comparison: it needs two contenders and {LEAST_PAIRS} seeds that both ran with.",
        )
    told = sentences(comparisons)
    note = (
        f"{len(comparisons):,} comparisons, paired by seed. Listed are the differences that are significant at 5 % "
        "by the paired t-test. P-values and intervals are corrected for the number of comparisons "
        "(Benjamini–Hochberg, Benjamini–Yekutieli)."
    )
    if len({each.where for each in comparisons}) == 1 or len(told) <= _MOST_SENTENCES:
        found = [Finding(each.text, each.better) for each in told]
    else:
        found = _summed(comparisons)
    return found or [Finding(none_significant(comparisons))], note


def _summed(comparisons: Sequence[Compared]) -> list[Finding]:
    """Summarizes for each pair of contenders and metric the number and size of differences."""
    bundles: dict[tuple[str, str, str], list[Compared]] = defaultdict(list)
    for each in comparisons:
        bundles[each.a, each.b, each.quantity.column].append(each)
    found = []
    for (a, b, _), bundle in bundles.items():
        quantity = bundle[0].quantity
        ways: list[tuple[int, int, str]] = []
        for sign, word in ((-1, "lower"), (1, "higher")):
            those = [
                one
                for one in bundle
                if one.comparison.significant and one.comparison.difference.value * sign > 0
            ]
            if those:
                of = "" if ways else f" of {len(bundle)} settings"
                ways.append((len(those), sign, f"{word} at {len(those)}{of}{_by(those)}"))
        if ways:
            large = any(is_large(one) for one in bundle if one.comparison.significant)
            better = quantity.better * ways[0][1] if len(ways) == 1 and large else 0
            words = "; ".join(text for _, _, text in ways)
            found.append(Finding(f"{a} vs. {b}: {quantity.words} {words}.", better))
    return found


def _by(those: Sequence[Compared]) -> str:
    """Describes the typical size of differences, in percent where possible."""
    changes = [abs(one.comparison.ratio.value - 1) * 100 for one in those]
    if those[0].quantity.unit in ("", "%") or not all(change == change for change in changes):
        unit = "points" if those[0].quantity.unit == "%" else those[0].quantity.unit
        amounts = [abs(one.comparison.difference.value) * one.quantity.scale for one in those]
        return f", by {digits(median(amounts))} {unit}".rstrip() + (
            " (median)" if len(those) > 1 else ""
        )
    ratio = median(one.comparison.ratio.value for one in those)
    size = f"to {digits(ratio)} times" if ratio >= 2 else f"by {percent_digits(median(changes))} %"
    return f", {size}" + (" (median)" if len(those) > 1 else "")


def section(comparisons: Sequence[Compared]) -> Section | None:
    """Returns the table of all comparisons, significant or not."""
    if not comparisons:
        return None
    rows: list[tuple[Cell, ...]] = []
    somewhere = any(each.where for each in comparisons)
    for each in comparisons:
        it, quantity = each.comparison, each.quantity
        rows.append(
            (
                *([each.where] if somewhere else []),
                titled(quantity),
                each.a,
                Number(it.a, shown(quantity, it.a)),
                each.b,
                Number(it.b, shown(quantity, it.b)),
                Number(
                    it.difference.value,
                    f"{shown(quantity, it.difference.value)} [{shown(quantity, it.difference.low)}, "
                    f"{shown(quantity, it.difference.high)}]",
                ),
                Number(
                    it.ratio.value,
                    f"{it.ratio.value:.3g} [{it.ratio.low:.3g}, {it.ratio.high:.3g}]",
                )
                if it.ratio.value == it.ratio.value
                else Number(None, "–"),
                Number(it.p, f"{it.p:.2g}") if it.p == it.p else Number(None, "–"),
                ("yes" if it.significant else "no"),
            )
        )
    columns = (
        *(["Setting"] if somewhere else []),
        "Metric",
        "A",
        "mean A",
        "B",
        "mean B",
        "A − B [95 %]",
        "A / B [95 %]",
        "corrected p",
        "Significant",
    )
    note = "Paired by seed. A significant difference may still be too small to matter: consider its size."
    return Section(
        "Differences", [Table("Contenders compared, paired by seed", columns, rows)], note
    )
