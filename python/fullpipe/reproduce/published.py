"""Published tables: what others measured, as data in `published/*.toml`, with decoding and tolerance.

A file has the table as printed, says how a row's name becomes a scenario, what each column means and how far off we
may be. Another table costs another file; `published/microsoft-wan-2021.toml` explains each key.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.reproduce.decode import Decoder
from fullpipe.reproduce.measures import MEASURES
from fullpipe.reproduce.reader import PublishedError, Reader, merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fullpipe.reproduce.reader import Json, Table

DIRECTORY = Path("published")

_KEYS = (
    *("name", "title", "source", "seeds", "decoding", "scenario"),
    *("algorithms", "metrics", "exception", "variant", "table"),
)


@dataclass(frozen=True)
class Tolerance:
    """How far from a published value ours may be, in the column's unit.

    Either the larger of `absolute` and `relative` times the published value, or, with `factor`, between the published
    value over and times it; then zero may be up to `zero`.
    """

    absolute: float = 0.0
    relative: float = 0.0
    factor: float | None = None
    zero: float = 0.0

    def interval(self, published: float) -> tuple[float, float]:
        """The least and the greatest value that is close enough, both included."""
        if self.factor is None:
            distance = max(self.absolute, self.relative * abs(published))
            return published - distance, published + distance
        return (published / self.factor, published * self.factor) if published else (0.0, self.zero)


@dataclass(frozen=True)
class Metric:
    """A column: `measure` is one of :data:`fullpipe.reproduce.measures.MEASURES`, `flow` counts from 0.

    `report` is why the column is printed and not judged; None when it is judged.
    """

    name: str
    measure: str
    flow: int
    tolerance: Tolerance
    report: str | None


@dataclass(frozen=True)
class Cell:
    """A published value and the rule that ours is judged by.

    `same_winner` holds the published values of two flows: which of the two is larger has to be the same with us.
    `note` is what is known of why ours may miss, or empty.
    """

    metric: Metric
    published: float
    tolerance: Tolerance
    report: str | None
    same_winner: tuple[float, float] | None
    note: str = ""


@dataclass(frozen=True)
class Case:
    """A row: its name and table as printed, the scenario that it stands for, and its cells.

    `flows` are the algorithms by their published names, `ccs` by ours.
    """

    name: str
    table: str
    scenario: str
    flows: tuple[str, ...]
    ccs: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Published:
    """A published table. `seeds` is how many runs a case has; `variants` are other settings by name."""

    name: str
    title: str
    source: str
    file: Path
    seeds: int
    cases: tuple[Case, ...]
    variants: tuple[tuple[str, tuple[Case, ...]], ...]


def find(name: str) -> Path:
    """The file of the table of that name, or the path itself if `name` is one of a file.

    Tables are looked for in `published/` where one is, then in that of the source tree that this module is part of.

    Raises:
        PublishedError: When there is no such table.
    """
    if name.endswith(".toml"):
        return Path(name)
    places = dict.fromkeys((DIRECTORY, Path(__file__).resolve().parents[3] / DIRECTORY))
    found = {_name_of(file): file for place in reversed(places) for file in sorted(place.glob("*.toml"))}
    if name in found:
        return found[name]
    known = f"there is {', '.join(sorted(found))}" if found else f"no {DIRECTORY}/ is here; name the path of a file"
    raise PublishedError(f"no published table is called {name!r}: {known}")


def load(file: Path) -> Published:
    """Reads and checks a published table.

    Raises:
        PublishedError: When something is wrong with it; the text names the file, the key, the value and the fix.
        OSError: When it can't be read.
    """
    reader = Reader(file)
    try:
        raw: Table = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise PublishedError(f"{file}: {error}\n  fix: write TOML, as https://toml.io explains it") from error
    except UnicodeDecodeError as error:
        raise PublishedError(f"{file}: byte {error.start} is not UTF-8\n  fix: save the file as UTF-8") from error
    return _Table(reader, raw).published()


def _name_of(file: Path) -> str:
    """The name that a file gives itself; that of the file when it can't be read, so that loading it says why."""
    try:
        name = tomllib.loads(file.read_text(encoding="utf-8")).get("name")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        name = None
    return name if isinstance(name, str) else file.stem


