"""Metrics in words, with their unit, and whether more or less is better."""

from __future__ import annotations

import functools
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core
from fullpipe.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


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

_BY_APPLICATION = {
    "response_s.p50": ("report", "sweep", "compare"),
    "response_s.p95": ("report", "spread", "maps", "differences", "sweep", "compare"),
    "frame_delay_s.p95": ("report", "spread", "maps", "differences", "sweep", "compare"),
    "completion_s": ("maps", "sweep", "compare"),
    "slowdown.all.flows.mean": ("maps", "sweep", "compare"),
}
"""Columns of what only some flows have (requests, media, transfers, workloads), and the views that show them if the
runs have a value."""

_FIRST = (
    "goodput_bps",
    "response_s.p50",
    "response_s.p95",
    "frame_delay_s.p95",
    "completion_s",
    "slowdown.all.flows.mean",
    "queue_delay_s.p95",
    "loss_fraction",
    "rtt_s.mean",
    "jain",
)
"""The columns that are most informative, in their order."""
_MOST_NAMED = 3
_COMMON = ".utilization"
"""End of a column that each link has."""
_EXAMPLES = "goodput, queue_delay.p95 or response.p95"


class MetricError(UserError):
    """Nothing has the metric that was asked for; the text has the fix."""


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
    columns = [
        column
        for metric in metrics
        for at, wanted in metric["shown"]
        for column, statistic in _columns(metric)
        if at == view and wanted == statistic
    ]
    if not links:
        columns += [column for column, views in _BY_APPLICATION.items() if view in views]
    return tuple(dict.fromkeys(columns))


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


def rank(column: str) -> int:
    """Returns the place of a column in a table: the most informative come first."""
    return _FIRST.index(column) if column in _FIRST else len(_FIRST)


def columns_asked(names: Sequence[str], there: Collection[str]) -> list[str]:
    """Returns the columns that a user asks for, by name (`rtt_s.p95`) or short name (`goodput`, `utilization`).

    A name is that of a metric of flows or runs. If these have no value of it, it stands for the metric of every link,
    as `link.queue_delay.p95` always does; `link.uplink.queue_delay.p95` is that of one link.

    Args:
        names: The names.
        there: The columns that have a value.

    Raises:
        MetricError: When a name is unknown, or the runs have no value of it.
    """
    found: list[str] = []
    for name in names:
        those = _named(name, there)
        if not those:
            refuse_unknown([name])
            links = [each for each in there if each.startswith("link.")]
            problem = "the runs have no value of this metric"
            fix = "choose another one; `fullpipe list metrics` lists them"
            if name.startswith("link.") and links:
                of = [each for each in links if each.endswith(_COMMON)]
                called = sorted(each.removeprefix("link.").removesuffix(_COMMON) for each in of)
                fix = f"name a link of these, {', '.join(called)}, and a metric of `fullpipe list metrics`"
            raise MetricError(f"--show {name}: {problem}\n  fix: {fix}")
        found += those
    return list(dict.fromkeys(found))


def _named(name: str, there: Collection[str]) -> list[str]:
    """Returns the columns among some that have a name."""
    if of_link := _of_link(name):
        link, column = of_link
        return [
            each
            for each in there
            if each == f"link.{link}.{column}"
            or (not link and each.startswith("link.") and each.endswith(f".{column}"))
        ]
    column = known_names().get(name, name)
    own = [each for each in there if each == column]
    return own or (_named(f"link.{name}", there) if _of_link(f"link.{name}") else [])


def _of_link(name: str) -> tuple[str, str] | None:
    """Returns link and column of a name like `link.uplink.drops`; the link of `link.drops` is empty."""
    rest = name.removeprefix("link.")
    if rest == name:
        return None
    if rest in _names_of_links():
        return "", _names_of_links()[rest]
    for inner, column in _names_of_links().items():
        if rest.endswith(f".{inner}"):
            return rest.removesuffix(f".{inner}"), column
    return None


@functools.cache
def _names_of_links() -> Mapping[str, str]:
    """Returns the columns of a link by name and short name, without the link's, the longest first."""
    found: dict[str, str] = {}
    for metric in _core.metrics():
        if metric["of"] == "link":
            for column, statistic in _columns(metric):
                bare = re.sub(r"_(bps|s|fraction)$", "", metric["name"])
                found |= {f"{bare}.{statistic}" if statistic else bare: column, column: column}
    return dict(sorted(found.items(), key=lambda each: -len(each[0])))


def refuse_unknown(names: Sequence[str]) -> None:
    """Checks that names are those of metrics, whether or not the runs have a value of them.

    Raises:
        MetricError: When a name is unknown.
    """
    for name in names:
        known = name in known_names() or name in _columns_of_all() or _of_link(name) is not None
        if not known and quantity(name) is None:
            near = [each for each in known_names() if name.lower() in each][:_MOST_NAMED]
            near = near or get_close_matches(name, known_names(), n=_MOST_NAMED, cutoff=0.6)
            said = f"did you mean {' or '.join(near)}?" if near else f"use one like {_EXAMPLES};"
            raise MetricError(
                f"--show {name}: no metric of this name\n  fix: {said} `fullpipe list metrics` lists them"
            )


def _columns_of_all() -> set[str]:
    return set(known_names().values())


@functools.cache
def known_names() -> Mapping[str, str]:
    """Returns the columns by short name, those of flows, runs, workloads and links (without the link's name)."""
    found = dict(short_names())
    for metric in _core.metrics():
        bare = re.sub(r"_(bps|s|fraction)$", "", metric["name"])
        for column, statistic in _columns(metric):
            found.setdefault(f"{bare}.{statistic}" if statistic else bare, column)
    return found
