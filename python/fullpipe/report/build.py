"""Makes a report of kept results: which panels there are, in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.report import values
from fullpipe.report.kept import read
from fullpipe.report.model import Report
from fullpipe.report.panels import (
    differences,
    maps,
    replays,
    results,
    runners,
    slowdowns,
    spread,
    time,
)

if TYPE_CHECKING:
    from pathlib import Path


def build(directory: Path) -> Report:
    """Reads results and computes everything that a report shows.

    Raises:
        NoResultsError: When there are none.
        OSError: When they can't be read.
    """
    kept = read(directory)
    groups, metrics = values.groups(kept), values.metrics(kept)
    comparisons = differences.compared(groups, metrics)
    findings, note = differences.findings(comparisons)
    sections = [
        replays.published(kept),
        runners.section(groups, metrics, values.run_metrics(kept)),
        results.section(groups, metrics),
        slowdowns.section(kept),
        differences.section(comparisons),
        maps.section(kept, groups, metrics),
        time.section(kept),
        spread.section(groups, metrics),
        replays.section(kept),
    ]
    return Report(
        kept.title, kept.about, kept.facts, findings, note, [each for each in sections if each]
    )
