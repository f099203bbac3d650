"""Renders a report as one self-contained page that needs no network and no server."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from fullpipe import wings
from fullpipe._core import __version__
from fullpipe.report import hexagons, page_data, svg
from fullpipe.report.colors import COLORS, DASHES, ON_DARK, heat, own_looks
from fullpipe.report.model import (
    Again,
    Clouds,
    Code,
    Density,
    Heat,
    Lines,
    Number,
    Table,
    Text,
    Timeline,
)
from fullpipe.report.page_timeline import timeline
from fullpipe.runs.view.document import document as framed
from fullpipe.runs.view.table import short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fullpipe.report.colors import Look
    from fullpipe.report.model import Block, Cell, Finding, Line, Report, Section, Values

_MARKS = {1: ("better", "▲"), -1: ("worse", "▼"), 0: ("", "•")}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_MOST_BYTES = 2_000_000
_FEW_ROWS = 40
_FEW_FINDINGS = 12


class _Data:
    """The data of the page's charts, as they are met."""

    def __init__(self, *, live: bool) -> None:
        self.live = live
        self.charts: list[page_data.Chart] = []
        self.timelines: list[page_data.Timeline] = []
        self.packed = page_data.Packed()

    def text(self) -> str:
        """Returns it as JSON; "</script>" would end a script even inside a string."""
        data: page_data.Data = {
            "format": "fullpipe-report",
            "version": page_data.VERSION,
            "colors": list(COLORS),
            "onDark": list(ON_DARK),
            "dashes": [list(each) for each in DASHES],
            "charts": self.charts,
            "timelines": self.timelines,
        }
        return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def page(report: Report, *, live: bool = False) -> str:
    """Returns the whole page.

    The page has the simulator, for readers who change a scenario and run it again, if it is built and
    as long as the page stays below 2 MB.

    Args:
        report: The report.
        live: Have the simulator in a larger page, too.
    """
    simulator = wings.in_page().inside() if any(_again(report)) else None
    made = _page(report, simulator)
    if simulator is None or live or len(made) <= _MOST_BYTES:
        return made
    return _page(report, None)


def _again(report: Report) -> Iterator[Again]:
    for section in report.sections:
        yield from (block for block in section.blocks if isinstance(block, Again))


def _page(report: Report, simulator: str | None) -> str:
    data = _Data(live=simulator is not None)
    body = "".join(
        _section(number, section, data) for number, section in enumerate(report.sections)
    )
    places: dict[str, int] = {}
    for number, each in enumerate(report.sections):
        places.setdefault(each.part or each.title, number)
    links = "".join(f'<a href="#s{number}">{escape(title)}</a>' for title, number in places.items())
    facts = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in report.facts
    )
    summary = ""
    if report.findings or report.findings_note:
        summary = f'<section id="summary"><h2>Summary</h2>{_findings(report)}</section>\n'
    skip = ("summary", "To the summary") if summary else ("main", "To the results")
    return document(
        report.title,
        f"""<a class="skip" href="#{skip[0]}">{skip[1]}</a>
<header><h1>{escape(report.title)}</h1>{f"<p>{escape(report.about)}</p>" if report.about else ""}
<dl class="facts">{facts}</dl></header>
<nav aria-label="Sections">{summary and '<a href="#summary">Summary</a>'}{links}</nav>
<main id="main">
{summary}{body}</main>
<footer><p>Made by fullpipe {__version__}. Charts: uPlot, MIT, © Leon Sorokin.</p></footer>
<script type="application/json" id="data">{data.text()}</script>
<script type="text/plain" id="points">{"".join(data.packed.parts)}</script>
<script>{asset("page.js")}</script>
<script type="text/plain" id="late">{"".join(data.packed.late)}</script>
{simulator or ""}""",
        asset("page.css") + _colors(),
        live=data.live,
    )


def document(title: str, body: str, styles: str, *, live: bool = False) -> str:
    """Returns a self-contained page; its content security policy forbids loading anything else.

    Args:
        title: The title.
        body: The contents of the body.
        styles: The style sheet.
        live: Allow what the explorer needs that the page opens.
    """
    return framed(title, body, styles, wings.in_page().POLICY if live else _POLICY)


