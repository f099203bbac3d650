"""Finds scenarios, checks all before any runs, and runs their repetitions."""

from __future__ import annotations

import time
import tomllib
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from fullpipe import _core
from fullpipe.algorithms.own import options, own
from fullpipe.base.frame import table
from fullpipe.errors import refusal
from fullpipe.run import parse
from fullpipe.runners import option
from fullpipe.scenario.origin import read, warm_up
from fullpipe.study.checks.judge import judged
from fullpipe.study.engine import HERE, drain
from fullpipe.study.execute import parts
from fullpipe.study.spec import SweepSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from fullpipe.base.progress import Counter
    from fullpipe.runners import Runner
    from fullpipe.study.checks.judge import JudgedCondition
    from fullpipe.study.engine import Engine, Step
    from fullpipe.study.execute import Part


_SHARD_S = 1.0
"""Approximate work of a shard, in seconds: progress is shown after each."""


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
    resolved: str
    """The complete scenario as TOML, with the first seed."""
    random: bool
    """Whether another seed changes the results."""

    @property
    def columns(self) -> set[str]:
        """The columns that the conditions name."""
        return {each.column for each in self.judged}

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


def check(
    subjects: Sequence[Subject],
    runners: Sequence[Runner],
    given: Given,
    counter: Counter,
    engine: Engine = HERE,
) -> Iterator[Checked]:
    """Runs the repetitions of each scenario, on each runner.

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
    counter.begin(sum(subject.spec.plan.runs for subject in subjects) * len(runners), 0)
    runs = packets = 0
    for subject, part in executed:
        start = time.perf_counter()
        rows, done, moved = _measured(part, counter, runs, packets)
        runs, packets = runs + done, packets + moved
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
            next(subject.spec.scenarios()),
            subject.scenario.is_random or bool(plan.added_jitter),
        )


def _measured(
    part: Part, counter: Counter, runs: int, packets: int
) -> tuple[pl.DataFrame, int, int]:
    """Returns the rows of all runs of a scenario, the number of runs, and the packets that they moved."""
    frames: list[pl.DataFrame] = []

    def show(step: Step) -> None:
        counter.show(runs + step.runs, packets + step.packets, step.left_s)

    whole = {runner.name: [(0, part.spec.plan.runs)] for runner in part.runners}
    steps = part.steps(whole, _SHARD_S, show=show)
    done, moved = drain(steps, show, lambda shard: frames.append(table(shard.rows)))
    return pl.concat(frames, how="diagonal_relaxed"), done, moved
