"""Scores candidates: cells, race, hold-out, and the lines in the terminal."""

from __future__ import annotations

import json
import math
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.base import terminal
from fullpipe.base.progress import Counter
from fullpipe.errors import UserError, printing, stoppable
from fullpipe.results import disk
from fullpipe.study import kept_in
from fullpipe.study.engine import HERE, LOCAL
from fullpipe.study.execute import one_cluster, telling
from fullpipe.wings.search.score import holdout, process, race
from fullpipe.wings.search.score.candidate import Candidate
from fullpipe.wings.search.score.measure import Measure
from fullpipe.wings.search.score.points import points, scored, terms, weights
from fullpipe.wings.search.score.show import document, show
from fullpipe.wings.search.score.suite import suite as suite_of
from fullpipe.wings.search.score.values import cache, file_of, opened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.stats.strata import Strata
    from fullpipe.study.engine import Engine
    from fullpipe.wings.search.score.suite import Cell, Suite
    from fullpipe.wings.search.score.values import Kept


@dataclass(frozen=True)
class Asked:
    """The options of a scoring.

    Attributes:
        suite: The name of a suite of the package, or a file.
        stack: `stack` of its scenarios; None for the suite's.
        budget_s: The time; None without a limit.
        alpha: The error of the race.
        holdout: Whether the winner runs on the hold-out.
        reveal: Whether the hold-out is printed, and renewed.
        contained: Whether the processes of candidates are contained.
        engine: Where the runs execute; those of code in this process alone.
        folder: The folder of kept values; None for the user's cache.
        as_json: Print only JSON.
    """

    suite: str = "general"
    stack: str | None = None
    budget_s: float | None = None
    alpha: float = race.ALPHA
    holdout: bool = True
    reveal: bool = False
    contained: bool = True
    engine: Engine = HERE
    folder: Path | None = None
    as_json: bool = False


@dataclass
class Scored:
    """A candidate with its score.

    Attributes:
        candidate: The candidate.
        terms: The points of its metrics by the cells' keys.
        points: Its points by the cells' keys.
        score: Its score; None if it failed.
        failed: The reason why it has none.
        missed: Whether the time was over before it had one.
        stopped: The number of cells after which it stopped in the race; None if it did not.
    """

    candidate: Candidate
    terms: dict[str, list[float]] = field(default_factory=dict)
    points: dict[str, float] = field(default_factory=dict)
    score: Strata | None = None
    failed: str = ""
    missed: bool = False
    stopped: int | None = None


@dataclass(frozen=True)
class Hidden:
    """The winner on the hold-out.

    Attributes:
        cells: The cells.
        score: The score.
        probability: That of a gap as large as the one to the shown score, by chance.
        uses: The number of uses of the secret.
    """

    cells: Sequence[Cell]
    score: Strata
    probability: float
    uses: int

    @property
    def alarm(self) -> bool:
        """Whether the score falls behind the shown one."""
        return self.probability < holdout.ALARM


@dataclass(frozen=True)
class Result:
    """The result of a scoring.

    Attributes:
        suite: The suite.
        cells: The shown cells.
        all: The candidates: those that ran to the end by their scores, those that stopped, those that failed.
        hidden: The winner on the hold-out; None if it did not run.
        alpha: The error of the race.
        over: Whether the time ended before all cells had run.
        runs: The number of executed runs.
        seconds: The time.
    """

    suite: Suite
    cells: Sequence[Cell]
    all: Sequence[Scored]
    hidden: Hidden | None
    alpha: float
    over: bool
    runs: int
    seconds: float


def _usual() -> Path:
    """Returns the user's folder of kept values, which is made.

    Raises:
        UserError: When it can't be made.
    """
    folder = cache()
    try:
        disk.make_folder(folder)
    except OSError as error:
        fix = "name another directory with --cache, or set XDG_CACHE_HOME to one that you can write"
        raise UserError(f"{error.filename}: {error.strerror}\n  fix: {fix}") from error
    return folder


def score(candidates: Sequence[Candidate], asked: Asked) -> bool:
    """Scores candidates, and prints the result on standard output.

    Returns:
        Whether a candidate has a score, and the hold-out raised no alarm.

    Raises:
        UserError: When the suite has an error, or the machine can't contain a candidate.
        ScenarioError: When a parameter is unknown, or the suite's scenario is invalid.
        OSError: When a file can't be read or written.
    """
    result = measured(candidates, asked)
    with printing():
        if asked.as_json:
            terminal.print_alone(json.dumps(document(result, revealed=asked.reveal)))
        else:
            show(result, terminal.console(), revealed=asked.reveal)
    best = result.all[0]
    return best.score is not None and not (result.hidden and result.hidden.alarm)


