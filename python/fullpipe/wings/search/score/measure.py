"""Executes cells with candidates, and keeps their values as they come."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fullpipe._core import ScenarioError
from fullpipe.study.engine import Engine, Step
from fullpipe.study.execute import simulated
from fullpipe.study.spec import SweepSpec
from fullpipe.wings.search.score import process
from fullpipe.wings.search.score.points import name_of
from fullpipe.wings.search.score.suite import with_algorithm
from fullpipe.wings.search.score.values import Found

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from fullpipe._core import _Rows
    from fullpipe.base.progress import Counter
    from fullpipe.wings.search.score.candidate import Candidate
    from fullpipe.wings.search.score.points import Values
    from fullpipe.wings.search.score.suite import Cell, Part, Suite
    from fullpipe.wings.search.score.values import Kept

_SHARD_S = 0.5
_CELL_S = 120.0
"""Longest time of code without a finished cell: a hundred times that of a slow one in Python."""
UNREPEATABLE = "its results don't repeat, as with a clock or random numbers besides cx.random()"
_AT_ONCE = 2000
"""Most runs of one plan: a plan of many takes a while before its first run."""


class FailedError(Exception):
    """A candidate broke the contract, or its process ended."""

    def __init__(self, candidate: Candidate, problem: str) -> None:
        super().__init__(problem)
        self.candidate, self.problem = candidate, problem


class _Turn(NamedTuple):
    """A candidate's share of the time: its end on the monotonic clock, and its length in s."""

    end: float
    lasts_s: float


class Measure:
    """Cells with candidates, within a time.

    As a context it ends the processes of candidates.

    Attributes:
        failed: The problems of candidates that failed, by their keys.
        begun: The keys of the code that began to run.
        runs: The number of executed runs.
        packets: The packets that they moved.
        over: Whether the time was over before all asked cells had run.
    """

    def __init__(
        self,
        suite: Suite,
        *,
        budget_s: float | None,
        engine: Engine,
        contained: bool,
        secrets: Sequence[Path],
        counter: Counter,
    ) -> None:
        self._suite, self._counter = suite, counter
        self._engine = engine
        self._contained, self._secrets = contained, secrets
        self._end = None if budget_s is None else time.monotonic() + budget_s
        self._turn: _Turn | None = None
        self._served: dict[str, ExitStack] = {}
        self._seen: list[_Rows] = []
        self.failed: dict[str, str] = {}
        self.begun: set[str] = set()
        self.runs = self.packets = 0
        self.over = False

    def __enter__(self) -> Measure:
        return self

    def __exit__(self, *_: object) -> None:
        for each in list(self._served):
            self.release(each)

    def execute(
        self, candidates: Sequence[Candidate], cells: Sequence[Cell], kept: Kept, what: str
    ) -> None:
        """Executes the cells of candidates that have no values yet; those of one cell before those of the next."""
        missing = [
            (candidate, cell)
            for cell in cells
            for candidate in candidates
            if candidate.key not in self.failed and kept.get(candidate.key, cell.key) is None
        ]
        self._counter.begin(len(missing), 0, what)
        done = self._some([job for job in missing if not job[0].is_code], kept, 0)
        # One candidate's processes at a time: thousands of them would not fit into memory.
        code = [candidate for candidate in candidates if candidate.is_code]
        for number, candidate in enumerate(code):
            jobs = [job for job in missing if job[0].key == candidate.key]
            self._turn = self._share(len(code) - number)
            if jobs and self._repeats(jobs[0], kept, done):
                done = self._some(jobs[1:], kept, done + 1)
            self.release(candidate.key)
        self._turn = None

    def _repeats(self, job: tuple[Candidate, Cell], kept: Kept, done: int) -> bool:
        """Executes a cell twice, in processes that have nothing in common, and keeps its values if they are the same.

        Code whose results differ has failed, and loses the values that it has.
        """
        candidate, cell = job
        values = Found()
        self._seen.clear()
        for _ in range(2):
            values = Found()
            self._some([job], values, done)
            self.release(candidate.key)
        if len(self._seen) < 2:
            return False
        once, again = self._seen
        if differs := _difference(once, again):
            kept.drop(candidate.key)
            self.failed[candidate.key] = f"{UNREPEATABLE}: {differs}"
            return False
        if (measured := values.get(candidate.key, cell.key)) is None:
            return False
        kept.add(candidate.key, cell.key, measured)
        return True

    def _share(self, candidates: int) -> _Turn | None:
        """Returns the share of the time that is left, for the first of a number of candidates; None if it has all."""
        now = time.monotonic()
        if self._end is None or candidates == 1:
            return None
        lasts = max(self._end - now, 0.0) / candidates
        return _Turn(now + lasts, lasts)

    def _some(self, jobs: list[tuple[Candidate, Cell]], kept: Found, done: int) -> int:
        while jobs and not self.over:
            some, jobs = jobs[:_AT_ONCE], jobs[_AT_ONCE:]
            for number, part in enumerate(self._suite.parts):
                done = self._part(part, [job for job in some if job[1].part == number], kept, done)
        return done

    def release(self, key: str) -> None:
        """Ends the processes of a candidate."""
        if key in self._served:
            self._served.pop(key).close()

    def _part(self, part: Part, jobs: list[tuple[Candidate, Cell]], kept: Found, done: int) -> int:
        while jobs and not self.over:
            jobs = [job for job in jobs if self._is_ready(job[0])]
            try:
                return self._run(part, jobs, kept, done)
            except FailedError as failure:
                self.failed[failure.candidate.key] = failure.problem
                self.release(failure.candidate.key)
                jobs = [job for job in jobs if kept.get(job[0].key, job[1].key) is None]
        return done

    def _is_ready(self, candidate: Candidate) -> bool:
        """Starts the processes of a candidate, if it is code; returns whether it can run."""
        if candidate.problem:
            self.failed[candidate.key] = candidate.problem.partition("\n")[0]
        if candidate.key in self.failed:
            return False
        if not candidate.is_code or candidate.key in self._served:
            return True
        stack = ExitStack()
        try:
            stack.enter_context(process.served(candidate, self._secrets, contained=self._contained))
        except process.CandidateError as error:
            self.failed[candidate.key] = str(error)
            return False
        self._served[candidate.key] = stack
        return True

    def _run(
        self, part: Part, jobs: Sequence[tuple[Candidate, Cell]], kept: Found, done: int
    ) -> int:
        if not jobs:
            return done
        seeds = sorted({cell.seed for _, cell in jobs})
        spec = SweepSpec(
            with_algorithm(part, jobs[0][0].cc),
            f"part {part.name}",
            points=[settings_of(part, *job) for job in jobs],
            # A plan with one seed would not get the jitter of one with several, and its runs would differ.
            repeat=max(seeds[-1] - seeds[0] + 1, 2),
            seed=seeds[0],
        )
        try:
            spec.plan  # noqa: B018
        except ScenarioError as error:
            raise self._blamed(error, jobs) from None
        ranges = [
            (first := (cell.seed - seeds[0]) * len(jobs) + point, first + 1)
            for point, (_, cell) in enumerate(jobs)
        ]
        self.begun |= {candidate.key for candidate, _ in jobs if candidate.is_code}
        runs, last, step = 0, time.monotonic(), Step(0, 0)
        try:
            # A candidate that is code is run again before (:meth:`_repeats`).
            with closing(simulated(spec, ranges, _SHARD_S, self._engine, again=False)) as steps:
                for step in steps:
                    if step.runs > runs:
                        runs, last = step.runs, time.monotonic()
                    if step.shard:
                        self._seen = [*self._seen[-1:], step.shard.rows]
                        for point, values in _values(part, step.shard.rows):
                            candidate, cell = jobs[point]
                            kept.add(candidate.key, cell.key, values)
                            done += 1
                    self._counter.show(done, self.packets + step.packets)
                    if self._end is not None and time.monotonic() > self._end:
                        self.over = True
                        break
                    if jobs[0][0].is_code:
                        self._ask_for_haste(jobs[0][0], last)
        except ScenarioError as error:
            raise self._blamed(error, jobs) from None
        finally:
            self.runs, self.packets = self.runs + step.runs, self.packets + step.packets
        return done

    def _ask_for_haste(self, candidate: Candidate, last: float) -> None:
        """Fails a candidate whose share of the time is over, or which has finished no cell for long."""
        now = time.monotonic()
        if self._turn and now > self._turn.end:
            share = f"its share of the time, {self._turn.lasts_s:.3g} s"
            raise FailedError(candidate, f"slow: {share}, was over before all its cells had run")
        if now > last + _CELL_S:
            raise FailedError(candidate, f"slow: no cell ended within {_CELL_S:.0f} s")

    @staticmethod
    def _blamed(error: ScenarioError, jobs: Iterable[tuple[Candidate, Cell]]) -> Exception:
        """Returns the failure of the candidate that an error names, or the error if it is the suite's."""
        for candidate, _ in jobs:
            if candidate.is_code and candidate.cc in str(error):
                return FailedError(candidate, error.problem)
        return error


