"""Output for a terminal as HTML, for notebooks: tables, lines of words and pictures."""

from __future__ import annotations

import html
from base64 import b64encode
from io import StringIO
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fullpipe.base.terminal import printable
from fullpipe.runs.view.table import Trimmed

_WIDTH = 120
"""Columns of the terminal whose tables a notebook has: those of 80 leave some columns out."""


class Page(Console):
    """A console that collects its output as HTML.

    A function that prints tables for a terminal prints them for a notebook, too. All texts are escaped.
    """

    def __init__(self) -> None:
        super().__init__(width=_WIDTH, file=StringIO(), highlight=False, color_system=None)
        self._parts: list[str] = []

    def print(self, *objects: Any, style: Any = None, **_: Any) -> None:  # noqa: ANN401  (as rich has it)
        """Adds tables and lines."""
        for each in objects:
            inner = each.table if isinstance(each, Trimmed) else each
            if isinstance(inner, Table):
                self._parts.append(_table(inner))
                continue
            text = escaped(inner.plain if isinstance(inner, Text) else str(inner))
            if text:
                bold = "bold" in str(style or (inner.style if isinstance(inner, Text) else ""))
                self._parts.append(f"<div>{f'<b>{text}</b>' if bold else text}</div>")

    def add_png(self, picture: bytes | None) -> None:
        """Adds a picture; None for no picture."""
        if picture is not None:
            data = b64encode(picture).decode()
            self._parts.append(
                f'<img alt="" style="max-width: 100%" src="data:image/png;base64,{data}">'
            )

    def add_text(self, text: str) -> None:
        """Adds a text whose lines and columns are kept."""
        self._parts.append(f"<pre>{escaped(text)}</pre>")

    def html(self) -> str:
        """Returns everything as one element."""
        return f'<div class="fullpipe">{"".join(self._parts)}</div>'


def escaped(text: str) -> str:
    """Returns a text without characters that HTML, or the order of reading, would obey."""
    return html.escape(printable(text))


def _table(table: Table) -> str:
    columns = [column for column in table.columns if list(column.cells) or column.header]
    sides = ["right" if column.justify == "right" else "left" for column in columns]
    cells = [[_cell(each) for each in column.cells] for column in columns]
    parts = []
    if any(column.header for column in columns):
        heads = "".join(
            f'<th style="text-align: {side}; vertical-align: bottom">{_cell(column.header)}</th>'
            for column, side in zip(columns, sides, strict=True)
        )
        parts.append(f"<thead><tr>{heads}</tr></thead>")
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align: {side}">{cell}</td>'
            for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in zip(*cells, strict=True)
    )
    return f"<table>{''.join(parts)}<tbody>{rows}</tbody></table>"


def _cell(cell: object) -> str:
    text = cell.plain if isinstance(cell, Text) else str(cell)
    return escaped(text).replace("\n", "<br>")