def asset(name: str) -> str:
    """Returns a script or style sheet for the pages."""
    return files("fullpipe.report").joinpath("assets", name).read_text(encoding="utf-8")


def _colors() -> str:
    """Returns the colors of lines as CSS variables, for elements that the script does not draw."""

    def names(colors: tuple[str, ...]) -> str:
        return "".join(f"--c{number}:{color};" for number, color in enumerate(colors))

    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{names(ON_DARK)}}}}}"
    return f":root{{{names(COLORS)}}}{dark}"


def _findings(report: Report) -> str:
    first, more = report.findings[:_FEW_FINDINGS], report.findings[_FEW_FINDINGS:]
    rest = f"<details><summary>{len(more)} more</summary>{_list(more)}</details>" if more else ""
    legend = (
        " ▲: the first-named one is better; ▼: it is worse."
        if any(each.better for each in report.findings)
        else ""
    )
    return f'{_list(first)}{rest}<p class="note">{escape(report.findings_note + legend)}</p>'


def _list(findings: Sequence[Finding]) -> str:
    items = ""
    for finding in findings:
        kind, mark = _MARKS[finding.better]
        said = f'<span class="mark {kind}" aria-hidden="true">{mark}</span>'
        word = f'<span class="unseen">{kind}: </span>' if kind else ""
        items += f"<li>{said}{word}{escape(finding.text)}</li>"
    return f'<ul class="findings">{items}</ul>'


def _section(number: int, section: Section, data: _Data) -> str:
    note = f'<p class="note">{escape(section.note)}</p>' if section.note else ""
    blocks = "".join(_blocks(section.blocks, data))
    title = f"<h2>{escape(section.title)}</h2>"
    return f'<section id="s{number}">{title}{note}<div class="blocks">{blocks}</div></section>\n'


def _blocks(blocks: list[Block], data: _Data) -> Iterator[str]:
    for (kind, row), together in groupby(blocks, key=_row_of):
        if not row:
            yield from _each(together, data)
        elif kind is not Heat:
            yield _row(row, list(together), data)
        else:
            maps = list(together)
            note = "".join(
                {
                    f'<p class="note">{escape(each.note)}</p>'
                    for each in maps
                    if isinstance(each, Heat) and each.note
                }
            )
            yield f'<div class="wide maps">{"".join(_each(maps, data))}</div>{note}'


def _row_of(block: Block) -> tuple[type, str]:
    """Returns what blocks side by side have in common; an empty text for any other."""
    return type(block), block.row if isinstance(block, Heat | Lines | Clouds) else ""


def _row(title: str, blocks: Sequence[Block], data: _Data) -> str:
    """Returns charts side by side, with the legend of all."""
    clouds = [block for block in blocks if isinstance(block, Clouds)]
    if clouds:
        charts, legend = svg.row(clouds)
        sides = f"Upward: {clouds[0].y}; to the left: {clouds[0].x}."
        notes = dict.fromkeys([sides, clouds[0].note, *(each.left for each in clouds)])
        below = f'<p class="note">{escape(" ".join(filter(None, notes)))}</p>'
    else:
        charts, legend, below = "".join(_each(blocks, data)), '<p class="values"></p>', ""
    return (
        f'<div class="wide row"><h3>{escape(title)}</h3>{legend}'
        f'<div class="charts">{charts}</div>{below}</div>'
    )


