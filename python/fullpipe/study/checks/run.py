"""Finds scenarios, checks all before any runs, and runs their repetitions."""

from __future__ import annotations

import time
import tomllib
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from fullpipe import _core
from fullpipe.algorithms.own import options, own
from fullpipe.base.build import build
from fullpipe.base.frame import table
from fullpipe.errors import UnrepeatableError, refusal
from fullpipe.results.sums import in_name
from fullpipe.run import parse
from fullpipe.runners import option
from fullpipe.scenario.origin import read, warm_up
from fullpipe.stats import steady
from fullpipe.study.checks.judge import judged
from fullpipe.study.engine import HERE, drain
from fullpipe.study.execute import parts
from fullpipe.study.spec import SweepSpec
from fullpipe.study.store import gaps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fullpipe.base.progress import Counter
    from fullpipe.runners import Runner
    from fullpipe.stats.steady import Steadiness
    from fullpipe.study.checkpoint import Checkpoint
    from fullpipe.study.checks.judge import JudgedCondition
    from fullpipe.study.engine import Engine, Shard, Step
    from fullpipe.study.execute import Part


_SHARD_S = 1.0
"""Approximate work of a shard, in seconds: progress is shown after each, and it is kept."""


class Given(NamedTuple):
    """Changes of options to every scenario."""

    settings: Sequence[tuple[str, str]] = ()
    """Keys with values."""
    written: Sequence[tuple[str, str]] = ()
    """The same as the user wrote them: a class by its file."""
    loads: Sequence[str] = ()
    """The options that load or allow what a run needs besides algorithms, as in `--recipe mine.toml`."""


class Subject(NamedTuple):
    """A scenario that has conditions."""

    scenario: _core.Scenario
    spec: SweepSpec


class Checked(NamedTuple):
    """The verdicts on a scenario."""

    file: str
    title: str
    judged: Sequence[JudgedCondition]
    given: Given
    """The changes that options make."""
    jitter: Sequence[str]
    """Arguments of `--set` that, besides, make a plain run one of these repetitions."""
    runs: int
    wall_s: float
    runner: str
    one_of: bool
    """Whether other runners ran the same scenario."""
    rows: pl.DataFrame
    """A row per flow and run."""
    runs_steady: Steadiness
    """Whether all numbers are steady within the measured window."""
    resolved: str
    """The complete scenario as TOML, with the first seed."""
    random: bool
    """Whether another seed changes the results."""

    @property
    def columns(self) -> set[str]:
        """The columns that the conditions name."""
        return {each.column for each in self.judged}

    @property
    def steadiness(self) -> Steadiness:
        """Whether the numbers of the conditions are steady within the measured window."""
        return self.runs_steady.about([(each.column, each.flow) for each in self.judged])

    @property
    def met(self) -> bool:
        """Whether every condition is met."""
        return all(each.met for each in self.judged)

    @property
    def set(self) -> list[str]:
        """The changes that options make, as `--set` takes them."""
        return [f"{key}={value}" for key, value in self.given.written]

    def replay(self, seed: int) -> list[str]:
        """Returns the command that runs a repetition again."""
        loads = [*options(own(_core.algorithm_names(self.resolved))), *self.given.loads]
        return ["fullpipe", "run", *self._words(seed), *loads]

    def explore(self, seed: int) -> list[str]:
        """Returns the command that shows a repetition in a page."""
        return ["fullpipe", "explore", *self._words(seed)]

    def _words(self, seed: int) -> list[str]:
        settings = [part for each in (*self.set, *self.jitter) for part in ("--set", each)]
        return [self.file, *option(self.runner), "--seed", str(seed), *settings]


def find(paths: Iterable[Path]) -> list[Path]:
    """Returns the files in `paths`, and the scenarios in directories in `paths` and below.

    Raises:
        FileNotFoundError: When a directory has no scenario.
    """
    files: list[Path] = []
    for path in paths:
        below = sorted(path.rglob("*.toml")) if path.is_dir() else [path]
        if not below:
            raise FileNotFoundError(f"{path}: the directory has no .toml file")
        files += [file for file in below if file not in files]
    return files


def prepare(
    files: Iterable[Path], repeat: int, seed: int | None, given: Given, *, every: bool = False
) -> list[Subject]:
    """Returns the scenarios that have conditions, or with `every` all, after a check of all.

    Raises:
        ScenarioError: When a scenario or a condition is refused.
        OSError: When a file can't be read.
    """
    found = (_subject(file, repeat, seed, given, every=every) for file in files)
    return [subject for subject in found if subject]


def _subject(
    path: Path, repeat: int, seed: int | None, given: Given, *, every: bool
) -> Subject | None:
    text, file = read(path)
    shorter = warm_up(text, given.settings)
    fixed = [*given.settings, *([shorter] if shorter else [])]
    scenario = parse(text, file, set=dict(fixed))
    _refuse_lost(text, file, scenario, given)
    if not scenario.expectations() and not every:
        return None
    # Without the values of its [sweep]: keys have their values from above it.
    spec = SweepSpec(text, file, fixed, repeat=repeat, seed=seed, points=[[]])
    try:
        spec.plan  # noqa: B018  (made here, to be refused here)
    except _core.ScenarioError:
        if scenario.is_random or repeat == 1:
            raise
        # The scenario sets its jitter to zero: all runs would be the same.
        spec = SweepSpec(text, file, fixed, repeat=1, seed=seed, points=[[]])
        spec.plan  # noqa: B018
    return Subject(scenario, spec)


