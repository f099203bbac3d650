"""The results of a comparison: a table for terminals of 80 columns and more, and sentences."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from fullpipe.report import values
from fullpipe.report.panels import differences
from fullpipe.stats import is_shown, mean, sentences
from fullpipe.stats.compare import LEAST_PAIRS
from fullpipe.stats.words import none_significant
from fullpipe.view.table import NONE, digits, make_table, number_columns, rate_unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from fullpipe.batch.spec import SweepSpec
    from fullpipe.report.values import Group
    from fullpipe.results.model import Results
    from fullpipe.stats import Interval
    from fullpipe.stats.words import Compared

_WIDE = 110
_COLUMNS = (
    # Header, column, scale, whether only wide tables show its interval (for the last no table does),
    # whether only wide tables show the column.
    ("queue ms\np95", "queue_delay_s.p95", 1e3, False, False),
    ("RTT ms\nmean", "rtt_s.mean", 1e3, True, True),
    ("done\ns", "completion_s", 1, True, False),
    ("re-sent\n%", "loss_fraction", 100, True, False),
    ("utilization\n%", "link.bottleneck.utilization", 100, True, True),
)
_STYLES = {1: "green", 0: "", -1: "red"}


def show(kept: Results, spec: SweepSpec, console: Console) -> None:
    """Prints the table and the sentences."""
    groups = values.groups(kept)
    seeds = len({seed for point in kept.points.values() for seed in point.seeds})
    console.print(Text(kept.title, style="bold"), soft_wrap=True)
    console.print(Text(_path(spec)), soft_wrap=True)
    unit, scale = rate_unit(value for group in groups for value in group.of("goodput_bps"))
    wide = console.width >= _WIDE
    table = make_table("")
    table.add_column("", vertical="bottom", no_wrap=True)
    # RTTs replace queueing delays if these are unknown, as on a loopback.
    queues = any(group.of("queue_delay_s.p95") for group in groups)
    columns = [
        (heading, column, scale, brief and not (wide and column != _COLUMNS[-1][1]))
        for heading, column, scale, brief, spare in _COLUMNS
        if any(group.of(column) for group in groups)
        and (wide or not spare or (column == "rtt_s.mean" and not queues))
    ]
    number_columns(table, f"goodput\n{unit}", *(heading for heading, *_ in columns))
    place = None
    for group in groups:
        if place not in (None, group.place):
            table.add_section()
        cells = [_shown(group, "goodput_bps", 1 / scale)]
        cells += [_shown(group, column, factor, brief) for _, column, factor, brief in columns]
        table.add_row(
            Text(group.place if group.place != place else ""), Text(group.contender), *cells
        )
        place = group.place
    console.print("")
    console.print(table)
    fairness = {
        group.runner: f"{_digits(each, 1)}{f' on {group.runner}' if group.runner else ''}"
        for group in groups
        for each in [_interval(group, "jain")]
        if group.settings["case"] == "together" and each
    }
    if fairness:
        console.print(
            f"Jain's index of the goodputs together: {', '.join(fairness.values())}", markup=False
        )
    console.print(_method(seeds), style="dim", markup=False)
    console.print("")
    _say(groups, kept, seeds, console)
    console.print("")


def _say(groups: Sequence[Group], kept: Results, seeds: int, console: Console) -> None:
    """Prints a sentence for each significant difference."""
    comparisons = _compared(groups, kept)
    if not comparisons:
        few = f"{'one run' if seeds == 1 else f'{seeds} runs'} of each"
        console.print(
            f"{few} can't show significant differences: use --repeat {LEAST_PAIRS} or more, 30 is better"
        )
        return
    lines = Table.grid(padding=(0, 1))
    for sentence in sentences(comparisons):
        lines.add_row("–", Text(sentence.text, style=_STYLES[sentence.better]))
    console.print(lines if lines.rows else none_significant(comparisons), markup=False)
    console.print(
        f"{len(comparisons)} comparisons, paired by seed (t-test, Benjamini-Hochberg correction)",
        style="dim",
        markup=False,
    )


def _compared(groups: Sequence[Group], kept: Results) -> list[Compared]:
    return differences.compared(
        groups, [each for each in values.metrics(kept) if is_shown(each.column, "compare")]
    )


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
    yield f"kept in {kept.directory}, with picture.png; for a report: fullpipe report {kept.directory}"


def records(kept: Results) -> str:
    """Returns a JSON object: means with 95 % intervals in SI units, and the sentences."""
    groups, metrics = values.groups(kept), values.metrics(kept)
    rows = [
        {
            "where": group.place,
            "algorithm": group.contender,
            "runs": len(group.of("goodput_bps")),
            **{
                metric.column: {
                    "mean": each.value,
                    "low": _number(each.low),
                    "high": _number(each.high),
                }
                for metric in metrics
                if (each := _interval(group, metric.column))
            },
        }
        for group in groups
    ]
    told = [sentence.text for sentence in sentences(_compared(groups, kept))]
    return json.dumps({"rows": rows, "sentences": told})


def _path(spec: SweepSpec) -> str:
    """Returns the main properties of the path."""
    written = tomllib.loads(next(spec.scenarios()))
    path, size = written["path"], written["flow"][0].get("bytes")
    times = (
        f"{size} each, for {written['duration']} at most"
        if size
        else f"{written['duration']}, measured from"
    )
    times = times if size else f"{times} {written['measure_from']} on"
    if path.get("kind") == "loopback":
        return f"this machine's loopback; {times}"
    queue = path["queue"] if isinstance(path["queue"], str) else path["queue"]["kind"]
    return f"{path['rate']}, RTT {path['rtt']}, {queue} with {path['buffer']}; {times}"


def _method(seeds: int) -> str:
    if seeds == 1:
        return "of one run: no intervals"
    return f"means of {seeds} seeds [95 % interval]"


def _interval(group: Group, column: str) -> Interval | None:
    known = group.of(column)
    return mean(known) if known else None


def _shown(group: Group, column: str, scale: float, brief: bool = False) -> str:
    interval = _interval(group, column)
    if interval is None:
        return NONE
    return digits(interval.value * scale) if brief else _digits(interval, scale)


def _digits(interval: Interval, scale: float) -> str:
    value, low, high = (digits(each * scale) for each in interval)
    if interval.low != interval.low or low == high:
        return value
    return f"{value} [{low}–{high}]"


def _number(value: float) -> float | None:
    return value if value == value else None
