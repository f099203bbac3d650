"""Metrics in words, with their unit, and whether more or less is better."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Quantity(NamedTuple):
    """A column of a data set of runs; `docs/reference/metrics.md` has its formula."""

    column: str
    words: str
    """The name in sentences."""
    unit: str
    """The unit in which it is shown."""
    scale: float
    """The factor from the value to the shown number."""
    better: int
    """1 when more is better, -1 when less is better, otherwise 0."""


_STATISTICS = {
    "min": "least",
    "mean": "mean",
    "p50": "median",
    "p95": "p95",
    "p99": "p99",
    "max": "greatest",
}

_SHOWN_IN = {
    "rate": ("Mbit/s", 1e-6),
    "time": ("s", 1.0),
    "packets": ("packets", 1.0),
    "volume": ("B", 1.0),
    "share": ("%", 100.0),
}
"""Unit and scale by dimension; metrics of other dimensions are plain numbers."""


@functools.cache
def _quantities() -> Mapping[tuple[bool, str], Quantity]:
    """Returns the quantities by whether they belong to a link, and by column."""
    found: dict[tuple[bool, str], Quantity] = {}
    for metric in _core.metrics():
        for column, statistic in _columns(metric):
            unit, scale = _SHOWN_IN.get(metric["dimension"], ("", 1.0))
            if metric["form"] == "distribution":
                unit, scale = ("ms", 1e3)
            words = f"{_STATISTICS[statistic]} {metric['words']}" if statistic else metric["words"]
            found.setdefault(
                (metric["of"] == "link", column),
                Quantity(column, words, unit, scale, metric["better"]),
            )
    return found


def _columns(metric: _core.Metric) -> Iterator[tuple[str, str]]:
    """Yields each column of a metric in a data set, with the statistic."""
    name, form = metric["name"], metric["form"]
    inner = f"{name}.all.flows" if form == "slowdowns" else name
    if form == "one":
        yield name, ""
    for statistic in metric["statistics"]:
        yield f"{inner}.{statistic}", statistic


def quantity(column: str) -> Quantity | None:
    """Returns the quantity of a column like `rtt_s.p95` or `link.bottleneck.utilization`; None if it is no metric."""
    base, _, limit = column.partition(".")
    if base == "limited_by" and limit:
        return Quantity(
            column, f"share of time limited by {limit.replace('_', ' ')}", "%", 100.0, 0
        )
    for of_link in (False, True):
        if (found := _quantities().get((of_link, column))) is not None:
            return found
    if column.startswith("link."):
        for (of_link, inner), known in _quantities().items():
            name = column.removeprefix("link.").removesuffix(f".{inner}")
            if of_link and name and column == f"link.{name}.{inner}":
                return known._replace(column=column, words=f"{known.words} at {name}")
    return None


@functools.cache
def columns_shown(view: str, *, links: bool = False) -> tuple[str, ...]:
    """Returns the columns that a view shows by default: of flows and runs, or of a link (without its name).

    Views: `report`, `spread`, `maps`, `differences`, `compare`, `sweep`.
    """
    order = ("link",) if links else ("flow", "workload", "run")
    metrics = sorted(
        (metric for metric in _core.metrics() if metric["of"] in order),
        key=lambda metric: order.index(metric["of"]),
    )
    return tuple(
        column
        for metric in metrics
        for at, wanted in metric["shown"]
        for column, statistic in _columns(metric)
        if at == view and wanted == statistic
    )


def is_shown(column: str, view: str) -> bool:
    """Whether a view shows that column by default, of a flow, of the run or of a link."""
    if column.startswith("link."):
        return column.endswith(tuple(f".{name}" for name in columns_shown(view, links=True)))
    return column in columns_shown(view)


@functools.cache
def short_names() -> Mapping[str, str]:
    """Returns the columns by their short names, which have no units, for users to type."""
    found: dict[str, str] = {}
    metrics = [metric for of in ("flow", "run") for metric in _core.metrics() if metric["of"] == of]
    for one in (True, False):
        for metric in metrics:
            if (metric["form"] == "one") is one:
                for column, statistic in _columns(metric):
                    bare = re.sub(r"_(bps|s|fraction)$", "", metric["name"])
                    found.setdefault(f"{bare}.{statistic}" if statistic else bare, column)
    return found
