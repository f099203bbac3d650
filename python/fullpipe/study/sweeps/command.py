"""`fullpipe sweep`: runs the sweep with a progress bar, and prints a line per point and flow."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe._core import ScenarioError
from fullpipe.base import terminal
from fullpipe.base.build import build, in_words
from fullpipe.base.progress import Counter
from fullpipe.errors import RunnerError, UserError, stoppable
from fullpipe.results import about as abouts
from fullpipe.results import objects
from fullpipe.results.code import load_with
from fullpipe.runners import SIMULATOR, of_kept
from fullpipe.runs.lengths import is_drifting, lengths
from fullpipe.study import kept_in
from fullpipe.study.execute import telling
from fullpipe.study.spec import command_line
from fullpipe.study.sweeps.again import spec_of
from fullpipe.study.sweeps.api import usual_directory
from fullpipe.study.sweeps.dataset import Sweep
from fullpipe.study.sweeps.execute import Execution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.runners import Runner
    from fullpipe.study.engine import Engine
    from fullpipe.study.spec import SweepSpec
    from fullpipe.study.sweeps.until import Until


def sweep(
    spec: SweepSpec,
    *,
    out: str | None,
    trace: str | None,
    engine: Engine,
    until: Until | str | None = None,
    runners: Sequence[Runner],
    as_json: bool = False,
    asked: Sequence[str] = (),
    option: str = "--out ",
) -> bool:
    """Executes the missing runs and prints all results; returns whether the rule holds, True without one.

    With the rule "steady", `out` has a directory for each length. `option` stands before `out` in errors.

    Raises:
        MetricError: When a metric of `asked` is unknown, or no run has a value of it.
        ScenarioError: When a point is refused.
        RuleError: When the runs do not have the rule's metric.
        OSError: When the directory can't be written.
    """
    from fullpipe.study.sweeps.show import facts, steadiness
    from fullpipe.study.sweeps.until import verdict

    start = time.perf_counter()
    spec.classes  # noqa: B018  (imported here: that divides the process, and the counter has a thread)
    holds, said = True, []
    if isinstance(until, str):
        for length in lengths(spec.scenarios(), until):
            longer = replace(spec, given=length.over(spec.given))
            place = length.inside(out) if out else None
            done, runs, packets = _execute(longer, place, trace, engine, None, runners, option)
            verdicts = list(steadiness(done).values())
            holds, said = not is_drifting(verdicts), [length.said(verdicts)]
            if holds:
                break
        plan = longer.plan
    else:
        done, runs, packets = _execute(spec, out, trace, engine, until, runners, option)
        plan = spec.plan
        if until:
            holds, said = verdict(until, done)
            plan = replace(spec, repeat=len(done.seeds)).plan
    wall_s = time.perf_counter() - start
    _print(done, [*said, *facts(done, plan, runs, packets, wall_s)], as_json, asked)
    if as_json and not holds:
        print(*said, sep="\n", file=sys.stderr)
    return holds


class OtherProgramError(UserError):
    """Another build of fullpipe, or other code of the user's, made a sweep; the text has the fix."""


class FewerSeedsError(UserError):
    """A kept sweep has more seeds than the user asks for; the text has the fix."""


def is_kept(name: str) -> bool:
    """Returns whether an argument names the directory or the URL of a kept sweep."""
    return objects.is_url(name) or (Path(name) / abouts.SWEEP).is_file()


def again(
    place: str,
    *,
    repeat: int | None,
    trace: str | None,
    engine: Engine,
    as_json: bool = False,
    asked: Sequence[str] = (),
    loaded: Sequence[str] = (),
) -> bool:
    """Executes the missing runs of a kept sweep, as :func:`sweep` does; a finished one only prints its results.

    Args:
        place: The directory or URL.
        repeat: The number of seeds; None for the kept one, which it must not be below.
        trace: The trace level; None for the kept one.
        engine: Where the runs execute.
        as_json: Whether to print JSON.
        asked: The metrics to show.
        loaded: The runners of the user's that were loaded for it.

    Raises:
        FewerSeedsError: When it has more seeds.
        OtherProgramError: When another build or another code made the runs, and some are missing.
        ScenarioError: When an algorithm of it is not here.
        RunnerError: When a runner of it is not here.
        DamagedError: When a file is damaged.
        OSError: When the directory can't be read or written.
    """
    directory = objects.local(place)
    about = abouts.sweep(directory)
    spec = spec_of(directory, about)
    for name in loaded:
        if name not in about["runners"]:
            raise RunnerError(
                f"--on: {place} has no runs on {name}, but on {', '.join(about['runners'])}\n  fix: leave it out"
            )
    longer = spec if repeat is None else replace(spec, repeat=repeat)
    try:
        spec.classes  # noqa: B018  (imports them)
        spec.plan.simulated()
    except ScenarioError as error:
        if SIMULATOR in about["runners"]:
            if copies := load_with(spec.algorithms, directory):
                raise OtherProgramError(
                    f"{place}: {error.problem}\n  fix: load the kept copy: {copies}"
                ) from None
            raise
    if repeat is not None and repeat < spec.plan.seeds[1]:
        raise FewerSeedsError(
            f"--repeat {repeat}: {place} has {spec.plan.seeds[1]} seeds\n  fix: write a larger number, or leave it out"
        )
    if spec.identity != about["identity"]:
        if longer is spec and "fingerprint" in about:
            shown = Sweep(directory, called=place)
            _print(
                shown,
                [f"finished; made by {in_words(about)}, and this is {in_words()}"],
                as_json,
                asked,
            )
            return True
        made_by = "a different build of fullpipe" if about.get("build") != build() else "other code"
        raise OtherProgramError(
            f"{place}: made by {in_words(about)}, which is {made_by}; this is {in_words()}\n"
            f"  fix: fullpipe verify {shlex.quote(place)} tells whether both give the same numbers; "
            "continue with that one, or make a new sweep"
        )
    level = about.get("trace", "auto")
    return sweep(
        longer,
        out=place,
        trace=trace or (None if level == "auto" else level),
        engine=engine,
        runners=[of_kept(name) for name in about["runners"]],
        as_json=as_json,
        asked=asked,
        option="",
    )


def _print(done: Sweep, lines: Sequence[str], as_json: bool, asked: Sequence[str]) -> None:
    """Prints the results of a sweep, with further lines."""
    from fullpipe.study.sweeps.show import records, show, warnings

    if as_json:
        terminal.print_alone(records(done, asked))
        return
    console = terminal.console()
    show(done, console, asked)
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    for line in warnings(done):
        console.print(line, style="yellow", markup=False, soft_wrap=True)


def _execute(
    spec: SweepSpec,
    out: str | None,
    trace: str | None,
    engine: Engine,
    until: Until | None,
    runners: Sequence[Runner],
    option: str,
) -> tuple[Sweep, int, int]:
    """Executes the missing runs; returns the data set, and the numbers of runs and packets."""
    place = out or usual_directory(until.first(spec) if until else spec)
    counter = Counter()
    with (
        telling(lambda: kept_in(place)),
        stoppable(lambda: counter.at, kept_in(place)),
        counter,
        objects.writable(place) as (directory, push),
    ):
        execution = Execution(
            directory,
            counter,
            command_line(),
            called=f"{option}{out}" if out else None,
            trace=trace,
            engine=engine,
            until=until,
            runners=runners,
            push=push,
        )
        runs, packets = execution.run(spec)
    return Sweep(directory, called=str(place)), runs, packets
