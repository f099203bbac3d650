"""Commands that repeat each run, the scenarios, and published and measured values of a study."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fullpipe import wings
from fullpipe.report.model import Again, Code, Finding, Number, Section, Table, Text
from fullpipe.results.words import spans
from fullpipe.runs.view.left import left_out
from fullpipe.runs.view.path import by_stack, stack_of
from fullpipe.runs.view.table import short

if TYPE_CHECKING:
    from fullpipe.report.model import Block, Cell
    from fullpipe.results.model import Point, Results

_MEASURED = "The command measures again, or reads the files again. Programs in real time are not repeatable."
_MOST_TEXT = 200_000
_MOST_MISSED = 8
_SIGNS = {"met": "✓ met", "missed": "✗ missed", "report": "· report", "skipped": "– skipped"}


def section(results: Results) -> Section:
    """Returns the points, each with its seeds and the command that replays the first seed, and the scenarios."""
    measured = all(point.measured for point in results.points.values())
    rows: list[tuple[Cell, ...]] = [
        (
            Number(point.number, f"{point.number}"),
            _label(point),
            *([] if measured else ["–" if point.measured else spans(point.seeds)]),
            Code(point.command),
        )
        for point in results.points.values()
    ]
    seeded = ("seeds", "command that replays the first seed")
    columns = ("point", "description", *(("command",) if measured else seeded))
    blocks: list[Block] = [Table("Commands", columns, rows)]
    again, left = _again(results)
    if again:
        names = [f"point {number}" for number in left]
        blocks.append(Again(again, left_out(names, len(again) + len(left), "for the page's size")))
    blocks += [Text(name, text) for name, text in results.scenarios.items()]
    if measured:
        return Section(
            "Commands and scenarios" if results.scenarios else "Commands", blocks, _MEASURED
        )
    simulated = "runner" not in results.rows.columns or set(results.rows["runner"]) == {"sim"}
    note = "Any of the seeds can follow --seed. The same scenario, seed and version give the same run, bit for bit"
    note += "." if simulated else ", on the simulator. Runs in real time are not repeatable."
    return Section("Scenarios and seeds", blocks, note)


def _again(results: Results) -> tuple[tuple[tuple[str, str], ...], list[int]]:
    """Returns label and text of each point's scenario that the simulator in a page can run, up to a total size.

    Also returns the numbers of the points behind that size.
    """
    found: list[tuple[str, str]] = []
    left: list[int] = []
    size = 0
    runs_in_pages = wings.in_page().runs_in_pages
    for point in results.points.values():
        if not point.scenario or point.measured:
            continue
        size += len(point.scenario)
        if size > _MOST_TEXT:
            left.append(point.number)
        elif runs_in_pages(point.scenario):
            found.append((_label(point) or results.title, point.scenario))
    return tuple(found), left


def _label(point: Point) -> str:
    return (
        f"{point.label}, {point.runner}" if point.runner not in ("", point.label) else point.label
    )


def findings(results: Results) -> list[Finding]:
    """Returns what a reader of a study asks first: how many of its values agree, with which TCP, and which do not."""
    judged = [each for each in results.published if each["verdict"] in ("met", "missed")]
    if not judged:
        return []
    missed = Counter(each["case"] for each in judged if each["verdict"] == "missed")
    of = Counter(each["case"] for each in judged)
    said = (
        f"{len(judged) - missed.total()} of {len(judged)} judged cells met, {missed.total()} missed"
    )
    scenarios = {
        point.settings.get("case", point.label): point.scenario for point in results.points.values()
    }
    stacks = {case: stack_of(scenarios[case]) for case in of if scenarios.get(case)}
    if len(stacks) == len(of):
        met = ((stacks[each["case"]], each["verdict"] == "met") for each in judged)
        said += f" ({by_stack(met)})"
    found = [Finding(said)]
    if missed:
        named = [
            f"{case} ({count} of {of[case]})" for case, count in missed.most_common(_MOST_MISSED)
        ]
        more = f", and {len(missed) - len(named)} more cases" if len(missed) > len(named) else ""
        found.append(Finding(f"missed: {', '.join(named)}{more}"))
    return found


def published(results: Results) -> Section | None:
    """Returns the table of published and simulated values."""
    if not results.published:
        return None
    rows = [_row(each) for each in results.published]
    count = {name: sum(each["verdict"] == name for each in results.published) for name in _SIGNS}
    said = [
        f"{count['met']} of {count['met'] + count['missed']} judged cells met (within the accepted range)"
    ]
    said += [
        f"{count[name]} {word}"
        for name, word in (("report", "reported only"), ("skipped", "skipped"))
        if count[name]
    ]
    columns = ("case", "metric", "published", "ours", "accepted range", "verdict")
    return Section(
        "Published and our values", [Table("Cell by cell", columns, rows)], ", ".join(said) + "."
    )


def _row(each: dict[str, Any]) -> tuple[Cell, ...]:
    low, high = each["tolerance"]
    if low is None and high is None:
        close = "–"
    elif low is None:
        close = f"≤ {_number(high).text}"
    elif high is None:
        close = f"≥ {_number(low).text}"
    else:
        least, most = _number(low).text, _number(high).text
        close = least if least == most else f"{least} – {most}"
    theirs = each["published"]
    return (
        each["case"],
        each["metric"],
        theirs if isinstance(theirs, str) else _number(theirs),
        _number(each["ours"]),
        close,
        _SIGNS[each["verdict"]],
    )


def _number(value: float | None) -> Number:
    return Number(value, "–" if value is None else short(value, 4))
