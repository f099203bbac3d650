"""Parts of kept results that can be repeated: the runs of a sweep or a check on a runner, and single runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from fullpipe.base.frame import table
from fullpipe.errors import DamagedError
from fullpipe.results import fingerprint
from fullpipe.results.kept import parquet_about, read_parquet
from fullpipe.results.model import TABLES
from fullpipe.results.sweep import series_files, series_name
from fullpipe.runners import is_simulator
from fullpipe.study.execute import parts, results
from fullpipe.study.repeated import Repeated, Repetition, Setup
from fullpipe.study.sweeps.execute import SHARD_S, level_of
from fullpipe.study.sweeps.series import TRANSFERS, without_transfers
from fullpipe.study.verify import compare
from fullpipe.study.verify.compare import Difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fullpipe.run import Run
    from fullpipe.runners import Runner
    from fullpipe.study.engine import Engine
    from fullpipe.study.spec import SweepSpec
    from fullpipe.study.verify.compare import Cell

    Tick = Callable[[int], object]
    Tables = dict[str, pl.DataFrame]
    Files = Mapping[str, Path]

KEYS = ("point", "seed", "flow_index")
_NO_TRACE = "its trace is missing"
_OF_TRACE = ("trace_hash", "events")
"""Entries of metrics that a trace decides, too."""


class Part(ABC):
    """Kept runs of one kind.

    Attributes:
        place: The directory, as the user named it.
        runner: The runner.
        traces: The number of traces that were compared.
        notes: What else there is to say, after the runs.
    """

    place: str
    runner: Runner
    traces: int
    notes: list[str]

    @property
    @abstractmethod
    def groups(self) -> list[list[int]]:
        """The numbers of the kept runs, by point."""

    @abstractmethod
    def again(self, chosen: Sequence[int], engine: Engine, tick: Tick) -> Iterator[Difference]:
        """Runs some of them again; yields the first difference of each run that has one.

        Args:
            chosen: The numbers of the runs.
            engine: Where they execute.
            tick: Called with the number of runs done since the beginning of this part.

        Raises:
            ScenarioError: When a scenario is refused.
        """


@dataclass
class Rows(Part):
    """The runs of a sweep, or of a scenario of a check, on one runner.

    Attributes:
        place: The directory, as the user named it.
        spec: The sweep.
        runner: The runner.
        kept: The kept rows.
        without: Columns that no run decides: of the points, and of the order.
        directory: The directory of recorded traces; None without any.
        level: The trace level of the first seeds.
        whole: Whether this build made them, so that it has no further columns.
        complete: Whether no run is missing, so that all traces of the level are there.
    """

    place: str
    spec: SweepSpec
    runner: Runner
    kept: pl.DataFrame
    without: frozenset[str] = frozenset()
    directory: Path | None = None
    level: str = "off"
    whole: bool = True
    complete: bool = False
    traces: int = 0
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kept = self.kept.drop(self.without & set(self.kept.columns)).sort(KEYS)

    @property
    def groups(self) -> list[list[int]]:
        """The numbers of the kept runs, by point."""
        runs = self.kept.select("point", "seed").unique().sort("point", "seed")
        first, points = self._first, self.spec.plan.points
        by_point = runs.group_by("point", maintain_order=True).agg("seed")
        return [
            [(seed - first) * points + point for seed in seeds]
            for point, seeds in by_point.iter_rows()
        ]

    @property
    def _first(self) -> int:
        return self.spec.plan.seeds[0]

    def again(self, chosen: Sequence[int], engine: Engine, tick: Tick) -> Iterator[Difference]:
        """Runs some of the runs again, and their recorded traces."""
        [part] = parts(self.spec, [self.runner], engine)
        part.refuse()
        done: list[pl.DataFrame] = []
        traced: dict[int, Run] = {}
        steps = part.steps(
            {self.runner.name: _ranges(sorted(chosen))},
            SHARD_S,
            level=self._level,
            show=lambda step: tick(step.runs),
        )
        with closing(steps) as running:
            for step in running:
                tick(step.runs)
                if step.shard:
                    done.append(table(step.shard.rows))
                    if step.shard.run and step.shard.run.has_trace:
                        traced[step.shard.first] = step.shard.run
        places = [self._place(number) for number in chosen]
        runs = pl.DataFrame(places, dict.fromkeys(KEYS[:2], pl.Int64), orient="row")
        kept = self.kept.join(runs, on=KEYS[:2], how="semi").sort(KEYS)
        again = pl.concat(done, how="diagonal_relaxed")
        found = compare.rows(kept, again, KEYS, KEYS[:2], whole=self.whole)
        if not self.whole:
            self.notes += further(self.place, compare.new(kept, again))
        for point, seed in sorted(found):
            yield self._said(point, seed, found[point, seed])
        # Another build may define fingerprints otherwise; its numbers are compared all the same.
        if self.whole and fingerprint.NAME in kept.columns:
            yield from self._unsealed(kept, found)
        yield from self._traces(
            [each for each in chosen if self._place(each) not in found], traced, engine
        )

    def _unsealed(
        self, kept: pl.DataFrame, found: Mapping[tuple[Any, ...], Cell]
    ) -> Iterator[Difference]:
        """Yields runs whose kept fingerprint is not that of their kept numbers."""
        right = fingerprint.of_rows(kept.drop(fingerprint.NAME))
        told = set(found)
        # Rows of real clocks have none.
        for place in kept[fingerprint.NAME].ne(right).arg_true():
            row = kept.row(place, named=True)
            run = row["point"], row["seed"]
            if run not in told:
                told.add(run)
                cell = compare.Cell(row, fingerprint.NAME, row[fingerprint.NAME], right[place])
                yield self._said(*run, cell)

    def _traces(
        self, chosen: Sequence[int], traced: Mapping[int, Run], engine: Engine
    ) -> Iterator[Difference]:
        """Yields the first difference of each recorded trace of the chosen runs."""
        there = series_files(self.directory, self.runner.name) if self.directory else {}
        kept = {number: self._kept_tables(number, there) for number in chosen}
        recorded = {number: tables for number, tables in kept.items() if tables}
        made: Iterator[tuple[int, tuple[str | None, Tables]]]
        if is_simulator(self.runner):
            made = self._recorded_again(recorded, engine)
        else:
            made = ((each, _recorded(run)) for each, run in traced.items())
        for number in chosen if is_simulator(self.runner) else traced:
            if not recorded.get(number) and self._wanted(number):
                yield self._said(*self._place(number), compare.Cell({}, problem=_NO_TRACE))
        for number, (trace_hash, tables) in made:
            if number not in recorded:
                continue
            self.traces += 1
            files = recorded[number]
            kept_hash = _level_of(files).get("trace_hash")
            only = (
                [TRANSFERS]
                if list(files) == [TRANSFERS] and not self._over_time(number)
                else TABLES
            )
            cell = _of_tables(files, {each: tables[each] for each in only if each in tables})
            if cell is None and kept_hash is not None and kept_hash != trace_hash:
                cell = compare.Cell({}, "trace_hash", kept_hash, trace_hash)
            if cell:
                yield self._said(*self._place(number), cell)

    def _kept_tables(self, number: int, there: Mapping[str, Path]) -> Files:
        """Returns the files of a run's trace; a run that is not recorded over time may have its transfers."""
        run = "{}-{}".format(*self._place(number))
        files = {each: there[name] for each in TABLES if (name := series_name(run, each)) in there}
        if run in there or self._over_time(number):
            return files
        return {each: file for each, file in files.items() if each == TRANSFERS}

    def _over_time(self, number: int) -> bool:
        """Whether the description says that a run was recorded over time."""
        level, _ = without_transfers(self.level)
        return self.complete and level != "off" and number < self.spec.plan.points

    def _wanted(self, number: int) -> bool:
        """Whether the description says that a run has a trace, or its transfers."""
        _, transfers = without_transfers(self.level)
        return self._over_time(number) or (self.complete and transfers)

    def _recorded_again(
        self, recorded: Mapping[int, Files], engine: Engine
    ) -> Iterator[tuple[int, tuple[str | None, Tables]]]:
        numbers, jobs, unknown = [], [], 0
        for number, files in recorded.items():
            point, seed = self._place(number)
            level = _level_of(files).get("trace")
            if not isinstance(level, str):
                unknown += 1
                continue
            setup = Setup(self.spec.whole[point], f"{self.place}, point {point}", trace=level)
            numbers.append(number)
            jobs.append(Repetition(Repeated(setup, [seed], level, _recorded), seed, self.runner))
        if unknown:
            self.notes.append(
                f"{self.place}: {unknown:,} {'trace is' if unknown == 1 else 'traces are'} not compared: "
                "the interval is not kept"
            )
        with closing(results(jobs, engine, self.runner)) as done:
            for place, made in done:
                yield numbers[place], made

    def _level(self, number: int, scenario: Any) -> str:  # noqa: ANN401  (of the core)
        level, _ = without_transfers(self.level)
        return level_of(level, scenario) if number < self.spec.plan.points else "off"

    def _place(self, number: int) -> tuple[int, int]:
        points = self.spec.plan.points
        return number % points, self._first + number // points

    def _said(self, point: int, seed: int, cell: Cell) -> Difference:
        settings = ", ".join(f"{key}={value}" for key, value in self.spec.plan.settings(point))
        of = (
            f"point {point}{f' ({settings})' if settings else ''}, "
            if self.spec.plan.points > 1
            else ""
        )
        return _difference(self.place, f"{of}seed {seed}", cell, self.kept)


