"""Builds a report of saved results from its panels, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.report import values
from fullpipe.report.model import Report
from fullpipe.report.panels import (
    differences,
    maps,
    numbers,
    replays,
    runners,
    slowdowns,
    spread,
    time,
)
from fullpipe.results.load import load

if TYPE_CHECKING:
    from pathlib import Path


def build(directory: Path) -> Report:
    """Reads results and computes everything that a report shows.

    Raises:
        NoResultsError: When the directory has no results.
        OSError: When the results can't be read.
    """
    results = load(directory)
    groups, metrics = values.groups(results), values.metrics(results)
    comparisons = differences.compared(groups, metrics)
    findings, note = differences.findings(comparisons)
    sections = [
        replays.published(results),
        runners.section(groups, metrics, values.run_metrics(results)),
        numbers.section(groups, metrics),
        slowdowns.section(results),
        differences.section(comparisons),
        maps.section(results, groups, metrics),
        time.section(results),
        spread.section(groups, metrics),
        replays.section(results),
    ]
    return Report(
        results.title,
        results.about,
        results.facts,
        findings,
        note,
        [each for each in sections if each],
    )
