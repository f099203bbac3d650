"""Renders a report as one self-contained page that needs no network and no server."""

from __future__ import annotations

import base64
import json
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from fullpipe._core import __version__
from fullpipe.report import hexagons, svg
from fullpipe.report.colors import COLORS, DASHES, ON_DARK, heat
from fullpipe.report.model import Code, Density, Heat, Lines, Number, Table, Text, Timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fullpipe.report.model import Block, Cell, Finding, Line, Report, Section, Values

_MARKS = {1: ("better", "▲"), -1: ("worse", "▼"), 0: ("", "•")}
_FEW_ROWS = 40
_FEW_FINDINGS = 12


def page(report: Report) -> str:
    """Returns the whole page."""
    charts: list[dict[str, Any]] = []
    body = "".join(
        _section(number, section, charts) for number, section in enumerate(report.sections)
    )
    links = "".join(
        f'<a href="#s{number}">{escape(each.title)}</a>'
        for number, each in enumerate(report.sections)
    )
    facts = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in report.facts
    )
    data = json.dumps({"charts": charts, "colors": COLORS, "onDark": ON_DARK, "dashes": DASHES})
    data = data.replace("</", "<\\/")  # "</script>" ends a script even inside a string
    return document(
        report.title,
        f"""<a class="skip" href="#summary">To the summary</a>
<header><h1>{escape(report.title)}</h1>{f"<p>{escape(report.about)}</p>" if report.about else ""}
<dl class="facts">{facts}</dl></header>
<nav aria-label="Sections"><a href="#summary">Summary</a>{links}</nav>
<main>
<section id="summary"><h2>Summary</h2>{_findings(report)}</section>
{body}</main>
<footer><p>Made by fullpipe {__version__}. Charts: uPlot, MIT, © Leon Sorokin.</p></footer>
<script type="application/json" id="data">{data}</script>
<script>/*! uPlot 1.6.32, MIT License, (c) 2022 Leon Sorokin */
{asset("uPlot.iife.min.js")}</script>
<script type="module">{asset("report.js")}</script>""",
        asset("uPlot.min.css") + asset("report.css") + _colors(),
    )


def document(title: str, body: str, styles: str) -> str:
    """Returns a self-contained page; its content security policy forbids loading anything else."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="fullpipe {__version__}">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{escape(title)}</title>
<style>{styles}</style>
</head>
<body>
{body}
</body>
</html>
"""


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


def _section(number: int, section: Section, charts: list[dict[str, Any]]) -> str:
    note = f'<p class="note">{escape(section.note)}</p>' if section.note else ""
    blocks = "".join(_blocks(section.blocks, charts))
    title = f"<h2>{escape(section.title)}</h2>"
    return f'<section id="s{number}">{title}{note}<div class="blocks">{blocks}</div></section>\n'


def _blocks(blocks: list[Block], charts: list[dict[str, Any]]) -> Iterator[str]:
    for row, together in groupby(
        blocks, key=lambda block: block.row if isinstance(block, Heat) else None
    ):
        if row is None:
            yield from _each(together, charts)
        else:
            yield f'<div class="wide maps">{"".join(_each(together, charts))}</div>'


def _each(blocks: Iterable[Block], charts: list[dict[str, Any]]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Table():
                yield _table(block)
            case Lines():
                yield _figure(block, charts)
            case Heat():
                yield _heat(block)
            case Density():
                note = f'<p class="note">{escape(block.note)}</p>' if block.note else ""
                yield f"<figure><figcaption>{escape(block.title)}</figcaption>{hexagons.density(block)}{note}</figure>"
            case Timeline():
                yield _timeline(block, charts)
            case Text():
                yield (
                    f'<details class="wide"><summary>{escape(block.title)}</summary>'
                    f'<pre tabindex="0">{escape(block.text)}</pre></details>'
                )
            case _:
                picture = svg.clouds(block)
                yield f"<figure><figcaption>{escape(block.title)}</figcaption>{picture}</figure>"


def _table(table: Table) -> str:
    heads = "".join(
        f'<th scope="col" aria-sort="none"><button type="button">{escape(name[0].upper() + name[1:])}</button></th>'
        for name in table.columns
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
    return f'<details class="wide" open>{summary}{whole}</details>'


def _cell(cell: Cell) -> str:
    match cell:
        case Number():
            value = (
                "" if cell.value is None or cell.value != cell.value else repr(float(cell.value))
            )
            return f'<td class="n" data-v="{value}">{escape(cell.text)}</td>'
        case Code():
            return f"<td><code>{escape(cell.text)}</code></td>"
        case _:
            return f"<td>{escape(cell)}</td>"


def _heat(block: Heat) -> str:
    span = block.most - block.least
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in block.columns)
    rows = ""
    for name, values in zip(block.rows, block.values, strict=True):
        cells = ""
        for value in values:
            if np.isfinite(value):
                paper, ink = heat((value - block.least) / span if span else 0.5)
                cells += f'<td style="background:{paper};color:{ink}">{value:.3g}</td>'
            else:
                cells += "<td>–</td>"
        rows += f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'
    unit = f", {block.unit}" if block.unit else ""
    axes = f'<span class="hint">rows: {escape(block.row_key)}, columns: {escape(block.column_key)}</span>'
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(block.title)}">'
        f'<table class="heat"><caption>{escape(block.title + unit)}<br>{axes}</caption>'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _figure(block: Lines, charts: list[dict[str, Any]]) -> str:
    number = len(charts)
    charts.append(_chart(block))
    note = f'<p class="note">{escape(block.note)}</p>' if block.note else ""
    return (
        f"<figure><figcaption>{escape(block.title)}</figcaption>"
        f'<div class="chart" data-chart="{number}"></div>{note}</figure>'
    )


def _timeline(block: Timeline, charts: list[dict[str, Any]]) -> str:
    options, first = "", len(charts)
    panels = max(len(run.panels) for run in block.runs)
    for number, run in enumerate(block.runs):
        options += f'<option value="{number}">{escape(run.label)}</option>'
    charts.append({"runs": [_run(run.command, run.panels) for run in block.runs]})
    places = '<div class="chart"></div>' * panels
    return (
        f'<div class="wide timeline" data-chart="{first}"><p><label>Run <select>{options}</select></label> '
        '<button type="button" class="reset">Reset zoom</button></p>'
        '<p class="note">Drag to zoom, double-click to reset. Keys on a focused chart: + − zoom, ← → move, 0 resets. '
        "All charts of the run zoom together.</p>"
        f'<p><code class="command"></code></p>{places}</div>'
    )


def _run(command: str, panels: list[Lines]) -> dict[str, Any]:
    return {"command": command, "panels": [_chart(panel) for panel in panels]}


def _chart(block: Lines) -> dict[str, Any]:
    return {
        "title": block.title,
        "x": block.x,
        "y": block.y,
        "note": block.note,
        "stepped": block.stepped,
        "logX": block.log_x,
        "logY": block.log_y,
        "lines": [_line(line, number) for number, line in enumerate(block.lines)],
    }


def _line(line: Line, number: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "label": line.label,
        "style": number if line.style is None else line.style,
    }
    for name, values in (("x", line.x), ("v", line.y), ("low", line.low), ("high", line.high)):
        if values is not None:
            found[name] = _packed(values)
    return found


def _packed(values: Values) -> str:
    """Encodes values as little-endian 32-bit floats in base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")