@dataclass
class Runs(Part):
    """Directories of single runs on one runner.

    Attributes:
        place: The directory that has them all, as the user named it.
        runner: The runner.
        runs: Their scenarios and metrics.
    """

    place: str
    runner: Runner
    runs: list[Single] = field(default_factory=list)
    traces: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def groups(self) -> list[list[int]]:
        """The numbers of the runs, each of a point of its own."""
        return [[number] for number in range(len(self.runs))]

    def again(self, chosen: Sequence[int], engine: Engine, tick: Tick) -> Iterator[Difference]:
        """Runs some of the runs again."""
        runs = [self.runs[number] for number in chosen]
        jobs = [
            Repetition(
                Repeated(
                    Setup(each.text, each.file, each.settings),
                    [each.seed],
                    each.level or "off",
                    _all_of,
                ),
                each.seed,
                self.runner,
            )
            for each in runs
        ]
        with closing(results(jobs, engine, self.runner)) as done:
            for count, (number, (metrics, tables)) in enumerate(done, 1):
                tick(count)
                each = runs[number]
                without = () if each.level else _OF_TRACE
                cell = compare.metrics(each.metrics, metrics, without, whole=each.whole)
                if not each.whole:
                    new = compare.new_entries(each.metrics, metrics, without)
                    self.notes += further(each.place, new)
                if each.level and cell is None and each.files:
                    self.traces += 1
                    cell = _of_tables(each.files, tables)
                elif each.level and cell is None and tables:
                    cell = compare.Cell({}, problem=_NO_TRACE)
                if cell:
                    yield _difference(each.place, f"seed {each.seed}", cell)