def measured(candidates: Sequence[Candidate], asked: Asked) -> Result:
    """Scores candidates; the errors are those of :func:`score`."""
    start = time.perf_counter()
    suite = suite_of(asked.suite, asked.stack)
    cells = suite.cells()
    code = [each.name for each in candidates if each.is_code]
    if code and asked.engine.name != LOCAL:
        raise UserError(
            f"--engine {asked.engine.name}: {code[0]} is code, whose processes are contained on this machine alone\n"
            "  fix: omit --engine, or leave the code out"
        )
    if (
        asked.contained
        and any(each.is_code for each in candidates)
        and (problem := process.refused())
    ):
        raise UserError(problem)
    if all(each.problem for each in candidates):
        raise UserError(candidates[0].problem)
    unlike = {each.key: each for each in candidates}
    folder = asked.folder or _usual()
    counter = Counter(notes=not asked.as_json)
    with ExitStack() as inside:
        inside.enter_context(telling(lambda: kept_in(folder)))
        inside.enter_context(stoppable(lambda: counter.at, kept_in(folder)))
        inside.enter_context(counter)
        inside.enter_context(one_cluster(asked.engine))
        kept = inside.enter_context(opened(file_of(folder, suite)))
        measure = inside.enter_context(
            Measure(
                suite,
                budget_s=asked.budget_s,
                engine=asked.engine,
                contained=asked.contained,
                secrets=[folder, holdout.home()],
                counter=counter,
            )
        )
        raced = {key: Scored(each) for key, each in unlike.items()}
        _race(list(raced.values()), suite, cells, measure, kept, asked.alpha)
        for key, each in raced.items():
            each.failed = measure.failed.get(key, "")
            found = scored(suite, cells, each.points)
            each.score = None if each.failed or math.isnan(found.mean) else found
            if each.score is None and not each.failed and key in measure.begun:
                budget = f"the budget of {asked.budget_s or 0:g} s"
                each.failed = f"slow: {budget} was over before it had a score"
            each.missed = not each.failed and each.score is None
        # The same code under several names has one result, and each name its row.
        every = [replace(raced[each.key], candidate=each) for each in candidates]
        for each in every:
            each.failed = each.candidate.problem.partition("\n")[0] or each.failed
        every.sort(key=_rank)
        hidden = None
        if asked.holdout and every[0].score and suite.holdout and not measure.over:
            hidden = _hidden(every[0], suite, cells, measure, kept, reveal=asked.reveal)
    seconds = time.perf_counter() - start
    return Result(suite, cells, every, hidden, asked.alpha, measure.over, measure.runs, seconds)


def _rank(each: Scored) -> tuple[bool, float, float]:
    if each.score is None:
        return True, 0.0, 0.0
    return False, -(each.stopped or math.inf), -each.score.mean


def _race(
    every: Sequence[Scored],
    suite: Suite,
    cells: Sequence[Cell],
    measure: Measure,
    kept: Kept,
    alpha: float,
) -> None:
    """Executes the stages of a race; a single candidate has no rival, and runs to the end."""
    baseline = Candidate(suite.baseline, suite.baseline)
    factor = _factors(suite, cells)
    ends, begin = race.stages(len(cells)), 0
    there = list(every)
    for number, end in enumerate(ends):
        stage = cells[begin:end]
        what = f"{len(there)} of {len(every)} candidates, {end} cells"
        measure.execute([baseline, *(each.candidate for each in there)], stage, kept, what)
        for each in there:
            _collect(each, suite, stage, kept, baseline)
        there = [each for each in there if each.candidate.key not in measure.failed]
        if measure.over or not there:
            return
        if number and len(there) > 1:
            before = ends[number - 1]
            table = np.array(
                [
                    [each.points[cell.key] * factor[cell.part] for cell in cells[:end]]
                    for each in there
                ]
            )
            _, stops = race.stopped(table, before, alpha, len(ends) - 1)
            for each, stop in zip(there, stops, strict=True):
                if stop and end < len(cells):
                    each.stopped = end
            there = [each for each in there if each.stopped is None]
        begin = end


def _factors(suite: Suite, cells: Sequence[Cell]) -> list[float]:
    """Returns the factor of the points in each part, with which a plain mean is that over the strata."""
    total = sum(weights(suite).values())
    return [
        part.weight / total * len(cells) / max(sum(cell.part == number for cell in cells), 1)
        for number, part in enumerate(suite.parts)
    ]


def _collect(
    each: Scored, suite: Suite, cells: Sequence[Cell], kept: Kept, baseline: Candidate
) -> None:
    for cell in cells:
        ours, base = kept.get(each.candidate.key, cell.key), kept.get(baseline.key, cell.key)
        if ours is not None and base is not None:
            each.terms[cell.key] = terms(suite, cell, ours, base)
            each.points[cell.key] = points(suite, cell, each.terms[cell.key])


def _hidden(
    best: Scored,
    suite: Suite,
    cells: Sequence[Cell],
    measure: Measure,
    kept: Kept,
    *,
    reveal: bool,
) -> Hidden | None:
    secret = holdout.Secret(suite)
    secret.use()
    drawn = suite.cells(secret.seed, suite.holdout)
    baseline = Candidate(suite.baseline, suite.baseline)
    control = best.candidate.default or Candidate(suite.control, suite.control)
    with opened(file_of(secret.values, suite)) as own:
        measure.execute([baseline, control, best.candidate], drawn, own, "hold-out")
        measure.execute([control], cells, kept, f"{control.name} on the shown cells")
        if measure.over or best.candidate.key in measure.failed:
            return None
        tried = []
        for those, values in ((cells, kept), (drawn, own)):
            ours, usual = Scored(best.candidate), Scored(control)
            for each in (ours, usual):
                _collect(each, suite, those, values, baseline)
            tried.append(holdout.Tried(those, ours.points, usual.points))
        shown, hidden = tried
        probability = holdout.alarm(suite, shown, hidden)
        found = Hidden(drawn, scored(suite, drawn, hidden.points), probability, secret.uses)
    if reveal:
        secret.renew()
    return found
