"""`[runs.NAME]`: a scenario, or a sweep of it, run with many seeds for claims and table rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from fullpipe.scenario.origin import text_of
from fullpipe.study.repeated import Setup
from fullpipe.study.reproduce.toml import scenario_text, value_text
from fullpipe.study.verdicts.reader import merged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fullpipe.study.verdicts.reader import Json, Reader, Table

_KEYS = ("like", "scenario", "set", "sweep", "seeds", "trace")


@dataclass(frozen=True)
class Point:
    """One scenario of a group, run with seeds 1 to `seeds`; `label` is its label in a sweep, or empty."""

    group: str
    label: str
    setup: Setup
    seeds: int

    @property
    def name(self) -> str:
        """Name for files and headings."""
        return f"{self.group} {self.label}".strip()


Group = tuple[Point, ...]
"""A scenario at each point of its sweep."""


def read_groups(reader: Reader, raw: Table, seeds: int) -> dict[str, Group]:
    """Reads the groups of a file, by name.

    Args:
        reader: Reader of the file, which reports errors.
        raw: Contents of the file.
        seeds: Default number of seeds of a group.

    Raises:
        PublishedError: When a group is invalid.
    """
    tables = reader.table(raw.get("runs", {}), "runs")
    read = _Groups(reader, tables, seeds)
    return {name: read.group(name) for name in tables}


def points_of(
    reader: Reader, groups: Mapping[str, Group], text: str, where: str
) -> tuple[Point, ...]:
    """Returns the points named by "group" or "group: label, label"; * in a label is a wildcard.

    Raises:
        PublishedError: When there is no such group or point.
    """
    name, _, wanted = (part.strip() for part in text.partition(":"))
    if name not in groups:
        reader.refuse(
            where, text, "is not a group", f"use one of {', '.join(groups) or '[runs.…]'}"
        )
    patterns = [pattern.strip() for pattern in wanted.split(",")] if wanted else ["*"]
    for pattern in patterns:
        if not any(fnmatchcase(point.label, pattern) for point in groups[name]):
            fix = f"use one of {', '.join(point.label for point in groups[name])}; * is a wildcard"
            reader.refuse(where, text, f"{pattern!r} matches no point", fix)
    return tuple(
        point for point in groups[name] if any(fnmatchcase(point.label, each) for each in patterns)
    )


class _Groups:
    def __init__(self, reader: Reader, tables: Table, seeds: int) -> None:
        self.reader = reader
        self.seeds = seeds
        self.tables = {name: reader.table(table, f"runs.{name}") for name, table in tables.items()}

    def group(self, name: str) -> Group:
        keys = self._whole(name, ())
        where = f"runs.{name}"
        setup = Setup(
            self._text(name, keys),
            f"{self.reader.file}: {where}",
            self._settings(keys.get("set", {}), f"{where}.set"),
            self.reader.text(keys.get("trace", "off"), f"{where}.trace"),
        )
        seeds = self.reader.whole(keys.get("seeds", self.seeds), f"{where}.seeds")
        points = []
        for label, settings in self._sweep(keys, f"{where}.sweep"):
            called = f"{setup.where} {label}".strip()
            points.append(
                Point(
                    name,
                    label,
                    replace(setup, where=called, settings=setup.settings + settings),
                    seeds,
                )
            )
        return tuple(points)

    def _whole(self, name: str, before: tuple[str, ...]) -> Table:
        """Returns a group's keys, merged with those of the group named by `like`."""
        where = f"runs.{name}"
        keys = self.tables[name]
        self.reader.only(keys, f"{where}.", _KEYS)
        if "like" not in keys:
            return keys
        like = self.reader.text(keys["like"], f"{where}.like")
        if like not in self.tables or like in (*before, name):
            others = [each for each in self.tables if each not in (*before, name)]
            fix = f"use one of {', '.join(others)}" if others else "give it a scenario instead"
            self.reader.refuse(f"{where}.like", like, "is not another group", fix)
        base = self._whole(like, (*before, name))
        if isinstance(base.get("scenario"), str) and isinstance(keys.get("scenario"), dict):
            fix = "use set for single keys"
            self.reader.refuse(
                f"{where}.scenario", None, f"can't be merged with the file of runs.{like}", fix
            )
        mixed = merged(base, keys)
        if "sweep" in keys:
            mixed["sweep"] = keys["sweep"]
        return mixed

    def _text(self, name: str, keys: Table) -> str:
        """Returns the scenario's TOML, from a file or from an inline table."""
        where = f"runs.{name}.scenario"
        value = keys.get("scenario")
        if isinstance(value, str):
            file = self.reader.file.parent / value
            try:
                return text_of(file)
            except OSError as error:
                reason = error.strerror or "no text in UTF-8 of at most 64 MiB"
                fix = f"name a scenario relative to {self.reader.file.parent}"
                self.reader.refuse(where, value, f"can't be read ({reason})", fix)
        scenario = self.reader.table(value, where)
        arrives = "workload" in scenario
        flows = self.reader.tables(scenario.get("flow", [] if arrives else None), f"{where}.flow")
        rest = {key: each for key, each in scenario.items() if key != "flow"}
        return scenario_text(f"{name}, of {self.reader.file.name}", rest, flows)

    def _settings(self, value: Json, where: str) -> tuple[tuple[str, str], ...]:
        return tuple((key, _setting(each)) for key, each in self.reader.table(value, where).items())

    def _sweep(self, keys: Table, where: str) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
        """Returns a label and settings per point: the first values of all keys, then the second, and so on.

        `label` is not a scenario key: it gives labels to use instead of the values.
        """
        if "sweep" not in keys:
            return [("", ())]
        sweep = self.reader.table(keys["sweep"], where)
        columns = {key: self._values(values, f"{where}.{key}") for key, values in sweep.items()}
        if len({len(column) for column in columns.values()}) != 1:
            lengths = ", ".join(str(len(column)) for column in columns.values()) or "none"
            fix = (
                "give every key the same number of values; the first values form a point, and so on"
            )
            self.reader.refuse(where, None, f"the lists have different lengths ({lengths})", fix)
        called = columns.pop("label", None)
        rows = list(zip(*columns.values(), strict=True))
        labels = called or [" ".join(row) for row in rows]
        for label in labels:
            if labels.count(label) > 1:
                self.reader.refuse(where, label, "occurs twice", "remove one of them")
        return [
            (label, tuple(zip(columns, row, strict=True)))
            for label, row in zip(labels, rows, strict=True)
        ]

    def _values(self, values: Json, where: str) -> list[str]:
        if not isinstance(values, list) or not values:
            fix = f'write {where.rpartition(".")[2]} = ["…", "…"]'
            self.reader.refuse(where, values, "is not a list of values", fix)
        return [_setting(value) for value in values]


def _setting(value: Json) -> str:
    """Formats a value as `--set` accepts it."""
    return value if isinstance(value, str) else value_text(value)
