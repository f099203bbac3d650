"""The summary of a single run: what happened, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.report import why
from fullpipe.report.model import Finding
from fullpipe.report.panels.time import resolved, seconds
from fullpipe.results import read_parquet

if TYPE_CHECKING:
    from fullpipe.results.model import Results

_MOST_EACH = 4


def findings(results: Results) -> tuple[list[Finding], str]:
    """Returns sentences about a run, or about that of each runner, and the time that they are about.

    Raises:
        OSError: When a table can't be read.
    """
    rtt = resolved(results).get("path", {}).get("rtt")
    several = len(results.metrics) > 1
    found, notes = [], []
    for number, metrics in results.metrics.items():
        tables = {
            table: read_parquet(file)
            for series in results.series
            if series.point.number == number
            for table, file in series.files.items()
        }
        whose = f"{metrics['runner']}: " if several else ""
        told = why.about(metrics, tables, seconds(rtt) if rtt else None)
        found += [Finding(whose + each) for each in (told[:_MOST_EACH] if several else told)]
        notes.append(why.window(metrics))
    return found, " ".join(dict.fromkeys(notes)) if found else ""
