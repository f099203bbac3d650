r"""Renders the tables of a report in LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.base.terminal import printable
from fullpipe.report.model import Code, Number, Table
from fullpipe.runs.view.pgf import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fullpipe.report.model import Cell, Report

_LONG = 45
"""Rows from which on a table is a longtable, which goes on over pages."""


def document(report: Report) -> str:
    r"""Returns all tables of a report as one file for `\input`."""
    found = [
        (section.title, block)
        for section in report.sections
        for block in section.blocks
        if isinstance(block, Table)
    ]
    return tables(report.title, found)


def tables(title: str, found: Sequence[tuple[str, Table]], note: str = "") -> str:
    r"""Returns tables, each with the title of its section, as one file for `\input`; `note` is a comment."""
    return "\n".join(_file(title, found, note))


def _file(title: str, tables: Sequence[tuple[str, Table]], note: str) -> Iterator[str]:
    packages = ["booktabs"]
    if any(len(table.rows) > _LONG for _, table in tables):
        packages.append("longtable")
    yield f"% {printable(' '.join(title.splitlines()))}"
    if note:
        yield f"% {printable(note)}"
    needs = ", ".join(f"\\usepackage{{{each}}}" for each in packages)
    yield f"% Tables of a report by fullpipe. The preamble needs {needs}.\n"
    for section, table in tables:
        yield from _table(section, table)


def _table(section: str, table: Table) -> Iterator[str]:
    numbers = [
        any(isinstance(row[at], Number) for row in table.rows) for at in range(len(table.columns))
    ]
    form = "".join("r" if number else "l" for number in numbers)
    head = f"{' & '.join(map(escaped, table.heads))} \\\\"
    body = [f"{' & '.join(map(_cell, row))} \\\\" for row in table.rows]
    title = table.title if table.title == section else f"{section}: {table.title}"
    yield f"% {printable(title)}"
    if len(table.rows) > _LONG:
        yield f"\\begin{{longtable}}{{{form}}}"
        yield from ("\\toprule", head, "\\midrule", "\\endhead", "\\bottomrule", "\\endfoot")
        yield from body
        yield "\\end{longtable}\n"
        return
    yield f"\\begin{{tabular}}{{{form}}}"
    yield from ("\\toprule", head, "\\midrule", *body, "\\bottomrule")
    yield "\\end{tabular}\n"


def _cell(cell: Cell) -> str:
    match cell:
        case Code():
            return f"\\texttt{{{escaped(cell.text)}}}"
        case Number():
            return escaped(cell.text)
        case _:
            return escaped(cell)
