"""Complete scenarios, as results keep them: their keys, and the applications of their flows."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fullpipe.results.model import Point

PROFILE = "path.profile"
_PROFILE = re.compile(r"^# The path is the profile (\S+)\.$", re.MULTILINE)
_OF_TABLES = re.compile(r"(flow|workload)\.\d+\.")


def flat(text: str) -> dict[str, str]:
    """Returns the keys of a complete scenario as `--set` has them, with their values as text."""
    found = dict(_flat("", tomllib.loads(text)))
    if profile := _PROFILE.search(text):
        found[PROFILE] = profile[1]
    return found


def _flat(key: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        if key.endswith(".queue") and "kind" in value:
            yield key, str(value["kind"])
        for name, inner in value.items():
            if name != "kind" or not key.endswith(".queue"):
                yield from _flat(f"{key}.{name}" if key else name, inner)
    elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        for number, each in enumerate(value):
            yield from _flat(f"{key}.{number}", each)
    elif isinstance(value, list):
        yield key, ", ".join(map(str, value))
    else:
        yield key, str(value).lower() if isinstance(value, bool) else str(value)


class Row(NamedTuple):
    """A row of a run's metrics: its table, its kind of application, and the links that its data cross."""

    table: int
    kind: str
    route: frozenset[str]
    """Empty if it is unknown."""


class Tables:
    """The `[[flow]]` and `[[workload]]` tables of each point, read once for points that set them alike."""

    def __init__(self) -> None:
        self._known: dict[object, list[Row]] = {}

    def of(self, point: Point) -> list[Row]:
        """Returns the rows of a run; empty if its scenario is unknown.

        Tables are numbered as in the scenario as written, `[[workload]]` after `[[flow]]`.
        """
        settings = tuple(item for item in point.settings.items() if _OF_TABLES.match(item[0]))
        key = settings, point.settings.get("case"), point.command.partition(" --point ")[0]
        if key not in self._known:
            self._known[key] = _tables(point)
        return self._known[key]


def _tables(point: Point) -> list[Row]:
    source = tomllib.loads(point.source or point.scenario)
    flows = [dict(each) for each in source.get("flow", [])]
    for key, value in point.settings.items():
        table, _, name = key.removeprefix("flow.").partition(".")
        if key.startswith("flow.") and table.isdigit() and int(table) < len(flows):
            flows[int(table)][name] = value
    rows = [
        (number, kind(flow))
        for number, flow in enumerate(flows)
        for _ in range(int(flow.get("count", 1)))
    ]
    workloads = range(len(source.get("workload", [])))
    rows += [(len(flows) + number, "workload") for number in workloads]
    # The complete scenario has the values that a profile or `--set` gives, and a table for each flow.
    complete = tomllib.loads(point.scenario)
    flows = [flow for flow in complete.get("flow", []) for _ in range(int(flow.get("count", 1)))]
    kinds = [kind(flow) for flow in flows]
    of_row = [*flows, *complete.get("workload", [])]
    routes = [frozenset(each.get("route", ["bottleneck"])) for each in of_row]
    return [
        Row(
            table,
            kinds[row] if row < len(kinds) else of,
            routes[row] if row < len(routes) else frozenset(),
        )
        for row, (table, of) in enumerate(rows)
    ]


def kind(flow: Mapping[str, Any]) -> str:
    """Returns the kind of application of a `[[flow]]` table. Flows of different kinds are not compared."""
    if flow.get("cc") == "none":
        return "unresponsive"
    application = str(flow.get("app", "")).partition(" ")[0]
    if application:
        return application
    if flow.get("app_rate", "unlimited") != "unlimited" or "app_schedule" in flow:
        return "rate"
    return "transfer" if "bytes" in flow else "bulk"