def settings_of(part: Part, candidate: Candidate, cell: Cell) -> list[tuple[str, str]]:
    """Returns the keys of a cell with a candidate, as `--set` takes them."""
    found = list(cell.settings)
    for number, name in enumerate(tested(part)):
        if name:
            found.append((f"flow.{number}.cc", candidate.cc))
            found += [
                (f"flow.{number}.params.{key}", _text(value))
                for key, value in candidate.params.items()
            ]
    return found


def _difference(once: _Rows, again: _Rows) -> str:
    """Returns the first number that differs between the rows of two runs, in words; two may have the same values."""
    for name, column in once.items():
        if isinstance(column, tuple):  # a name
            continue
        numbers, later = np.asarray(column), np.asarray(again.get(name, ()))
        if len(numbers) != len(later):
            return f"{name} is there once"
        same = (numbers == later) | (numbers != numbers) & (later != later)
        if not same.all():
            at = int(np.argmin(same))
            return f"{name} of a cell was {numbers[at]:.6g}, and then {later[at]:.6g}"
    return ""


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def tested(part: Part) -> list[bool]:
    """Returns for each flow of a part whether the candidate is its algorithm."""
    import tomllib

    from fullpipe.study.cells import HERE

    tables = tomllib.loads(part.scenario)
    return [each.get("cc") == HERE for each in tables.get("flow", [])]


def _values(part: Part, rows: _Rows) -> list[tuple[int, Values]]:
    """Returns the values of each run by its point."""
    codes, labels = rows["flow"]
    points = np.asarray(rows["point"])
    flows = np.asarray(labels)[np.asarray(codes)]
    found: list[tuple[int, Values]] = []
    for point in dict.fromkeys(points.tolist()):
        values: dict[str, float | None] = {}
        for metric in part.metrics:
            column = rows.get(metric.column)
            here = np.flatnonzero((points == point) & (flows == metric.of))
            value = float(column[here[0]]) if column is not None and len(here) else float("nan")  # type: ignore[arg-type]
            values[name_of(metric)] = value if np.isfinite(value) else None
        found.append((int(point), values))
    return found
