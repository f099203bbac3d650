r"""Renders the tables of a report in LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from fullpipe.base.terminal import printable
from fullpipe.report.model import Code, Number, Table
from fullpipe.runs.view.pgf import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fullpipe.report.model import Cell, Report, Section

_WIDE = 100
"""Letters of a line of a comment."""
_SAID = ("Steadiness", "Warning")
"""Facts that are comments: those that limit what the numbers mean."""
_LONG = 45
"""Rows from which on a table is a longtable, which goes on over pages."""


def document(report: Report) -> str:
    r"""Returns all tables of a report as one file for `\input`."""
    facts = [f"{name}: {text}" for name, text in report.facts if name in _SAID]
    return tables(report.title, report.sections, " ".join(facts))


def tables(title: str, sections: Sequence[Section], note: str = "") -> str:
    r"""Returns the tables of sections as one file for `\input`; `note` and those of the sections are comments."""
    return "\n".join(_file(title, sections, note))


def _file(title: str, sections: Sequence[Section], note: str) -> Iterator[str]:
    found = [
        (section, [block for block in section.blocks if isinstance(block, Table)])
        for section in sections
    ]
    packages = ["booktabs"]
    if any(len(table.rows) > _LONG for _, tables in found for table in tables):
        packages.append("longtable")
    yield from _comment(title)
    yield from _comment(note)
    needs = ", ".join(f"\\usepackage{{{each}}}" for each in packages)
    yield f"% Tables of a report by fullpipe. The preamble needs {needs}.\n"
    for section, tables in found:
        if tables:
            yield from _comment(section.note)
        for table in tables:
            yield from _table(section.title, table)


def _comment(text: str) -> Iterator[str]:
    yield from (f"% {each}" for each in wrap(printable(" ".join(text.splitlines())), _WIDE))


def _table(section: str, table: Table) -> Iterator[str]:
    numbers = [
        any(isinstance(row[at], Number) for row in table.rows) for at in range(len(table.columns))
    ]
    form = "".join("r" if number else "l" for number in numbers)
    head = f"{' & '.join(map(escaped, table.heads))} \\\\"
    body = [f"{' & '.join(map(_cell, row))} \\\\" for row in table.rows]
    title = table.title if table.title == section else f"{section}: {table.title}"
    yield from _comment(title)
    yield from _comment(table.note)
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