def _each(blocks: Iterable[Block], data: _Data) -> Iterator[str]:
    for block in blocks:
        match block:
            case Table():
                yield _table(block)
            case Lines():
                yield _figure(block, data)
            case Heat():
                yield _heat(block)
            case Density():
                note = f'<p class="note">{escape(block.note)}</p>' if block.note else ""
                yield f"<figure><figcaption>{escape(block.title)}</figcaption>{hexagons.density(block)}{note}</figure>"
            case Timeline():
                yield _timeline(block, data)
            case Again():
                if data.live:
                    left = f'<p class="note">{escape(block.left)}</p>' if block.left else ""
                    yield f'<div class="wide">{wings.in_page().again(block.scenarios)}{left}</div>'
            case Text():
                yield (
                    f'<details class="wide"><summary>{escape(block.title)}</summary>'
                    f'<pre tabindex="0">{escape(block.text)}</pre></details>'
                )
            case _:
                picture = svg.clouds(block)
                yield f"<figure><figcaption>{escape(block.title)}</figcaption>{picture}</figure>"


def _table(table: Table) -> str:
    heads = ""
    for head in table.heads:
        heads += (
            f'<th scope="col" aria-sort="none"><button type="button">{escape(head)}</button></th>'
        )
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    whole = (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}">'
        f'<table class="sortable"><caption>{escape(table.title)} '
        '<span class="hint">(click a column header to sort)</span></caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
    if len(table.rows) <= _FEW_ROWS:
        return f'<div class="wide">{whole}</div>'
    summary = f"<summary>{escape(table.title)}: {len(table.rows):,} rows</summary>"
    return f'<details class="wide">{summary}{whole}</details>'


def _cell(cell: Cell) -> str:
    match cell:
        case Number():
            value = (
                "" if cell.value is None or cell.value != cell.value else repr(float(cell.value))
            )
            text, bracket, interval = cell.text.partition(" [")
            more = f"<small>{escape(bracket.strip() + interval)}</small>" if bracket else ""
            return f'<td class="n" data-v="{value}">{escape(text)}{more}</td>'
        case Code():
            return f"<td><code>{escape(cell.text)}</code></td>"
        case _:
            return f"<td>{escape(cell)}</td>"


def _heat(block: Heat) -> str:
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in block.columns)
    rows = ""
    for name, values in zip(block.rows, block.values, strict=True):
        cells = ""
        for value in values:
            if np.isfinite(value):
                paper, ink = heat(block.share(value))
                cells += f'<td style="background:{paper};color:{ink}">{short(value)}</td>'
            else:
                cells += "<td>–</td>"
        rows += f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'
    unit = f", {block.unit}" if block.unit else ""
    axes = f'<span class="hint">{escape(block.about)}</span>'
    width = f' style="--columns:{len(block.columns)}"'
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(block.title)}"{width}>'
        f'<table class="heat"><caption>{escape(block.title + unit)}<br>{axes}</caption>'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _figure(block: Lines, data: _Data) -> str:
    number = len(data.charts)
    data.charts.append(_chart(block))
    note = f'<p class="note">{escape(block.note)}</p>' if block.note else ""
    return (
        f"<figure><figcaption>{escape(block.title)}</figcaption>"
        f'<div class="chart" data-chart="{number}"></div>{note}</figure>'
    )


def _timeline(block: Timeline, data: _Data) -> str:
    number = len(data.timelines)
    data.timelines.append(timeline(block, data.packed))
    return (
        f'<div class="wide timeline" data-timeline="{number}">'
        '<noscript><p class="note">Charts over time need JavaScript.</p></noscript></div>'
    )


def _chart(block: Lines) -> page_data.Chart:
    return {
        "title": block.title,
        "row": block.row,
        "x": block.x,
        "y": block.y,
        "marks": [float(f"{value:.6g}") for value in block.marks],
        "stepped": block.stepped,
        "logX": block.log_x,
        "logY": block.log_y,
        "lines": [_line(*each) for each in zip(block.lines, own_looks(block.lines), strict=True)],
    }


def _line(line: Line, look: Look) -> page_data.Line:
    return {
        "label": line.label,
        "color": look.color,
        "dash": look.dash,
        "shade": look.shade,
        "mark": -1 if line.mark is None else line.mark,
        "x": _numbers(line.x),
        "y": _numbers(line.y),
        "low": _numbers(line.low),
        "high": _numbers(line.high),
    }


def _numbers(values: Values | None) -> list[float | None]:
    """Returns values with six digits; null where they are not finite."""
    if values is None:
        return []
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]
