"""Simpler versions of a scenario, one pass for each kind of edit."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fullpipe import _core
from fullpipe.base.toml import document
from fullpipe.wings.search.attack import words
from fullpipe.wings.search.attack.shrink.conditions import renamed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Edit = Callable[["Subject"], Iterator["Subject"]]

_NICE = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
"""First digits of the durations that are tried."""
_NUMBER = re.compile(r"(?<![\w.+-])([0-9]+(?:\.[0-9]+)?)([A-Za-zµ%]*)")
_WHOLE = ("expect",)
"""Keys that are not simplified."""


@dataclass(frozen=True)
class Subject:
    """A scenario with the conditions to keep.

    Attributes:
        tables: The scenario, without `expect`.
        keep: The conditions.
    """

    tables: dict[str, Any]
    keep: tuple[str, ...] = field(default=())

    def changed(self, path: Sequence[str | int], value: object) -> Subject:
        """Returns a copy with another value at a place; None deletes it."""
        made = copy.deepcopy(self.tables)
        inside: Any = made
        for key in path[:-1]:
            inside = inside[key]
        if value is None:
            del inside[path[-1]]
        else:
            inside[path[-1]] = value
        return Subject(_without_empty(made), self.keep)

    @property
    def lines(self) -> int:
        """The number of lines of the scenario as TOML, with a line for `expect`."""
        return sum(map(bool, text_of(self.tables).splitlines())) + 1


def text_of(tables: Mapping[str, Any]) -> str:
    """Returns a scenario as TOML, with a table for each change of the path."""
    whole = dict(tables)
    path = whole.get("path", {})
    changes = path.get("change", [])
    if not changes:
        return document(whole)
    whole["path"] = {key: value for key, value in path.items() if key != "change"}
    parts = [
        document({"change": [each]}).replace("[[change]]", "[[path.change]]") for each in changes
    ]
    head = {key: value for key, value in whole.items() if key != "flow"}
    rest = {key: value for key, value in whole.items() if key == "flow"}
    return "\n".join([document(head), *parts, *([document(rest)] if rest else [])])


def _without_empty(tables: dict[str, Any]) -> dict[str, Any]:
    path = tables.get("path")
    if isinstance(path, dict) and path.get("change") == []:
        del path["change"]
    return {key: value for key, value in tables.items() if value != []}


def fewer_elements(subject: Subject) -> Iterator[Subject]:
    """Yields scenarios without some flows, workloads, links or changes: half of them, a quarter, and so on."""
    for path, elements in _lists(subject.tables):
        for first, end in _chunks(len(elements)):
            rest = elements[:first] + elements[end:]
            yield subject.changed(path, rest)


def fewer_keys(subject: Subject) -> Iterator[Subject]:
    """Yields scenarios without one key or table."""
    for path, _ in _leaves(subject.tables, tables=True):
        if path[0] not in (*_WHOLE, "duration"):
            yield subject.changed(path, None)


def fewer_items(subject: Subject) -> Iterator[Subject]:
    """Yields scenarios whose texts with commas have fewer items, and whose tables have a smaller count."""
    for path, value in _leaves(subject.tables):
        if path[-1] == "count" and isinstance(value, int):
            for less in dict.fromkeys((1, 2, value // 4, value // 2, value - 1)):
                if 1 <= less < value:
                    yield subject.changed(path, less)
        elif isinstance(value, str) and ("," in value):
            head, items = _items(value)
            for first, end in _chunks(len(items)):
                rest = items[:first] + items[end:]
                if rest:
                    yield subject.changed(path, head + ", ".join(rest))


def fewer_seconds(subject: Subject, least_s: float) -> Iterator[Subject]:
    """Yields scenarios with a shorter duration, the shortest first, that measure at least `least_s`."""
    start_s = _seconds(subject.tables.get("measure_from", "0s"))
    now_s = _seconds(subject.tables["duration"])
    for shorter in sorted(digit * scale for scale in (0.1, 1.0, 10.0, 100.0) for digit in _NICE):
        if start_s + least_s <= shorter < now_s:
            yield subject.changed(["duration"], words.quantity(shorter, "s"))
    if "measure_from" in subject.tables:
        for part in (0.25, 0.5):
            earlier = words.rounded(start_s * part, 1)
            yield subject.changed(["measure_from"], words.quantity(earlier, "s"))


def rounder(subject: Subject) -> Iterator[Subject]:
    """Yields scenarios in which one number has fewer digits."""
    for path, value in _leaves(subject.tables):
        if path[0] in _WHOLE or path[-1] in ("name", "cc"):
            continue
        if isinstance(value, str):
            for found in _NUMBER.finditer(value):
                for text in _rounder(found[1], found[2]):
                    whole = value[: found.start()] + text + value[found.end() :]
                    yield subject.changed(path, whole)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            for text in _rounder(f"{value:g}", ""):
                rounded = float(text)
                if rounded != value:
                    yield subject.changed(path, int(rounded) if isinstance(value, int) else rounded)


def _rounder(number: str, unit: str) -> Iterator[str]:
    """Yields simpler numbers: one of 1, 2 and 5, one digit, two digits."""
    value = float(number)
    if value == 0 or _cost(number) <= 0:
        return
    scale = 10.0 ** int(f"{value:e}".partition("e")[2])
    near = sorted((scale, 2 * scale, 5 * scale, 10 * scale), key=lambda each: abs(each - value))
    tried = [near[0], near[1], words.rounded(value, 1), words.rounded(value, 2)]
    seen = {number}
    for each in tried:
        text = _plain(each)
        if unit == "" and "." not in number and "." in text:
            continue
        if text not in seen and _cost(text) < _cost(number):
            seen.add(text)
            yield text + unit


def _plain(value: float) -> str:
    return f"{value:.9f}".rstrip("0").rstrip(".")


def _cost(number: str) -> float:
    """Returns 0 for one of 1, 2, 5 with zeros, and more for further digits."""
    digits = number.replace(".", "").strip("0")
    return len(digits) - 1 + (0.0 if digits in ("1", "2", "5") else 0.5)


def fewer_words(subject: Subject) -> Iterator[Subject]:
    """Yields scenarios in which equal flows are one table, changes are values of the path, and a flow has no name."""
    flows = subject.tables.get("flow", [])
    for at, each in enumerate(flows):
        for other in range(at + 1, len(flows)):
            bare, same = _nameless(each), _nameless(flows[other])
            if bare == same:
                count = int(each.get("count", 1)) + int(flows[other].get("count", 1))
                merged = {**each, "count": count}
                rest = [*flows[:at], merged, *flows[at + 1 : other], *flows[other + 1 :]]
                # The first flow of a table with a count is that with the number 1.
                yield _named_anew(subject, subject.changed(["flow"], rest))
    for at, each in enumerate(subject.tables.get("path", {}).get("change", [])):
        made = subject.changed(["path", "change", at], None)
        values = {key: value for key, value in each.items() if key != "at"}
        yield made.changed(["path"], {**made.tables["path"], **values})
    for at, each in enumerate(flows):
        if "name" in each:
            yield _named_anew(subject, subject.changed(["flow", at, "name"], None))


def _nameless(flow: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in flow.items() if key not in ("name", "count")}


def _named_anew(before: Subject, after: Subject) -> Subject:
    """Renames flows in the conditions, in the order of the flows."""
    try:
        old, new = (_names(each.tables) for each in (before, after))
    except _core.ScenarioError:
        return after
    keep = list(after.keep)
    if len(old) == len(new):
        for one, other in zip(old, new, strict=True):
            if one != other:
                keep = renamed(keep, one, other)
    return Subject(after.tables, tuple(keep))


def _names(tables: dict[str, Any]) -> list[str]:
    from fullpipe.algorithms.resolve import described

    classes = described([each.get("cc", "") for each in tables.get("flow", [])])
    scenario = _core.Scenario.parse(document(tables), "<scenario>", [], controllers=classes)
    return [name for name, _ in scenario.flows]


def _lists(
    tables: dict[str, Any], path: tuple[str | int, ...] = ()
) -> Iterator[tuple[Sequence[str | int], list[Any]]]:
    for key, value in tables.items():
        if isinstance(value, dict):
            yield from _lists(value, (*path, key))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield (*path, key), value


def _leaves(
    value: Any,  # noqa: ANN401
    path: tuple[str | int, ...] = (),
    *,
    tables: bool = False,
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yields the place and value of each key; with `tables` also of tables, each before its keys."""
    if isinstance(value, dict):
        if tables and path and isinstance(path[-1], str):
            yield path, value
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key), tables=tables)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*path, number), tables=tables)
    elif path:
        yield path, value


def _chunks(count: int) -> Iterator[tuple[int, int]]:
    """Yields ranges of elements to remove: halves, quarters, and so on to single ones, the last ones first."""
    size = count
    while size >= 1:
        for end in range(count, 0, -size):
            yield max(end - size, 0), end
        size //= 2


def _items(text: str) -> tuple[str, list[str]]:
    """Splits `list 1, 2` into the words before the items and the items."""
    head = ""
    if text.startswith("list "):
        head, text = "list ", text.removeprefix("list ")
    return head, [each.strip() for each in text.split(",")]


def _seconds(text: str) -> float:
    return words.base(text)[0]
