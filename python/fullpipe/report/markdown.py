"""Renders a report as Markdown with vector figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.report.model import Code, Number, Table, Text
from fullpipe.report.static import write_pictures

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fullpipe.report.model import Cell, Report


def write_markdown(report: Report, directory: Path) -> None:
    """Writes `report.md` and its figures into a new directory.

    Raises:
        OSError: When a file can't be written.
    """
    pictures = write_pictures(report, directory, "svg")
    (directory / "report.md").write_text(
        "\n".join(_lines(report, pictures)) + "\n", encoding="utf-8"
    )


def _lines(report: Report, pictures: list[tuple[str, str]]) -> Iterator[str]:
    yield f"# {report.title}\n"
    if report.about:
        yield f"{report.about}\n"
    yield from (f"- {name}: {text}" for name, text in report.facts)
    yield "\n## Summary\n"
    yield from (f"- {finding.text}" for finding in report.findings)
    yield f"\n{report.findings_note}"
    for section in report.sections:
        yield f"\n## {section.title}\n"
        if section.note:
            yield f"{section.note}\n"
        for block in section.blocks:
            match block:
                case Table():
                    yield from _table(block)
                case Text():
                    yield f"`{block.title}`\n\n```toml\n{block.text.rstrip()}\n```\n"
                case _:
                    pass
        yield from (f"![{file}]({file})\n" for title, file in pictures if title == section.title)


def _table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(table.columns)} |"
    numbers = [
        any(isinstance(row[at], Number) for row in table.rows) for at in range(len(table.columns))
    ]
    yield f"|{'|'.join('--:' if number else '---' for number in numbers)}|"
    for row in table.rows:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"
    yield ""


def _cell(cell: Cell) -> str:
    match cell:
        case Code():
            return f"`{cell.text}`"
        case Number():
            return cell.text
        case _:
            return cell.replace("|", "\\|")