@dataclass(frozen=True)
class Single:
    """A kept run.

    Attributes:
        place: Its directory, as the user named it.
        text: Its scenario.
        file: The name of the scenario, relative to which it names files.
        settings: Keys and values that change it.
        seed: Its seed.
        metrics: Its metrics.
        files: Its recorded tables.
        level: Its trace level; None if it is unknown.
        whole: Whether this build made it, so that it has no further metrics.
    """

    place: str
    text: str
    file: str
    settings: tuple[tuple[str, str], ...]
    seed: int
    metrics: Mapping[str, Any]
    files: Mapping[str, Path]
    level: str | None
    whole: bool


def further(place: str, names: Sequence[str]) -> list[str]:
    """Returns the note about numbers that only this build has; nothing without any."""
    return (
        [f"{place}: not compared, since only this build has them: {', '.join(names)}"]
        if names
        else []
    )


def _recorded(run: Run) -> tuple[str | None, Tables]:
    return run.trace_hash, {name: run.trace(name) for name in run.tables}


def _all_of(run: Run) -> tuple[Mapping[str, Any], Tables]:
    return run.metrics, _recorded(run)[1]


def first_line(error: Exception) -> str:
    """Returns the problem of an error, without its fix."""
    return str(error).splitlines()[0]


def _of_tables(kept: Files, again: Tables) -> Cell | None:
    """Returns the first difference of recorded tables; damage is one."""
    try:
        return _difference_of_tables(kept, again)
    except DamagedError as error:
        return compare.Cell({}, problem=first_line(error))


def _difference_of_tables(kept: Files, again: Tables) -> Cell | None:
    for name in TABLES:
        if name in again and name not in kept:
            return compare.Cell({}, problem=f"the table {name} of its trace is missing")
        if name in kept and name not in again:
            return compare.Cell({}, f"the table {name}", "recorded", None)
        if name in kept and (cell := compare.tables(read_parquet(kept[name]), again[name])):
            return cell._replace(row={**cell.row, "table": name})
    return None


def _level_of(files: Files) -> Mapping[str, object]:
    """Returns the description of a trace: its level and its hash."""
    for file in files.values():
        with suppress(DamagedError):
            return parquet_about(file, "fullpipe")
    return {}


def _difference(place: str, run: str, cell: Cell, rows: pl.DataFrame | None = None) -> Difference:
    row = cell.row
    if "table" in row:
        at = f"row {row['row']} of " if "row" in row else ""
        what = f"{at}the trace {row['table']}"
    elif "flow_index" in row and rows is not None:
        same = rows.filter(*(pl.col(key) == row[key] for key in KEYS))
        what = f"flow {same['flow'][0]}" if same.height else f"flow {row['flow_index'] + 1}"
    else:
        what = ""
    return Difference(place, run, what, cell.column, cell.kept, cell.again, cell.problem)


def _ranges(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Returns numbers in their order as ranges, each with the number after its last."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return found
