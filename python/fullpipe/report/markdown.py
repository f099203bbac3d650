"""Renders a report as Markdown with vector figures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fullpipe.base.terminal import printable
from fullpipe.report.model import Code, Number, Table, Text
from fullpipe.report.static import write_pictures
from fullpipe.results import disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fullpipe.report.model import Cell, Report


def write_markdown(report: Report, directory: Path, style: Path | None = None) -> None:
    """Writes `report.md` and its figures into a new directory.

    Raises:
        OSError: When a file can't be written.
        StyleError: When the style file can't be used.
    """
    pictures = write_pictures(report, directory, "svg", style, notes=False)
    disk.write(directory / "report.md", "\n".join(lines(report, pictures)) + "\n")


def lines(report: Report, pictures: list[tuple[str, str]]) -> Iterator[str]:
    """Yields the lines of a report, with its figures by section and file name."""
    yield f"# {_plain(report.title)}\n"
    if report.about:
        yield f"{_plain(report.about)}\n"
    yield from (f"- {_plain(name)}: {_plain(text)}" for name, text in report.facts)
    if report.findings or report.findings_note:
        yield "\n## Summary\n"
        yield from (f"- {_plain(finding.text)}" for finding in report.findings)
        yield f"\n{_plain(report.findings_note)}"
    for section in report.sections:
        yield f"\n## {_plain(section.title)}\n"
        if section.note:
            yield f"{_plain(section.note)}\n"
        for block in section.blocks:
            match block:
                case Table():
                    yield from _table(block)
                case Text():
                    fence = "`" * max(3, _longest_run(block.text) + 1)
                    yield f"{_code(block.title)}\n\n{fence}toml\n{block.text.rstrip()}\n{fence}\n"
                case _:
                    pass
        yield from (f"![{file}]({file})\n" for title, file in pictures if title == section.title)


def _table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(map(_cell, table.columns))} |"
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
            text = _code(cell.text)
        case Number():
            text = cell.text
        case _:
            text = _plain(cell)
    return text.replace("|", "\\|")


def _plain(text: str) -> str:
    """Escapes Markdown, HTML, line breaks, and characters that change a terminal's output."""
    text = printable(" ".join(text.splitlines()))
    for mark, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(mark, entity)
    return re.sub(r"([\\`*\[\]])", r"\\\1", text)


def _code(text: str) -> str:
    """Returns a code span, with more backticks than the text has in a row (CommonMark 0.31 §6.1)."""
    text = printable(" ".join(text.splitlines()))
    marks = "`" * (_longest_run(text) + 1)
    space = " " if "`" in text else ""
    return f"{marks}{space}{text}{space}{marks}"


def _longest_run(text: str) -> int:
    return max((len(each) for each in re.findall("`+", text)), default=0)
