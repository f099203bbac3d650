"""Finds scenarios, checks all before any runs, and runs their repetitions."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from fullpipe import _core
from fullpipe.checks.judge import Judged, judged
from fullpipe.frame import series
from fullpipe.run import parse, read
from fullpipe.sweeps import elsewhere
from fullpipe.sweeps.engines import Step, cores, local
from fullpipe.sweeps.fill import SHARD_S
from fullpipe.sweeps.plan import Recipe, refuse_too_large

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from fullpipe.progress import Counter
    from fullpipe.runners import Runner


class Subject(NamedTuple):
    """A scenario of which something is expected."""

    scenario: _core.Scenario
    recipe: Recipe


class Checked(NamedTuple):
    """What came of a scenario."""

    file: str
    title: str
    judged: Sequence[Judged]
    settings: Sequence[str]
    """Of `--set`, that make a plain run one of these repetitions."""
    runs: int
    wall_s: float
    runner: str
    one_of: bool
    """Whether there are others that ran the same."""

    @property
    def met(self) -> bool:
        """Whether every condition was."""
        return all(each.met for each in self.judged)

    def replay(self, seed: int) -> list[str]:
        """The command that runs a repetition again."""
        return [
            "fullpipe",
            "run",
            self.file,
            *([] if self.runner == "sim" else ["--on", self.runner]),
            "--seed",
            str(seed),
            *(part for s in self.settings for part in ("--set", s)),
        ]


def find(paths: Iterable[Path]) -> list[Path]:
    """The files among `paths`, and those below the folders among them.

    Raises:
        FileNotFoundError: When one is not there, or a folder has no scenario.
    """
    files: list[Path] = []
    for path in paths:
        below = sorted(path.rglob("*.toml")) if path.is_dir() else [path]
        if not below:
            raise FileNotFoundError(f"{path}: no .toml file in it")
        files += [file for file in below if file not in files]
    return files


def prepare(files: Iterable[Path], repeat: int, seed: int | None) -> list[Subject]:
    """Those of which something is expected, all checked.

    Raises:
        ScenarioError: When a scenario or a condition is refused.
        OSError: When a file can't be read.
    """
    return [subject for file in files if (subject := _subject(file, repeat, seed))]


def _subject(path: Path, repeat: int, seed: int | None) -> Subject | None:
    text, file = read(path)
    scenario = parse(text, file)
    if not scenario.expectations():
        return None
    # what its [sweep] varies is left as it is above
    recipe = Recipe(text, file, repeat=repeat, seed=seed, points=[[]])
    try:
        recipe.plan  # noqa: B018  (made here, to be refused here)
    except _core.ScenarioError:
        if scenario.is_random or repeat == 1:
            raise
        # It says that it has no jitter: one run is all there is.
        recipe = Recipe(text, file, repeat=1, seed=seed, points=[[]])
        recipe.plan  # noqa: B018
    return Subject(scenario, recipe)


def check(
    subjects: Sequence[Subject], runners: Sequence[Runner], counter: Counter
) -> Iterator[Checked]:
    """Runs the repetitions of one after the other, each on one runner after the other.

    Raises:
        ScenarioError: When a runner refuses a scenario; nothing has run then.
    """
    for _, recipe in subjects:
        for runner in runners:
            if runner.name == "sim":
                refuse_too_large(recipe, cores())
            else:
                elsewhere.refuse(recipe, [runner], lambda _: "off")
    counter.begin(sum(subject.recipe.plan.runs for subject in subjects) * len(runners), 0)
    runs = packets = 0
    for scenario, recipe in subjects:
        for runner in runners:
            start = time.perf_counter()
            frames: list[pl.DataFrame] = []
            done = moved = 0
            for step in _steps(recipe, runner, counter, runs, packets):
                done, moved = step.runs, step.packets
                counter.show(runs + done, packets + moved)
                if step.shard:
                    frames.append(
                        pl.DataFrame(
                            [series(name, column) for name, column in step.shard[2].items()]
                        )
                    )
            runs, packets = runs + done, packets + moved
            rows = pl.concat(frames, how="diagonal_relaxed")
            settings = [f"{key}={jitter}" for key, jitter, _ in recipe.plan.added_jitter]
            wall_s = time.perf_counter() - start
            found = list(judged(scenario, rows))
            yield Checked(
                recipe.file,
                scenario.title or "",
                found,
                settings,
                recipe.plan.runs,
                wall_s,
                runner.name,
                len(runners) > 1,
            )


def _steps(
    recipe: Recipe, runner: Runner, counter: Counter, runs: int, packets: int
) -> Iterator[Step]:
    """All runs of a scenario, as an engine has them."""
    whole = [(0, recipe.plan.runs)]
    if runner.name == "sim":
        with closing(local(recipe, whole, cores(), SHARD_S)) as steps:
            yield from steps
        return
    todo = elsewhere.jobs(recipe, {runner.name: whole}, [runner])

    def level(_job: elsewhere.Job, _scenario: _core.Scenario) -> str:
        return "off"

    def tick(left: elsewhere.Left) -> None:
        counter.show(runs + left.runs, packets + left.packets, left.seconds)

    if runner.real_time:
        finished = elsewhere.one_by_one(recipe, todo, level, tick)
    else:
        finished = elsewhere.side_by_side(recipe, todo, cores(), level, tick)
    moved = 0
    with closing(finished):
        for number, each in enumerate(finished, 1):
            moved += each.run.metrics["packets"]
            yield Step(number, moved, (each.job.number, each.job.number + 1, each.rows))
