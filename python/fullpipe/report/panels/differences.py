"""Differences between contenders: in sentences, and as a table."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from statistics import fmean, median
from typing import TYPE_CHECKING

from fullpipe.report.model import Finding, Number, Section, Table
from fullpipe.report.values import is_of_run, placed, shown, titled
from fullpipe.results.model import RESULTS, Axis
from fullpipe.results.overlay import factors
from fullpipe.results.words import short
from fullpipe.stats import family, paired, sentences
from fullpipe.stats.compare import ADVISED, LEAST_PAIRS, more_seeds
from fullpipe.stats.steady import by_point, followed
from fullpipe.stats.words import (
    LARGE,
    LEAST_TOLD,
    Compared,
    by_size,
    digits,
    is_large,
    is_told,
    none_significant,
    of_means,
    percent_texts,
    reaches_nothing,
    signed,
    size,
    spanned,
    way,
    with_price,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fullpipe.report.model import Cell
    from fullpipe.report.values import Group
    from fullpipe.results.model import Results
    from fullpipe.results.overlay import Factor
    from fullpipe.stats import Comparison, Quantity

_EACH_WITH_EACH = 4
_MOST_SENTENCES = 12
_MOST_UNTESTED = 400
_MOST_OF_MEANS = 4
_MOST_NAMED = 2


def compared(
    results: Results, groups: Sequence[Group], metrics: Sequence[Quantity]
) -> list[Compared]:
    """Compares contenders, metric by metric, corrected for the number of comparisons.

    Compared are the same flow under two values of a key, with the same setting of all other keys,
    and two flows of the same runs that have the same kind of application and a link in common. Without three seeds that
    both ran with, a comparison has means only, and counts in no correction.
    """
    several = _several(groups)
    drifting = {
        number: {followed(each.quantity.column) for each in verdict.drifting}
        for number, verdict in by_point(results.rows).items()
        if verdict.verdict == "drifts"
    }
    found = []
    for one, other, factor in _pairs(results, groups):
        for quantity in metrics:
            a, b = other.values.get(quantity.column, {}), one.values.get(quantity.column, {})
            if a and b:
                whole = is_of_run(quantity.column)
                (first, second), where = _names(one, other, factor), _place(one, factor, whole)
                named = several or not (one.only or _is_cc(factor))
                flow = (
                    one.contender if named and factor and not whole and not _is_cc(factor) else ""
                )
                if flow and one.contender != other.contender:  # then both names are needed
                    first, second = (_owned(each, factor) for each in (one, other))
                    flow = ""
                comparison = _compare(a, b)
                drifts = any(
                    followed(quantity.column) in drifting.get(each.point, ())
                    for each in (one, other)
                )
                found.append(
                    Compared(
                        second,
                        first,
                        quantity,
                        comparison,
                        where,
                        flow,
                        bool(factor),
                        not factor or _is_cc(factor),
                        drifts,
                    )
                )
    return family(found)


def _compare(a: Mapping[int, float], b: Mapping[int, float]) -> Comparison:
    """Returns the comparison by seed, or with too few seeds in common that of the means."""
    if len(a.keys() & b.keys()) >= LEAST_PAIRS:
        return paired(a, b)
    return paired({0: fmean(a.values())}, {0: fmean(b.values())})


def _several(groups: Sequence[Group]) -> bool:
    """Returns whether a run has several contenders."""
    return len({group.point for group in groups}) < len(groups)


def _pairs(results: Results, groups: Sequence[Group]) -> Iterator[tuple[Group, Group, Factor]]:
    """Yields all pairs of contenders, or with more than four each with the first, and the factor that differs."""
    several, _ = factors(results.axes, results.points)
    for factor in [*several, ()]:
        bundles: dict[object, list[Group]] = defaultdict(list)
        for group in groups:
            others = tuple(item for item in group.varied.items() if item[0] not in factor)
            bundles[group.role, group.kind, others].append(group)
        for bundle in bundles.values():
            for some in _told_apart(bundle, factor):
                for one, other in _some(some):
                    yield one, other, factor
    runs: dict[object, list[Group]] = defaultdict(list)
    for group in groups:
        runs[group.point, group.kind].append(group)
    for bundle in runs.values():
        for one, other in _some(bundle):
            if not _apart(one, other):
                yield one, other, ()


def _apart(one: Group, other: Group) -> bool:
    """Returns whether two flows of a run are known to share no link."""
    return bool(one.route and other.route) and one.route.isdisjoint(other.route)


def without_a_link(groups: Sequence[Group]) -> str:
    """Returns a sentence if flows of a run are not compared since they share no link; else nothing."""
    runs: dict[object, list[Group]] = defaultdict(list)
    for group in groups:
        runs[group.point, group.kind].append(group)
    if any(_apart(*pair) for bundle in runs.values() for pair in _some(bundle)):
        return "Flows of one run whose data share no link are not compared."
    return ""


def _told_apart(bundle: list[Group], factor: Factor) -> list[list[Group]]:
    """Splits groups by contender if the factor does not tell them apart, as those of two comparisons side by side."""
    if not factor or len({_value(group, factor) for group in bundle}) == len(bundle):
        return [bundle]
    found: dict[str, list[Group]] = defaultdict(list)
    for group in bundle:
        found[group.contender].append(group)
    return list(found.values())


def _value(group: Group, factor: Factor) -> tuple[str | None, ...]:
    return tuple(group.varied.get(key) for key in factor)


def _some(bundle: Sequence[Group]) -> Iterator[tuple[Group, Group]]:
    if len(bundle) <= _EACH_WITH_EACH:
        yield from combinations(bundle, 2)
    else:
        yield from ((bundle[0], each) for each in bundle[1:])


def _is_cc(factor: Factor) -> bool:
    """Returns whether the contenders' names have the factor's values: those of one algorithm."""
    return len(factor) == 1 and Axis(factor[0], ()).is_cc


def _names(one: Group, other: Group, factor: Factor) -> tuple[str, str]:
    if not factor or _is_cc(factor):
        return one.contender, other.contender
    first, second = (
        placed({key: group.varied[key] for key in factor if key in group.varied})
        for group in (one, other)
    )
    return first, second


def _owned(group: Group, factor: Factor) -> str:
    """Returns a contender with its values of the factor: "bulk (bbr3) of lte", "cubic with queue fq_codel"."""
    keys = [key for key in factor if key in group.varied and not Axis(key, ()).is_cc]
    if not keys:
        return group.contender
    word = "of" if keys == [RESULTS] else "with"
    return f"{group.contender} {word} {placed({key: group.varied[key] for key in keys})}"


def _place(group: Group, factor: Factor, whole: bool) -> str:
    """Returns the settings that are not compared; those of a whole run include its algorithms."""
    settings = group.varied if whole and factor and not _is_cc(factor) else group.settings
    return placed({key: value for key, value in settings.items() if key not in factor})


def is_tested(each: Compared) -> bool:
    """Returns whether there are enough seeds for a test."""
    return each.comparison.pairs >= LEAST_PAIRS


def findings(results: Results, comparisons: Sequence[Compared]) -> tuple[list[Finding], str]:
    """Returns sentences on the significant differences, the largest first, and a note on the method.

    With many settings, a sentence summarizes a metric over all of them.
    """
    tested = [each for each in comparisons if is_tested(each)]
    _, numbers = factors(results.axes, results.points)
    if not comparisons and numbers:
        keys = " and ".join(short(factor[0]) for factor in numbers)
        return (
            [],
            f"The runs differ in {keys} alone: curves or maps below have each metric over it.",
        )
    if not comparisons:
        return (
            [],
            f"No comparison: it needs two contenders and {LEAST_PAIRS} seeds that both ran with.",
        )
    if not tested:
        most = max(len(point.seeds) for point in results.points.values())
        few = "One run each" if most == 1 else f"Fewer than {LEAST_PAIRS} seeds in common"
        few += ": differences may be chance, and have no intervals."
        return [], f"{few} A sweep with --repeat {ADVISED} or more shows which are not."
    significant = by_size(sentences(tested))
    fewest = min(each.comparison.pairs for each in tested)
    most = max(each.comparison.pairs for each in tested)
    note = (
        f"{len(tested):,} comparisons of means over {fewest if fewest == most else f'{fewest} to {most}'} seeds, "
        "paired by seed. Listed are the differences that are significant at 5 % by the paired t-test, the largest "
        "first; with many settings, those between contenders precede those between settings. P-values and intervals "
        "are corrected for the number of comparisons (Benjamini–Hochberg, Benjamini–Yekutieli)."
        f"{ARROWS if any(each.better for each in significant) else ''}"
    )
    if fewest < ADVISED:
        note += f" {more_seeds()}"
    if len({each.where for each in tested}) == 1 or len(significant) <= _MOST_SENTENCES:
        found = [Finding(each.text, each.better) for each in significant]
    else:
        found = _summed(tested)
        if more := len(found) - _MOST_SENTENCES:
            note += f" {more} more are in the table of differences." if more > 0 else ""
            found = found[:_MOST_SENTENCES]
    return found or [Finding(none_significant(tested))], note


ARROWS = f" Arrows mark differences of {LARGE - 1:.0%} or more, and of a percentage point or more of a share.".replace(
    "%", " %"
)


def of_runs(comparisons: Sequence[Compared]) -> list[Finding]:
    """Returns sentences on the largest differences between single runs, which nothing tests."""
    between = [each for each in comparisons if each.between and not is_tested(each)]
    if not between:
        return []
    large = sorted(filter(is_large, between), key=lambda each: -size(each))
    if not large:
        return [
            Finding(
                "The runs differ by less than 5 % in each metric, and less than a point in each share."
            )
        ]
    return [Finding(of_means(each)) for each in with_price(large, _MOST_OF_MEANS, way)]


def _summed(comparisons: Sequence[Compared]) -> list[Finding]:
    """Summarizes for each pair of contenders, metric and direction the number and size of differences."""
    bundles: dict[tuple[str, str, str, str], list[Compared]] = defaultdict(list)
    for each in comparisons:
        bundles[each.flow, each.a, each.b, each.quantity.column].append(each)
    found: list[tuple[tuple[bool, bool, float], Finding]] = []
    for bundle in bundles.values():
        for up in (False, True):
            those = [
                one
                for one in bundle
                if is_told(one) and (one.comparison.difference.value > 0) == up
            ]
            if not those:
                continue
            large = any(map(is_large, those))
            text = sentences(those)[0].text if len(those) == 1 else _over(those, len(bundle))
            finding = Finding(text + _elsewhere(bundle, up), way(those[0]) if large else 0)
            order = not those[0].contenders, not large, -median(map(size, those))
            found.append((order, finding))
    return [finding for _, finding in sorted(found, key=lambda each: each[0])]


def _elsewhere(bundle: Sequence[Compared], up: bool) -> str:
    """Returns what holds at the settings where a difference is not, in words."""
    told = list(filter(is_told, bundle))
    other = sum((each.comparison.difference.value > 0) != up for each in told)
    tiny = sum(each.comparison.significant for each in bundle) - len(told)
    none = len(bundle) - len(told) - tiny
    words = [f"{'lower' if up else 'higher'} at {other}"] if other else []
    words += [f"below {LEAST_TOLD:g} at {tiny}"] if tiny else []
    words += [f"no significant difference at {none}"] if none else []
    return f" ({', '.join(words)})" if words else ""


def _over(those: Sequence[Compared], count: int) -> str:
    """Returns a sentence on a difference at several of `count` settings: "a has 59 to 74 % lower goodput than b"."""
    first = those[0]
    whose = f"{first.flow}: " if first.flow else ""
    words, up = first.quantity.words, first.comparison.difference.value > 0
    higher = "higher" if up else "lower"
    ratios = [one.comparison.ratio.value for one in those]
    if first.quantity.unit in ("", "%") or not all(ratio == ratio for ratio in ratios):
        unit = {"%": " points", "": ""}.get(first.quantity.unit, f" {first.quantity.unit}")
        sizes = [abs(one.comparison.difference.value) * one.quantity.scale for one in those]
        claim = f"has a {words} {spanned(sizes)}{unit} {higher} than {first.b}"
    elif min(ratios) >= 2:
        claim = f"has {spanned(ratios)} times the {words} of {first.b}"
    else:
        changes = [100 * (ratio - 1) for ratio in ratios]
        claim = f"has {spanned(changes, percent=True)} % {higher} {words} than {first.b}"
    return f"{whose}{first.a} {claim}{_settings(those, count)}"


def _settings(those: Sequence[Compared], count: int) -> str:
    """Returns the settings of some of `count` comparisons in words."""
    if len(those) == count:
        return " at both settings" if count == 2 else f" at all {count} settings"
    places = [each.where for each in those]
    names = f" ({'; '.join(places)})" if len(places) <= _MOST_NAMED and all(places) else ""
    return f" at {len(those)} of {count} settings{names}"


def section(results: Results, comparisons: Sequence[Compared]) -> Section | None:
    """Returns the table of all comparisons, significant or not."""
    tested = any(map(is_tested, comparisons))
    alone = max((len(point.seeds) for point in results.points.values()), default=1) == 1
    if not comparisons:
        return None
    if not tested and len(comparisons) > _MOST_UNTESTED:
        note = f"No table: {len(comparisons):,} comparisons without a test, and room for {_MOST_UNTESTED}."
        return Section("Differences", [], note)
    somewhere = any(each.about for each in comparisons)
    rows: list[tuple[Cell, ...]] = []
    for each in comparisons:
        it, quantity = each.comparison, each.quantity
        rows.append(
            (
                *([each.about] if somewhere else []),
                titled(quantity),
                each.a,
                Number(it.a, shown(quantity, it.a)),
                each.b,
                Number(it.b, shown(quantity, it.b)),
                _change(each),
                *([_significance(each)] if tested else []),
            )
        )
    interval = " [95 %]" if tested else ""
    columns = (
        *(["Setting"] if somewhere else []),
        "Metric",
        "A",
        "value of A" if alone else "mean A",
        "B",
        "value of B" if alone else "mean B",
        f"A against B{interval}",
        *(["Significant"] if tested else []),
    )
    note = f"Fewer than {LEAST_PAIRS} seeds in common: differences of means, without intervals."
    if tested:
        note = (
            "Means, paired by seed; p is corrected for the number of comparisons. A significant difference may still "
            "be too small to matter: consider its size."
        )
    elif alone:
        note = (
            "One run each: nothing is tested."
            if len(results.points) > 1
            else "One run: nothing is tested."
        )
    return Section("Differences", [Table("Contenders compared", columns, rows)], note)


def _change(each: Compared) -> Number:
    """Returns the difference in percent of B, from twice on as a factor; of shares and indices in points."""
    it, quantity = each.comparison, each.quantity
    ratio = it.ratio
    if quantity.unit in ("", "%") or ratio.value != ratio.value:
        unit = " points" if quantity.unit == "%" else f" {quantity.unit}".rstrip()
        value, low, high = (
            signed(end * quantity.scale) for end in (it.difference.value, *it.difference[1:])
        )
        return Number(it.difference.value, f"{value}{unit}{_ends(it.difference.low, low, high)}")
    if ratio.value >= 2:
        ends = "" if ratio.low != ratio.low else f" [{digits(ratio.low)}, {digits(ratio.high)}]"
        return Number(ratio.value - 1, f"× {digits(ratio.value)}{ends}")
    value, low, high = percent_texts(each)
    ends = f" [{high} or less]" if reaches_nothing(each) else _ends(ratio.low, low, high)
    return Number(ratio.value - 1, f"{value} %{ends}")


def _ends(known: float, low: str, high: str) -> str:
    return f" [{low}, {high}]" if known == known else ""


def _significance(each: Compared) -> Cell:
    p = each.comparison.p
    if p != p:
        return Number(None, "equal" if is_tested(each) else "–")
    return Number(p, f"{'yes' if each.comparison.significant else 'no'}, p {p:.2g}")
