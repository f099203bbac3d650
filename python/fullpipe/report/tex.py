r"""Renders the tables of a report in LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

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
_COLUMN, _PAGE = 232.0, 345.0
"""Width of a column of a paper in two columns, and of the text of an article in one, pt: the least of usual classes."""
_FORMS = (("small", 9, 6), ("footnotesize", 8, 4), ("scriptsize", 7, 3))
"""Fonts, the largest first: command, size and \\tabcolsep, pt."""
_LETTER = 0.52
"""Mean width of a letter, in font sizes."""
_HEAD = 14
"""Letters of a line of a header, unless its column is wider."""
_LEGIBLE = 5.0
"""Least size of a font that has been made to fit, pt."""
_VALUE = re.compile(r"(-?[\d.,]+)([A-Za-z]+)")


class _Form(NamedTuple):
    """The form of a table: font, space between columns in pt, and its width as a part of the text's."""

    font: str
    size: int
    space: int
    part: float


def document(report: Report, name: str = "") -> str:
    r"""Returns all tables of a report as one file for `\input`; their labels have the name."""
    facts = [f"{fact}: {text}" for fact, text in report.facts if fact in _SAID]
    return tables(report.title, report.sections, " ".join(facts), name)


def tables(title: str, sections: Sequence[Section], note: str = "", name: str = "") -> str:
    r"""Returns the tables of sections as one file for `\input`; `note` and those of the sections are comments.

    Args:
        title: The title of the results, for a comment.
        sections: The sections.
        note: Words for a comment.
        name: The name in the labels of the tables: `\ref{tab:NAME}`, `\ref{tab:NAME-2}`.
    """
    return "\n".join(_file(title, sections, note, re.sub(r"[^A-Za-z0-9.-]+", "-", name)))


def _file(title: str, sections: Sequence[Section], note: str, name: str) -> Iterator[str]:
    found = [
        (
            section,
            [_with_units(block) for block in section.blocks if isinstance(block, Table)],
        )
        for section in sections
    ]
    every = [table for _, those in found for table in those]
    packages = ["booktabs"]
    long = [table for table in every if len(table.rows) > _LONG]
    if long:
        packages.append("longtable")
    if any(_form(table).part > 1 for table in every if table not in long):
        packages.append("graphicx")
    yield from _comment(title)
    yield from _comment(note)
    needs = ", ".join(f"\\usepackage{{{each}}}" for each in packages)
    yield f"% Tables of a report by fullpipe. The preamble needs {needs}."
    if long:
        yield from _comment(
            f"A table of more than {_LONG} rows is a longtable, which LaTeX refuses in two columns: write \\onecolumn "
            "before \\input, such as in an appendix, and \\twocolumn after it."
        )
    yield ""
    numbers = count(1)
    for section, those in found:
        if those:
            yield from _comment(section.note)
        for table in those:
            number = next(numbers)
            label = f"{name}-{number}" if number > 1 else name
            yield from _table(section.title, table, f"\\label{{tab:{label}}}" if name else "")


def _comment(text: str) -> Iterator[str]:
    yield from (f"% {each}" for each in wrap(printable(" ".join(text.splitlines())), _WIDE))


def _with_units(table: Table) -> Table:
    """Returns a table whose columns of values with one and the same unit, like 10ms, have it in their header."""
    heads, rows = [*table.heads], [[*row] for row in table.rows]
    for at in range(len(heads)):
        texts = [_text(row[at]) for row in rows]
        found = [_VALUE.fullmatch(text) for text in texts if text != "–"]
        units = {each[2] if each else "" for each in found}
        if len(units) == 1 and (unit := units.pop()):
            heads[at] = f"{heads[at]}, {unit}"
            for row in rows:
                row[at] = Number(None, _text(row[at]).removesuffix(unit))  # rows keep their order
    return replace(
        table, columns=tuple(heads), names=tuple(heads), rows=[tuple(row) for row in rows]
    )


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell.text


def _lines_of(head: str, widest: int) -> list[str]:
    """Returns a header in lines that are about as wide as the cells below it."""
    lines = wrap(head, max(widest, _HEAD), break_long_words=False)
    widths = range(max(map(len, head.split())), max(map(len, lines)) + 1)
    fair = (wrap(head, width, break_long_words=False) for width in widths)
    return next(found for found in fair if len(found) <= len(lines))


def _form(table: Table) -> _Form:
    """Returns the largest font with which a table fits into the text of an article."""
    widths = []
    for at, head in enumerate(table.heads):
        widest = max((len(_text(row[at])) for row in table.rows), default=1)
        widths.append(max(widest, *map(len, _lines_of(head, widest))))
    for font, size, space in _FORMS:
        wide = sum(widths) * _LETTER * size + 2 * space * len(widths)
        form = _Form(font, size, space, wide / _PAGE)
        if wide <= _PAGE:
            break
    return form


def _table(section: str, table: Table, label: str) -> Iterator[str]:
    numbers = [
        any(isinstance(row[at], Number) for row in table.rows) for at in range(len(table.columns))
    ]
    columns = "".join("r" if number else "l" for number in numbers)
    head = f"{' & '.join(_head(table, at, number=each) for at, each in enumerate(numbers))} \\\\"
    body = [f"{' & '.join(map(_cell, row))} \\\\" for row in table.rows]
    title = table.title if table.title == section else f"{section}: {table.title}"
    caption = f"\\caption{{{escaped(title)}}}{label}"
    form = _form(table)
    look = f"\\{form.font}\\setlength{{\\tabcolsep}}{{{form.space}pt}}"
    yield from _comment(table.note)
    if len(table.rows) > _LONG:
        if form.part > 1:
            yield from _comment(_too_wide(table, form))
        yield f"{{{look}"
        yield f"\\begin{{longtable}}{{{columns}}}"
        yield f"{caption}\\\\"
        yield from ("\\toprule", head, "\\midrule", "\\endfirsthead")
        yield from ("\\toprule", head, "\\midrule", "\\endhead", "\\bottomrule", "\\endfoot")
        yield from body
        yield "\\end{longtable}}\n"
        return
    kind = "table" if form.part * _PAGE <= _COLUMN else "table*"
    if form.size / form.part < _LEGIBLE:
        yield from _comment(_too_wide(table, form))
    yield f"\\begin{{{kind}}}"
    yield f"\\centering{look}"
    yield caption
    if form.part > 1:
        yield "\\resizebox{\\textwidth}{!}{%"
    yield f"\\begin{{tabular}}{{{columns}}}"
    yield from ("\\toprule", head, "\\midrule", *body, "\\bottomrule")
    yield "\\end{tabular}" + ("}" if form.part > 1 else "")
    yield f"\\end{{{kind}}}\n"


def _too_wide(table: Table, form: _Form) -> str:
    """Returns how much wider a table is than the text of an article, and the remedy."""
    return (
        f"{table.title}: {form.part:.1f} times as wide as the text of an article in the font {form.font}. "
        "Choose fewer metrics with --show."
    )


def _head(table: Table, at: int, *, number: bool) -> str:
    widest = max((len(_text(row[at])) for row in table.rows), default=1)
    lines = [escaped(each) for each in _lines_of(table.heads[at], widest)]
    if len(lines) < 2:
        return "".join(lines)
    text, side = " \\\\ ".join(lines), "r" if number else "l"
    return f"\\shortstack[{side}]{{{text}}}"


def _cell(cell: Cell) -> str:
    match cell:
        case Code():
            return f"\\texttt{{{escaped(cell.text)}}}"
        case Number():
            return escaped(cell.text)
        case _:
            return escaped(cell)