def _refuse_lost(text: str, file: str, scenario: _core.Scenario, given: Given) -> None:
    """Refuses settings that rename what a condition is about: it would be left out, and the check be green."""
    settings = dict(given.settings)
    if not settings or "expect" in settings:
        return
    try:
        parse(text, file)
    except _core.ScenarioError as error:
        if error.key.startswith("expect"):
            raise  # wrong in the file
    kept = {each[0] for each in scenario.expectations()}
    for number, condition in enumerate(tomllib.loads(text).get("expect", [])):
        if condition not in kept:
            made = ", ".join(f"{key}={value}" for key, value in given.written)
            raise refusal(
                f"with {made} no flow or link has this name",
                'name the flow in the file, like name = "a", or write flow.*',
                file=file,
                key=f"expect.{number}",
                value=f'"{condition}"',
            )


def about_of(subjects: Sequence[Subject], repeat: int, runners: Sequence[Runner]) -> dict[str, str]:
    """Returns what the runs depend on, by names for messages."""
    identities = " ".join(subject.spec.identity for subject in subjects)
    return {
        "fullpipe": f"{_core.__version__}, {build()}",
        "the content of the scenarios": in_name(identities.encode()),
        "--repeat": str(repeat),
        "--on": ",".join(runner.name for runner in runners),
    }


def check(
    subjects: Sequence[Subject],
    runners: Sequence[Runner],
    given: Given,
    counter: Counter,
    engine: Engine = HERE,
    so_far: Checkpoint | None = None,
) -> Iterator[Checked]:
    """Runs the repetitions of each scenario, on each runner; those in the checkpoint do not run again.

    Raises:
        ScenarioError: When a runner refuses a scenario, before the first run.
        RunnerError: When the runs of a runner can't execute there.
        ClusterError: When the Ray cluster can't execute the runs.
    """
    # One runner at a time: its verdicts are printed before the next begins.
    executed = [
        (subject, part)
        for subject in subjects
        for runner in runners
        for part in parts(subject.spec, [runner], engine)
    ]
    for _, part in executed:
        part.refuse()
    done = [_Done(part, so_far, number) for number, (_, part) in enumerate(executed)]
    total, left = (sum(each.part.spec.plan.runs for each in done), sum(each.left for each in done))
    counter.begin(total, total - left)
    runs = packets = 0
    for (subject, part), each in zip(executed, done, strict=True):
        start = time.perf_counter()
        rows, made, moved = each.all(counter, runs, packets)
        runs, packets = runs + made, packets + moved
        plan, wall_s = subject.spec.plan, time.perf_counter() - start
        yield Checked(
            subject.spec.file,
            subject.scenario.title or "",
            judged(subject.scenario, rows),
            given,
            [f"{key}={jitter}" for key, jitter, _ in plan.added_jitter],
            plan.runs,
            wall_s,
            part.runners[0].name,
            len(runners) > 1,
            rows,
            steady.judged(rows),
            next(subject.spec.scenarios()),
            subject.scenario.is_random or bool(plan.added_jitter),
        )


class _Done:
    """The runs of a scenario on a runner, and the rows of those that are finished.

    Attributes:
        part: The runs.
        left: The number of those to execute.
    """

    def __init__(self, part: Part, so_far: Checkpoint | None, number: int) -> None:
        self.part, self._so_far, self._number = part, so_far, number
        runs = range(part.spec.plan.runs)
        there = {run: so_far.get((number, run)) for run in runs} if so_far else {}
        self._rows = {run: _frame(record["rows"]) for run, record in there.items() if record}
        self.left = len(runs) - len(self._rows)

    def all(self, counter: Counter, runs: int, packets: int) -> tuple[pl.DataFrame, int, int]:
        """Executes the runs that are left; returns the rows of all, the number of runs, and their packets.

        Args:
            counter: Shows the progress.
            runs: The number of runs before them.
            packets: The packets that those moved.
        """
        first_seed, _ = self.part.spec.plan.seeds
        missing = gaps([(run, run + 1) for run in self._rows], self.part.spec.plan.runs)

        def show(step: Step) -> None:
            counter.show(runs + step.runs, packets + step.packets, step.left_s)

        def add(shard: Shard) -> None:
            rows = table(shard.rows)
            for some in rows.partition_by("seed") if self._so_far else [rows]:
                run = some["seed"][0] - first_seed
                self._rows[run] = some
                if self._so_far:
                    self._so_far.add((self._number, run), {"rows": some.to_dict(as_series=False)})

        made = moved = 0
        if missing:
            [runner] = self.part.runners
            steps = self.part.steps({runner.name: missing}, _SHARD_S, show=show)
            try:
                made, moved = drain(steps, show, add)
            except UnrepeatableError:
                if self._so_far:
                    self._so_far.discard()
                raise
        in_order = [self._rows[run] for run in sorted(self._rows)]
        return pl.concat(in_order, how="diagonal_relaxed"), made, moved


def _frame(columns: Mapping[str, Sequence[object]]) -> pl.DataFrame:
    """Returns the rows of a record. A column without values is one of measures: counts and words never lack one."""
    types = {int: pl.Int64, float: pl.Float64, str: pl.String}
    return pl.DataFrame(
        [
            pl.Series(name, values, types[type(next((it for it in values if it is not None), 0.0))])
            for name, values in columns.items()
        ]
    )
