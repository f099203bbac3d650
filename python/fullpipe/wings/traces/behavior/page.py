"""The page of a judged trace: its conditions, and the report of both runs over each other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fullpipe.report.build import of_results
from fullpipe.report.model import Finding, Section, Table
from fullpipe.report.write import Form, make
from fullpipe.results.beside import beside
from fullpipe.wings.traces.behavior.show import table

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.report.model import Report
    from fullpipe.wings.traces.behavior.show import Judgment

TRACE, MODEL = "trace", "model"
"""Directories of the two runs, in the page's directory."""
_COLUMNS = ("condition", "trace", "model", "accepted", "verdict", "rule", "from", "tolerance")


def write(directory: Path, judged: Judgment, called: Path) -> None:
    """Writes `report.html` next to the two runs; `called` is the name that its directory will have.

    Raises:
        OSError: When a file can't be read or written.
    """
    make(build(directory, judged, called), Form.HTML, directory / "report.html")


def build(directory: Path, judged: Judgment, called: Path) -> Report:
    """Returns the report of both runs, with the conditions before it."""
    results = beside([directory / TRACE, directory / MODEL])
    points = {
        number: replace(point, command=point.command.replace(str(directory), str(called)))
        for number, point in results.points.items()
    }
    series = [replace(each, point=points[each.point.number]) for each in results.series]
    report = of_results(replace(results, points=points, series=series, overlay=[list(points)]))
    findings = [
        Finding(f"{judged.first[0].upper()}{judged.first[1:]}."),
        Finding(f"{judged.sums}."),
    ]
    return replace(
        report,
        title=f"{judged.title} as {judged.algorithm}",
        about=judged.path,
        findings=findings,
        findings_note="",
        sections=[_conditions(judged), *report.sections],
    )


def _conditions(judged: Judgment) -> Section:
    return Section(
        "Conditions", [Table("Conditions", _COLUMNS, [tuple(cells) for cells in table(judged)])]
    )
