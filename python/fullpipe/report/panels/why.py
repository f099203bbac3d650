"""The summary of single runs: what happened, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.report import why
from fullpipe.report.model import Finding
from fullpipe.report.panels import tested
from fullpipe.report.panels.time import resolved, seconds
from fullpipe.results import read_parquet

if TYPE_CHECKING:
    from fullpipe.results.model import Results

_MOST_EACH = 4


def findings(results: Results) -> tuple[list[Finding], str]:
    """Returns sentences about a run, or about that of each runner or directory, and the time that they are about.

    Raises:
        OSError: When a table can't be read.
    """
    several = len(results.metrics) > 1
    found = []
    told_of = {}
    for number, metrics in results.metrics.items():
        tables = {
            table: read_parquet(file)
            for series in results.series
            if series.point.number == number
            for table, file in series.files.items()
        }
        point = results.points[number]
        name = point.runner or point.label
        whose = f"{name}: " if several else ""
        told_of[name] = metrics
        rtt = resolved(point, results).get("path", {}).get("rtt")
        ways = results.tested["roles"] if results.tested else None
        load = tested.load_of_run(results, metrics, tables)
        told = why.about(*load, seconds(rtt) if rtt else None, ways)
        found += [Finding(whose + each) for each in (told[:_MOST_EACH] if several else told)]
    return found, why.window_note(told_of) if found else ""
