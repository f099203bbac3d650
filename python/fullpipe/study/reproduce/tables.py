"""`[[table]]`: published tables as printed, with the runs of each row and the rules of each column.

A row's name is either decoded into a scenario, or names a group of runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from fullpipe.study.repeated import Setup
from fullpipe.study.reproduce.decode import Decoder
from fullpipe.study.reproduce.groups import Point
from fullpipe.study.reproduce.measures import MEASURES, TRACED
from fullpipe.study.verdicts.estimate import OVER_RUNS
from fullpipe.study.verdicts.judged import Tolerance
from fullpipe.study.verdicts.reader import merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fullpipe.study.reproduce.groups import Group
    from fullpipe.study.verdicts.reader import Json, Reader, Table


@dataclass(frozen=True)
class Metric:
    """A column: `measure` is one of :data:`fullpipe.study.reproduce.measures.MEASURES`, `flow` counts from 0.

    `over` is the statistic over the runs, one of :data:`fullpipe.study.verdicts.estimate.OVER_RUNS`.
    `report` is the reason for not judging the column; None if it is judged.
    """

    name: str
    measure: str
    flow: int
    tolerance: Tolerance
    report: str | None
    over: str = "mean"


@dataclass(frozen=True)
class Cell:
    """A published value, and the rule by which ours is judged.

    `same_winner` holds the published values of two flows: the same flow must have the larger value in
    our runs. `note` is a known reason why our value may miss, or empty.
    """

    metric: Metric
    published: float
    tolerance: Tolerance
    report: str | None
    same_winner: tuple[float, float] | None
    note: str = ""


@dataclass(frozen=True)
class Case:
    """A row: its name and table as printed, the point to run, and its cells.

    `flows` are the algorithms by their published names, `ccs` by ours.
    """

    name: str
    table: str
    point: Point
    flows: tuple[str, ...]
    ccs: tuple[str, ...]
    cells: tuple[Cell, ...]


Variants = tuple[tuple[str, tuple[Case, ...]], ...]
"""Alternative settings by name, each with all cases."""


def read_tables(
    reader: Reader, raw: Table, groups: Mapping[str, Group], seeds: int
) -> tuple[tuple[Case, ...], Variants]:
    """Reads the rows of a file's tables, and those of its variants.

    Raises:
        PublishedError: When something is invalid.
    """
    read = _Tables(reader, raw, groups, seeds)
    cases = read.cases(read.algorithms)
    read.check_exceptions()
    return cases, tuple(read.variants())


class _Tables:
    """Reader of a file's tables."""

    def __init__(self, reader: Reader, raw: Table, groups: Mapping[str, Group], seeds: int) -> None:
        self.reader = reader
        self.raw = raw
        self.groups = groups
        self.seeds = seeds
        self.decoder = Decoder(reader, raw) if "decoding" in raw or not groups else None
        self.algorithms = reader.table(raw.get("algorithms", {} if groups else None), "algorithms")
        self.metrics = self._metrics()
        self.exceptions = reader.tables(raw.get("exception", []), "exception")
        self.used: set[int] = set()

    def check_exceptions(self) -> None:
        for number, exception in enumerate(self.exceptions):
            if number not in self.used:
                fix = "name a row and a column of the table; * is a wildcard"
                self.reader.refuse(
                    f"exception[{number}].cases", exception["cases"], "matches no cell", fix
                )

    def variants(self) -> Iterable[tuple[str, tuple[Case, ...]]]:
        for number, variant in enumerate(
            self.reader.tables(self.raw.get("variant", []), "variant")
        ):
            where = f"variant[{number}]."
            self.reader.only(variant, where, ("name", "algorithms"))
            changes = self.reader.table(variant.get("algorithms", {}), f"{where}algorithms")
            self.reader.only(changes, f"{where}algorithms.", tuple(self.algorithms))
            yield (
                self.reader.text(variant.get("name"), f"{where}name"),
                self.cases(merged(self.algorithms, changes)),
            )

    def _metrics(self) -> dict[str, Metric]:
        metrics = {}
        for name, value in self.reader.table(self.raw.get("metrics"), "metrics").items():
            where = f"metrics.{name}"
            keys = self.reader.table(value, where)
            self.reader.only(keys, f"{where}.", ("measure", "flow", "over", "tolerance", "report"))
            metrics[name] = Metric(
                name=name,
                measure=self.reader.one_of(
                    keys.get("measure"), f"{where}.measure", tuple(MEASURES)
                ),
                flow=self.reader.whole(keys.get("flow", 1), f"{where}.flow") - 1,
                tolerance=self._tolerance(keys.get("tolerance"), f"{where}.tolerance"),
                report=self._reason(keys, where),
                over=self.reader.one_of(
                    keys.get("over", "mean"), f"{where}.over", tuple(OVER_RUNS)
                ),
            )
        return metrics

    def _tolerance(self, value: Json | None, where: str) -> Tolerance:
        keys = self.reader.table(value, where)
        self.reader.only(keys, f"{where}.", ("absolute", "relative", "factor", "zero"))
        number = {key: self.reader.number(each, f"{where}.{key}", 0) for key, each in keys.items()}
        if ("factor" in number) == bool({"absolute", "relative"} & set(number)):
            fix = "give absolute, relative or both; or give factor"
            self.reader.refuse(where, keys, "must have either a distance or a factor", fix)
        if number.get("factor", 1) < 1:
            self.reader.refuse(
                f"{where}.factor",
                number["factor"],
                "must be 1 or more",
                "write a factor of 1 or more",
            )
        return Tolerance(**number)

    def _reason(self, keys: Table, where: str) -> str | None:
        return self.reader.text(keys["report"], f"{where}.report") if "report" in keys else None

    def cases(self, algorithms: Table) -> tuple[Case, ...]:
        cases: dict[str, Case] = {}
        for number, table in enumerate(self.reader.tables(self.raw.get("table"), "table")):
            where = f"table[{number}]"
            self.reader.only(table, f"{where}.", ("title", "columns", "rows"))
            title = self.reader.text(table.get("title"), f"{where}.title")
            columns = self._columns(table, where)
            rows = table.get("rows")
            if not isinstance(rows, list) or not rows:
                self.reader.refuse(
                    f"{where}.rows", rows, "has no rows", "write each row as a list, one per line"
                )
            for line, row in enumerate(rows):
                case = self._case(row, f"{where}.rows[{line}]", title, columns, algorithms)
                if case.name in cases:
                    self.reader.refuse(
                        f"{where}.rows[{line}]",
                        case.name,
                        "occurs twice",
                        "remove one of them",
                    )
                cases[case.name] = case
        return tuple(cases.values())

    def _columns(self, table: Table, where: str) -> list[str]:
        columns = self.reader.texts(table.get("columns"), f"{where}.columns")
        known = ["case", *self.metrics, *(self.decoder.checked if self.decoder else ())]
        for number, column in enumerate(columns):
            if column not in known or (column == "case") != (number == 0):
                fix = f"start with case, then use {', '.join(known[1:])}; add [metrics.…] for a new column"
                self.reader.refuse(f"{where}.columns", column, "is not a known column", fix)
        return columns

    def _case(
        self, row: Json, where: str, table: str, columns: list[str], algorithms: Table
    ) -> Case:
        if not isinstance(row, list) or len(row) != len(columns):
            self.reader.refuse(
                where, row, f"does not have {len(columns)} columns", f"write {', '.join(columns)}"
            )
        name = self.reader.text(row[0], f"{where}[0]")
        values = {
            column: self.reader.number(value, f"{where} {name} {column}", 0)
            for column, value in zip(columns[1:], row[1:], strict=True)
            if value != ""  # an empty cell has no published value
        }
        if name in self.groups:
            point, flows, ccs = self._of_group(name, where)
        elif self.decoder is None:
            fix = f"use one of {', '.join(self.groups)}, or add [runs.{name}]"
            self.reader.refuse(where, name, "is not a group of runs", fix)
        else:
            text, flows, ccs = self.decoder.decode(name, where, values, algorithms)
            point = Point(name, "", Setup(text, f"{self.reader.file}: {name}"), self.seeds)
        metrics = [
            self.metrics[column]
            for column in columns[1:]
            if column in self.metrics and column in values
        ]
        for metric in metrics:
            if metric.measure in TRACED and point.setup.trace == "off":
                fix = f'add trace = "10ms" to [runs.{name}]'
                self.reader.refuse(
                    f"metrics.{metric.name}.measure",
                    metric.measure,
                    f"needs a trace of {name}",
                    fix,
                )
            if metric.flow >= len(flows):
                fix = f"give rows with {metric.name} more flows, or [metrics.{metric.name}] a smaller flow number"
                self.reader.refuse(
                    f"metrics.{metric.name}.flow", metric.flow + 1, f"{name} has no such flow", fix
                )
        cells = tuple(self._cell(name, metric, values) for metric in metrics)
        return Case(name, table, point, flows, ccs, cells)

    def _of_group(self, name: str, where: str) -> tuple[Point, tuple[str, ...], tuple[str, ...]]:
        """Returns the point and the algorithms of a row that names a group."""
        if len(self.groups[name]) > 1:
            self.reader.refuse(where, name, "is a sweep", f"make [runs.{name}] a single scenario")
        (point,) = self.groups[name]
        ccs = tuple(cc for _, cc in point.setup.scenario(1).flows)
        return point, ccs, ccs

    def _cell(self, case: str, metric: Metric, values: Mapping[str, float]) -> Cell:
        tolerance, report, winner, note = metric.tolerance, metric.report, None, ""
        for number, rule in enumerate(self.exceptions):
            where = f"exception[{number}]"
            self.reader.only(
                rule,
                f"{where}.",
                ("cases", "metrics", "report", "tolerance", "same_winner", "note"),
            )
            if len({"report", "tolerance", "note"} & set(rule)) != 1:
                self.reader.refuse(
                    where,
                    None,
                    "must have exactly one of report, tolerance and note",
                    "give it one of them",
                )
            cases = self.reader.texts(rule.get("cases"), f"{where}.cases")
            if metric.name not in self.reader.texts(rule.get("metrics"), f"{where}.metrics"):
                continue
            if not any(fnmatchcase(case, pattern) for pattern in cases):
                continue
            self.used.add(number)
            if "note" in rule:
                note = self.reader.text(rule["note"], f"{where}.note")
                continue
            report, winner = self._reason(rule, where), None
            if "tolerance" in rule:
                tolerance = self._tolerance(rule["tolerance"], f"{where}.tolerance")
            if "same_winner" in rule:
                winner = self._winner(rule["same_winner"], f"{where}.same_winner", values)
        return Cell(metric, values[metric.name], tolerance, report, winner, note)

    def _winner(self, value: Json, where: str, values: Mapping[str, float]) -> tuple[float, float]:
        names = self.reader.texts(value, where)
        if len(names) != 2 or any(name not in values for name in names):
            self.reader.refuse(
                where, value, "must be two columns of the row", "name the columns of both flows"
            )
        return values[names[0]], values[names[1]]
