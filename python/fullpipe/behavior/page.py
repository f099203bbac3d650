"""The page of a judged trace: its conditions, its envelope, and the report of both runs over each other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fullpipe.behavior.show import table
from fullpipe.report.build import of_results
from fullpipe.report.model import Cloud, Clouds, Finding, Section, Table
from fullpipe.report.write import Form, make
from fullpipe.results.beside import beside

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.behavior.envelope import Conformance, Envelope
    from fullpipe.behavior.show import Judgment
    from fullpipe.report.model import Report

TRACE, MODEL = "trace", "model"
"""Directories of the two runs, in the page's directory."""
_COLUMNS = ("condition", "trace", "model", "accepted", "verdict", "rule", "from", "tolerance")
_MOST_POINTS = 400


def write(directory: Path, judged: Judgment, called: Path) -> None:
    """Writes `report.html` next to the two runs; `called` is the name that its directory will have.

    Raises:
        OSError: When a file can't be read or written.
    """
    make(build(directory, judged, called), Form.HTML, directory / "report.html")


def build(directory: Path, judged: Judgment, called: Path) -> Report:
    """Returns the report of both runs, with the conditions and the envelope before it."""
    results = beside([directory / TRACE, directory / MODEL])
    points = {
        number: replace(point, command=point.command.replace(str(directory), str(called)))
        for number, point in results.points.items()
    }
    series = [replace(each, point=points[each.point.number]) for each in results.series]
    report = of_results(replace(results, points=points, series=series, overlay=[list(points)]))
    sections = [_conditions(judged), *_envelope(judged.envelope)]
    first = f"{judged.first[0].upper()}{judged.first[1:]}."
    findings = [Finding(first), *([Finding(f"{judged.sums}.")] if judged.found else [])]
    return replace(
        report,
        title=f"{judged.title} as {judged.algorithm}",
        about=judged.path,
        findings=findings,
        findings_note="",
        sections=[*sections, *report.sections],
    )


def _conditions(judged: Judgment) -> Section:
    note = (
        ""
        if judged.found
        else f"No conditions are declared for {judged.algorithm}: the page has the overlay alone."
    )
    blocks = [Table("Conditions", _COLUMNS, [tuple(cells) for cells in table(judged)])]
    return Section("Conditions", list(blocks) if judged.found else [], note)


def _envelope(found: Conformance | None) -> list[Section]:
    if found is None:
        return []
    clouds = Clouds(
        "Performance envelope",
        "delay, base RTTs",
        "throughput, share of the rate",
        [_cloud("trace", found.trace), _cloud("model", found.model)],
        note="Areas: the hulls of the 95 % of the points next to the center of each cluster. Each point is a span of "
        "ten round trips.",
    )
    return [Section("Performance envelope", [clouds], " ".join(_sentences(found)))]


def _sentences(found: Conformance) -> list[str]:
    lines = [line.strip() for line in found.lines()]
    return [f"{line[0].upper()}{line[1:]}." for line in lines]


def _cloud(label: str, of: Envelope) -> Cloud:
    step = max(len(of.points) // _MOST_POINTS, 1)
    shown = of.points[::step]
    return Cloud(
        label,
        shown[:, 0].tolist(),
        shown[:, 1].tolist(),
        None,
        hulls=[[(float(x), float(y)) for x, y in hull] for hull in of.hulls],
    )
