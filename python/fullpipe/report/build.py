"""Builds a report of saved results from its panels, in order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from fullpipe.algorithms.programs import used as programs_used
from fullpipe.report import figures, values
from fullpipe.report.model import Report
from fullpipe.report.panels import (
    completions,
    control,
    curves,
    differences,
    maps,
    numbers,
    replays,
    runners,
    slowdowns,
    spread,
    steady,
    tested,
    time,
    why,
)
from fullpipe.results.beside import beside
from fullpipe.runs.view.path import configuration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.report.model import Finding
    from fullpipe.results.model import Results
    from fullpipe.stats.words import Compared

_MOST_TOLD = 4
"""Number of runs up to which the summary says what happened in each."""


def build(
    directory: Path | Sequence[Path], show: Sequence[str] = (), over: Sequence[str] = ()
) -> Report:
    """Reads results and computes everything that a report shows.

    Args:
        directory: The directory, or several, whose results are put side by side.
        show: The metrics to show, by name or short name, instead of the usual ones.
        over: Swept numbers of the curves: that of the x axis, and that of the lines.

    Raises:
        NoResultsError: When a directory has no results, or several can't be put side by side.
        MetricError: When a metric is unknown, or the runs have no value of it.
        PanelError: When `over` has a key that is no swept number.
        OSError: When the results can't be read.
    """
    found = beside([directory] if isinstance(directory, Path) else directory)
    return of_results(found, show, over)


def _other_algorithms(results: Results) -> list[str]:
    """Returns the programs whose congestion control differs between runners or directories."""
    points = {
        number: each
        for number, each in results.points.items()
        if not any(key.endswith(".cc") for key in each.settings)
    }
    several = len({each.runner for each in points.values()}) > 1
    programs = programs_used.names(text for text in results.scenarios.values() if text)
    rows = results.rows.select("point", pl.col("flow", "cc").cast(pl.String)).unique(
        maintain_order=True
    )
    return programs_used.differences(
        (f"on {points[point].runner}" if several else points[point].label, flow, cc)
        for point, flow, cc in rows.iter_rows()
        if point in points and flow in programs
    )


def of_results(results: Results, show: Sequence[str] = (), over: Sequence[str] = ()) -> Report:
    """Computes everything that a report of loaded results shows.

    Raises:
        MetricError: When a metric is unknown, or the runs have no value of it.
        PanelError: When `over` has a key that is no swept number.
        OSError: When a table of the results can't be read.
    """
    load = tested.load(results)
    measures = values.measures(load, show)
    groups = values.groups(load, [each.column for each in measures.every])
    comparisons = (
        []  # the directions of one test do not compete
        if results.tested and not results.axes
        else differences.compared(results, groups, measures.at("differences"))
    )
    findings, note = _summary(results, comparisons)
    if not results.tested:
        note = " ".join(filter(None, (note, differences.without_a_link(groups))))
    left = "" if show else values.links_left(results)
    sections = [
        tested.section(results),
        replays.published(results),
        runners.section(groups, measures.every),
        numbers.section(groups, measures.every),
        slowdowns.section(results),
        completions.section(results),
        curves.section(results, groups, measures, figures.keys(results, over)),
        differences.section(results, comparisons),
        control.section(results),
        maps.section(results, groups, measures),
        time.section(results),
        spread.section(groups, measures),
        replays.section(results),
    ]
    return Report(
        results.title,
        results.about,
        [
            *results.facts,
            *configuration(
                point.scenario
                for point in results.points.values()
                if point.scenario and not point.measured
            ),
            *(("Warning", each) for each in _other_algorithms(results)),
            *(("Steadiness", each) for each in steady.told(load, measures.every if show else ())),
            *([("links", left)] if left else []),
        ],
        [*tested.findings(results), *replays.findings(results), *findings],
        note,
        [each for each in sections if each],
    )


def _summary(results: Results, comparisons: Sequence[Compared]) -> tuple[list[Finding], str]:
    """Returns the sentences of the summary: differences beyond chance, or what happened in each of a few runs."""
    if results.published:  # they answer whether values agree, not which contender is better
        return [], ""
    if not results.metrics:
        return differences.findings(results, comparisons)
    beside = any(axis.compared for axis in results.axes)
    findings, note = differences.findings(results, comparisons) if beside else ([], "")
    if findings or len(results.metrics) > _MOST_TOLD:
        return findings, note
    told, span = why.findings(results)
    between = differences.of_runs(comparisons) if beside else []
    return [*between, *told], " ".join(filter(None, (span, note)))