class _Table:
    """A file on its way to being a :class:`Published`."""

    def __init__(self, reader: Reader, raw: Table) -> None:
        self.reader = reader
        self.raw = raw
        reader.only(raw, "", _KEYS)
        self.algorithms = reader.table(raw.get("algorithms"), "algorithms")
        self.metrics = self._metrics()
        self.decoder = Decoder(reader, raw)
        self.exceptions = reader.tables(raw.get("exception", []), "exception")
        self.used: set[int] = set()

    def published(self) -> Published:
        read = self.reader
        cases = self._cases(self.algorithms)
        for number, exception in enumerate(self.exceptions):
            if number not in self.used:
                fix = "name a row and a column of the table; * stands for anything"
                read.refuse(f"exception[{number}].cases", exception["cases"], "fits no cell", fix)
        return Published(
            name=read.text(self.raw.get("name"), "name"),
            title=read.text(self.raw.get("title"), "title"),
            source=read.text(self.raw.get("source"), "source").strip(),
            file=read.file,
            seeds=read.whole(self.raw.get("seeds", 10), "seeds"),
            cases=cases,
            variants=tuple(self._variants()),
        )

    def _variants(self) -> Iterable[tuple[str, tuple[Case, ...]]]:
        for number, variant in enumerate(self.reader.tables(self.raw.get("variant", []), "variant")):
            where = f"variant[{number}]."
            self.reader.only(variant, where, ("name", "algorithms"))
            changes = self.reader.table(variant.get("algorithms", {}), f"{where}algorithms")
            self.reader.only(changes, f"{where}algorithms.", tuple(self.algorithms))
            yield self.reader.text(variant.get("name"), f"{where}name"), self._cases(merged(self.algorithms, changes))

    def _metrics(self) -> dict[str, Metric]:
        metrics = {}
        for name, value in self.reader.table(self.raw.get("metrics"), "metrics").items():
            where = f"metrics.{name}"
            keys = self.reader.table(value, where)
            self.reader.only(keys, f"{where}.", ("measure", "flow", "tolerance", "report"))
            measure = self.reader.text(keys.get("measure"), f"{where}.measure")
            if measure not in MEASURES:
                self.reader.refuse(f"{where}.measure", measure, "is unknown", f"use one of {', '.join(MEASURES)}")
            metrics[name] = Metric(
                name=name,
                measure=measure,
                flow=self.reader.whole(keys.get("flow", 1), f"{where}.flow") - 1,
                tolerance=self._tolerance(keys.get("tolerance"), f"{where}.tolerance"),
                report=self._reason(keys, where),
            )
        return metrics

    def _tolerance(self, value: Json | None, where: str) -> Tolerance:
        keys = self.reader.table(value, where)
        self.reader.only(keys, f"{where}.", ("absolute", "relative", "factor", "zero"))
        number = {key: self.reader.number(each, f"{where}.{key}", 0) for key, each in keys.items()}
        if ("factor" in number) == bool({"absolute", "relative"} & set(number)):
            fix = "give absolute or relative or both, or a factor"
            self.reader.refuse(where, keys, "is neither a distance nor a factor, or both", fix)
        if number.get("factor", 1) < 1:
            self.reader.refuse(f"{where}.factor", number["factor"], "is below 1", "write a factor of 1 or more")
        return Tolerance(**number)

    def _reason(self, keys: Table, where: str) -> str | None:
        return self.reader.text(keys["report"], f"{where}.report") if "report" in keys else None

    def _cases(self, algorithms: Table) -> tuple[Case, ...]:
        cases: dict[str, Case] = {}
        for number, table in enumerate(self.reader.tables(self.raw.get("table"), "table")):
            where = f"table[{number}]"
            self.reader.only(table, f"{where}.", ("title", "columns", "rows"))
            title = self.reader.text(table.get("title"), f"{where}.title")
            columns = self._columns(table, where)
            rows = table.get("rows")
            if not isinstance(rows, list) or not rows:
                self.reader.refuse(f"{where}.rows", rows, "has no rows", "write each row as a list, one a line")
            for line, row in enumerate(rows):
                case = self._case(row, f"{where}.rows[{line}]", title, columns, algorithms)
                if case.name in cases:
                    self.reader.refuse(f"{where}.rows[{line}]", case.name, "is there twice", "leave one of them out")
                cases[case.name] = case
        return tuple(cases.values())

    def _columns(self, table: Table, where: str) -> list[str]:
        columns = self.reader.texts(table.get("columns"), f"{where}.columns")
        known = ["case", *self.metrics, *self.decoder.checked]
        for number, column in enumerate(columns):
            if column not in known or (column == "case") != (number == 0):
                fix = f"start with case, then use {', '.join(known[1:])}; [metrics.…] explains a new column"
                self.reader.refuse(f"{where}.columns", column, "is no column here", fix)
        return columns

    def _case(self, row: Json, where: str, table: str, columns: list[str], algorithms: Table) -> Case:
        if not isinstance(row, list) or len(row) != len(columns):
            self.reader.refuse(where, row, f"does not have {len(columns)} columns", f"write {', '.join(columns)}")
        name = self.reader.text(row[0], f"{where}[0]")
        values = {
            column: self.reader.number(value, f"{where} {name} {column}", 0)
            for column, value in zip(columns[1:], row[1:], strict=True)
        }
        scenario, flows, ccs = self.decoder.decode(name, where, values, algorithms)
        metrics = [self.metrics[column] for column in columns[1:] if column in self.metrics]
        for metric in metrics:
            if metric.flow >= len(flows):
                fix = f"a row with {metric.name} needs more flows, or [metrics.{metric.name}] a smaller number"
                self.reader.refuse(f"metrics.{metric.name}.flow", metric.flow + 1, f"{name} has no such flow", fix)
        cells = tuple(self._cell(name, metric, values) for metric in metrics)
        return Case(name, table, scenario, flows, ccs, cells)

    def _cell(self, case: str, metric: Metric, values: Mapping[str, float]) -> Cell:
        tolerance, report, winner, note = metric.tolerance, metric.report, None, ""
        for number, rule in enumerate(self.exceptions):
            where = f"exception[{number}]"
            self.reader.only(rule, f"{where}.", ("cases", "metrics", "report", "tolerance", "same_winner", "note"))
            if len({"report", "tolerance", "note"} & set(rule)) != 1:
                self.reader.refuse(
                    where, None, "changes nothing, or too much", "give it a report, a tolerance or a note"
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
            self.reader.refuse(where, value, "are not two columns of the row", "name the columns of both flows")
        return values[names[0]], values[names[1]]
