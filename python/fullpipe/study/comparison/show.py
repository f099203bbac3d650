"""The results of a comparison: a table for terminals of 80 columns and more, and sentences."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fullpipe.report import values
from fullpipe.report.panels import differences, steady
from fullpipe.report.terminal import WIDE, Line, columns, print_table
from fullpipe.results import about as abouts
from fullpipe.results.fingerprint import of_all
from fullpipe.results.objects import called
from fullpipe.results.sweep import PARTS
from fullpipe.runs.view.table import Trimmed, digits
from fullpipe.stats import sentences
from fullpipe.stats.compare import ADVISED, more_seeds
from fullpipe.stats.words import by_size, none_significant, with_price

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console

    from fullpipe.report.values import Group, Measures
    from fullpipe.results.model import Results
    from fullpipe.stats import Interval, Quantity
    from fullpipe.stats.words import Compared
    from fullpipe.study.spec import SweepSpec

_MOST_SENTENCES = 5
_UNKNOWN = (None, None, None)
_STYLES = {1: "green", 0: "", -1: "red"}


def show(kept: Results, about: str, console: Console, asked: Sequence[str] = ()) -> None:
    """Prints the table and the sentences.

    Args:
        kept: The results.
        about: A line about the path; empty without one.
        console: The console.
        asked: The metrics to show, by name; empty for those that suit the scenario.

    Raises:
        MetricError: When a metric is unknown, or the runs have no value of it.
    """
    measures = values.measures(kept, asked)
    groups = values.groups(kept, [each.column for each in measures.every])
    seeds = max(len(point.seeds) for point in kept.points.values())
    console.print(Text(kept.title, style="bold"), soft_wrap=True)
    if about:
        console.print(Text(about), soft_wrap=True)
    shown = columns(
        _quantities(groups, measures, console.width),
        [value for group in groups for value in group.of("goodput_bps")],
    )
    lines = [
        Line(
            [group.place, group.contender],
            [each.cell(*(_interval(group, each.quantity.column) or _UNKNOWN)) for each in shown],
        )
        for group in groups
    ]
    console.print("")
    printed = print_table(console, ["", ""], shown, lines, keep=bool(asked), sections=True)
    fairness = {
        group.runner: f"{_digits(each, 1)}{f' on {group.runner}' if group.runner else ''}"
        for group in groups
        for each in [_interval(group, "jain")]
        if group.settings.get("case") == "together" and each
    }
    if fairness:
        console.print(
            f"Jain's index of the goodputs together: {', '.join(fairness.values())}", markup=False
        )
    console.print(_method(groups, printed.spreads), style="dim", markup=False)
    for line in _lacking(groups, [each.quantity for each in shown]):
        console.print(line, style="dim", markup=False)
    for line in steady.told(kept, measures.every if asked else ()):
        console.print(line, style="yellow" if "not steady" in line else "dim", markup=False)
    console.print("")
    _say(groups, measures, kept, seeds, console)
    console.print("")


def _quantities(groups: Sequence[Group], measures: Measures, width: int) -> list[Quantity]:
    """Returns the metrics of the table; RTTs replace queueing delays if these are unknown, as on a loopback."""
    if measures.asked:
        return measures.every
    queues = any(group.of("queue_delay_s.p95") for group in groups)
    also: tuple[str, ...] = () if width < WIDE and queues else ("rtt_s.mean",)
    also += () if width < WIDE else ("link.bottleneck.utilization",)
    return [
        each for each in measures.every if each in measures.at("compare") or each.column in also
    ]


def _say(
    groups: Sequence[Group], measures: Measures, kept: Results, seeds: int, console: Console
) -> None:
    """Prints the sentences on significant differences, the largest five."""
    comparisons = [
        each for each in _compared(groups, measures, kept) if differences.is_tested(each)
    ]
    if not comparisons:
        few = f"{'one run' if seeds == 1 else f'{seeds} runs'} of each"
        fix = "use" if not kept.axes else "compare sweeps with"
        console.print(f"{few} can't show significant differences: {fix} --repeat {ADVISED} or more")
        return
    lines = Table.grid(padding=(0, 1))
    found = by_size(sentences(comparisons))
    told = with_price(found, _MOST_SENTENCES, lambda each: each.better)
    for sentence in told:
        lines.add_row("–", Text(sentence.text, style=_STYLES[sentence.better]))
    console.print(Trimmed(lines) if found else none_significant(comparisons), markup=False)
    if rest := len(found) - len(told):
        many = "differences are" if rest > 1 else "difference is"
        console.print(f"{rest} smaller {many} in the report", markup=False)
    advice = ""
    if min(each.comparison.pairs for each in comparisons) < ADVISED:
        advice = f". {more_seeds()}"
    console.print(
        f"{len(comparisons)} comparisons, paired by seed (t-test, Benjamini-Hochberg correction){advice}",
        style="dim",
        markup=False,
    )


def _compared(groups: Sequence[Group], measures: Measures, kept: Results) -> list[Compared]:
    """Compares as the report does: with another family of comparisons, intervals and verdicts could differ."""
    return differences.compared(kept, groups, measures.at("differences"))


def facts(kept: Results, spec: SweepSpec, runs: int, packets: int, wall_s: float) -> Iterator[str]:
    """Yields lines about the runs, the added jitter, and the directory."""
    yield (
        f"{runs:,} runs, {packets:,} packets in {wall_s:.2f} s"
        if runs
        else "nothing to run: all runs were already finished"
    )
    added = [f"{key} {jitter}" for key, jitter, _ in spec.plan.added_jitter]
    if added:
        yield f"jitter added so that repetitions differ: {', '.join(added)}"
    if known := fingerprint_of(kept.directory):
        yield f"fingerprint {known}"
    place = called(kept.directory)
    yield f"kept in {place}, with picture.png; for a report: fullpipe report {place}"


def fingerprint_of(directory: Path) -> str | None:
    """Returns the fingerprint of all rows of a comparison, alone and together; None if a part has none."""
    found = [abouts.sweep(directory / part).get("fingerprint") for part in PARTS]
    known = [each for each in found if each]
    return of_all(known) if len(known) == len(PARTS) else None


def records(
    kept: Results,
    asked: Sequence[str] = (),
    control: Sequence[dict[str, object]] = (),
    fingerprint: str | None = None,
) -> str:
    """Returns a JSON object: means with 95 % intervals in SI units, sentences, control of programs, and fingerprint.

    Raises:
        MetricError: When a metric is unknown, or the runs have no value of it.
    """
    measures = values.measures(kept, asked)
    groups = values.groups(kept, [each.column for each in measures.every])
    verdicts = steady.verdicts(kept)
    rows = [
        {
            "where": group.place,
            "algorithm": group.contender,
            "steadiness": verdicts[group.point].record() if group.point in verdicts else None,
            "runs": max((len(group.of(metric.column)) for metric in measures.every), default=0),
            **{
                metric.column: {
                    "mean": each.value,
                    "low": _number(each.low),
                    "high": _number(each.high),
                }
                for metric in measures.every
                if (each := _interval(group, metric.column))
            },
        }
        for group in groups
    ]
    also = {
        **({"control": list(control)} if control else {}),
        **({"fingerprint": fingerprint} if fingerprint else {}),
    }
    return json.dumps({"rows": rows, "sentences": _told(groups, measures, kept), **also})


def told(kept: Results) -> list[str]:
    """Returns the significant differences in words, the largest first."""
    measures = values.measures(kept)
    groups = values.groups(kept, [each.column for each in measures.every])
    return _told(groups, measures, kept)


def _told(groups: Sequence[Group], measures: Measures, kept: Results) -> list[str]:
    comparisons = filter(differences.is_tested, _compared(groups, measures, kept))
    return [sentence.text for sentence in by_size(sentences(list(comparisons)))]


def _method(groups: Sequence[Group], intervals: bool) -> str:
    counts = {len(each) for group in groups for each in group.values.values() if each}
    if counts <= {1}:
        return "of one run: no intervals"
    least, most = min(counts), max(counts)
    shown = " [95 % interval]" if intervals else ""
    return f"means of {most if least == most else f'{least} to {most}'} seeds{shown}"


def _lacking(groups: Sequence[Group], shown: Sequence[Quantity]) -> Iterator[str]:
    """Yields the seeds of a group that have no value of a shown metric, if others have one."""
    for group in groups:
        every = {seed for each in group.values.values() for seed in each}
        whose = ", ".join(filter(None, (group.place, group.named)))
        said: dict[str, list[str]] = {}
        for each in shown:
            there = group.values.get(each.column, {})
            if there and (without := sorted(every - there.keys())):
                seeds = f"seed{'s' if len(without) > 1 else ''} {', '.join(map(str, without))}"
                said.setdefault(seeds, []).append(each.words)
        for seeds, metrics in said.items():
            yield f"without {' and '.join(metrics)}: {whose}, {seeds}"


def _interval(group: Group, column: str) -> Interval | None:
    known = group.of(column)
    return values.mean_of(known, column) if known else None


def _digits(interval: Interval, scale: float) -> str:
    value, low, high = (digits(each * scale) for each in interval)
    if interval.low != interval.low or low == high:
        return value
    return f"{value} [{low}–{high}]"


def _number(value: float) -> float | None:
    return value if value == value else None
