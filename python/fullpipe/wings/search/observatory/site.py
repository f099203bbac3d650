"""Writes the site: `index.html` with the matrices, a file for each cell with the values of its seeds, the explorer."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe import wings
from fullpipe._core import __version__
from fullpipe.results import disk
from fullpipe.runs.view.colors import COLORS, DASHES, ON_DARK, color_of
from fullpipe.runs.view.document import document
from fullpipe.stats import corrected, mean, paired
from fullpipe.study.cells import HERE, stack_of_cells
from fullpipe.wings.search.observatory.plan import FIRST_SEED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from fullpipe.study.question import Number, Question

    Values = Mapping[tuple[int, str], Mapping[int, float]]

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'self' file:; "
    "connect-src 'none'"
)
"""Its scripts are in the page and next to it, from a disk or a server; nothing else is loaded."""
_DIGITS = 4
_AROUND = {"max_min_share": 1, "harm": 0}
"""Metrics that are best at one value, and worse on both sides."""


class Earlier(NamedTuple):
    """An earlier observatory.

    Attributes:
        name: Its version, and the name of its directory.
        values: The rows of its `values-….parquet`.
    """

    name: str
    values: pl.DataFrame


def write(
    families: Sequence[Question],
    algorithms: Sequence[str],
    values: pl.DataFrame,
    site: Path,
    earlier: Earlier | None = None,
) -> None:
    """Writes the site.

    Raises:
        EngineError: When the simulator for pages is not built.
        OSError: When the site can't be written.
    """
    disk.make_folder(site / "cells")
    seeds = int(values["seed"].n_unique())
    shown_families = [
        _family(family, algorithms, values, site / "cells", earlier) for family in families
    ]
    data = {
        "colors": list(COLORS),
        "onDark": list(ON_DARK),
        "dashes": [list(each) for each in DASHES],
        "observatory": {
            "version": __version__,
            "here": HERE,
            "earlier": earlier and earlier.name,
            "algorithms": [{"name": each, "color": color_of(each)} for each in algorithms],
            "families": shown_families,
        },
    }
    coded = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    cells, runs = (
        sum(len(each.cells) for each in families),
        int(values.select("family", "cell", "algorithm", "seed").n_unique()),
    )
    against = f" Compared with {escape(earlier.name)}." if earlier else ""
    body = f"""<a class="skip" href="#matrix">To the matrix</a>
<header><h1>Observatory</h1>
<p>{len(algorithms)} algorithms on {cells} paths, {seeds} seeds each: {runs:,} runs of fullpipe {__version__},
stack {escape(stack_of_cells(families))}.{against}
Choose a cell for its seeds, its scenario and the run itself.</p></header>
<main>
<div id="choices"></div>
<p id="question"></p>
<div id="matrix" tabindex="-1"></div>
<p class="note" id="legend"></p>
<section id="cell" aria-live="polite"></section>
</main>
<footer><p>Means over seeds, with Student's 95 % intervals. Same scenario, seed and version: same numbers.</p></footer>
<script type="application/json" id="data">{coded}</script>
<script>{_asset("main.js")}</script>"""
    pages = wings.in_page()
    page = pages.explorer(pages.DEFAULT, "scenario")
    disk.put(site / "explore.html", page)
    disk.put(site / "index.html", document("Observatory", body, _asset("main.css"), POLICY))


def _asset(name: str) -> str:
    return (
        files("fullpipe.wings.search.observatory")
        .joinpath("assets", name)
        .read_text(encoding="utf-8")
    )


def _family(
    family: Question,
    algorithms: Sequence[str],
    values: pl.DataFrame,
    cells: Path,
    earlier: Earlier | None,
) -> dict[str, Any]:
    """Writes the files of a family's cells, and returns what the page has of it."""
    mine = _by_metric(family, values)
    before = _by_metric(family, earlier.values) if earlier else {}
    for number, cell in enumerate(family.cells):
        about = {
            "text": f"seed = {FIRST_SEED}\n{family.text(cell)}",
            "values": [
                [
                    [_short(value) for _, value in sorted(of.get((number, each), {}).items())]
                    for each in algorithms
                ]
                for of in mine.values()
            ],
        }
        coded = json.dumps(about, separators=(",", ":"), allow_nan=False)
        disk.put(cells / f"{family.name}-{number}.js", f"observed({coded})\n")
    return {
        "name": family.name,
        "title": family.title,
        "question": family.question,
        "axes": [{"name": name, "values": list(values)} for name, values in family.axes.items()],
        "metrics": [
            {
                **_words(number),
                **_means(family, algorithms, mine[number.name]),
                **(
                    _changes(family, algorithms, mine[number.name], before[number.name])
                    if earlier
                    else {}
                ),
            }
            for number in family.numbers
        ],
    }


def _words(number: Number) -> dict[str, Any]:
    known = number.quantity
    return {
        "words": known.words,
        "unit": known.unit,
        "scale": known.scale,
        "better": known.better,
        "around": _AROUND.get(number.name),
    }


def _by_metric(
    family: Question, values: pl.DataFrame
) -> dict[str, dict[tuple[int, str], dict[int, float]]]:
    """Returns the values of a family by metric, by cell and algorithm, and by seed."""
    found: dict[str, dict[tuple[int, str], dict[int, float]]] = {
        number.name: {} for number in family.numbers
    }
    rows = values.filter(family=family.name)
    for cell, algorithm, metric, seed, value in rows.select(
        "cell", "algorithm", "metric", "seed", "value"
    ).iter_rows():
        found[metric].setdefault((cell, algorithm), {})[seed] = value
    return found


def _means(family: Question, algorithms: Sequence[str], of: Values) -> dict[str, list[Any]]:
    """Returns mean, interval and number of seeds of each cell and algorithm."""
    columns: dict[str, list[Any]] = {"mean": [], "low": [], "high": [], "seeds": []}
    for number in range(len(family.cells)):
        for algorithm in algorithms:
            seen = list(of.get((number, algorithm), {}).values())
            columns["seeds"].append(len(seen))
            for name, value in zip(
                ("mean", "low", "high"), mean(seen) if seen else (None,) * 3, strict=True
            ):
                columns[name].append(_short(value))
    return columns


def _changes(
    family: Question, algorithms: Sequence[str], of: Values, before: Values
) -> dict[str, list[Any]]:
    """Returns the difference from an earlier observatory of each cell and algorithm, seed by seed.

    The intervals are corrected for the number of cells and algorithms, as in a report; None stands for no common seed.
    """
    keys = [(number, each) for number in range(len(family.cells)) for each in algorithms]
    both = {
        key: paired(of[key], before[key])
        for key in keys
        if key in of and key in before and of[key].keys() & before[key].keys()
    }
    found = dict(zip(both, corrected(list(both.values())), strict=True))
    columns: dict[str, list[Any]] = {"change": [], "changeLow": [], "changeHigh": [], "changed": []}
    for key in keys:
        each = found.get(key)
        ends = each.difference if each else (None,) * 3
        for name, value in zip(("change", "changeLow", "changeHigh"), ends, strict=True):
            columns[name].append(_short(value))
        columns["changed"].append(bool(each and each.significant))
    return columns


def _short(value: float | None) -> float | None:
    """Returns a value with four digits; None for no number."""
    return None if value is None or value != value else float(f"{value:.{_DIGITS}g}")
