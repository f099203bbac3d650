"""`fullpipe test`: runs a canned test with each seed, prints its results, and keeps them."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fullpipe._core import ScenarioError, __version__
from fullpipe.algorithms.resolve import code, described
from fullpipe.base import terminal
from fullpipe.base.build import build
from fullpipe.base.progress import Bar, Counter, Intervals
from fullpipe.errors import printing
from fullpipe.results import disk
from fullpipe.results.about import TEST
from fullpipe.results.sums import SUMS, in_name, is_whole_directory
from fullpipe.run import Run
from fullpipe.runners import refuse_kinds
from fullpipe.study.checkpoint import Runs, new_results
from fullpipe.study.engine import HERE
from fullpipe.study.execute import refuse_engine, repeat
from fullpipe.study.repeated import Repeated, Setup
from fullpipe.wings.real.loadtest.measure import measure
from fullpipe.wings.real.loadtest.plan import PlanError
from fullpipe.wings.real.loadtest.show import Outcome, record, show
from fullpipe.wings.real.loadtest.show import about as about_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.runners import Runner
    from fullpipe.study.checkpoint import Checkpoint
    from fullpipe.study.engine import Engine
    from fullpipe.wings.real.loadtest.measure import Numbers
    from fullpipe.wings.real.loadtest.plan import Plan

_RUN = "run"
"""The first run among the finished ones: its folder, and its key."""


def test(
    plan: Plan,
    runner: Runner,
    seeds: Sequence[int],
    *,
    cc: str,
    out: str | None,
    as_json: bool,
    engine: Engine = HERE,
) -> None:
    """Runs a test and prints its results.

    Args:
        plan: The test's scenario.
        runner: The runner.
        seeds: The seeds; the run of the first one is kept.
        cc: The algorithm of the load.
        out: A new directory, or the URL of an object store, for the results. Finished runs are kept next to it until it
            is complete.
        as_json: Whether to print one JSON object instead of tables.
        engine: Where the runs of the other seeds execute; that of the first one is kept, and executes here.

    Raises:
        ScenarioError: When the runner refuses the scenario.
        OSError: When the directory can't be written.
    """
    start = time.perf_counter()
    refuse_engine(engine, [runner])
    _refuse(plan, runner)
    what = "simulating" if runner.name == "sim" else f"running on {runner.name}"
    doing: Bar | Counter
    doing = bar = Intervals(what) if runner.real_time and not as_json else Bar(what)
    about = _about(plan, runner, cc, seeds) if out else {}
    with new_results(out, about, lambda: doing.at) as (aside, so_far):
        with bar:
            first = _first(plan, runner, bar, so_far)
        others: Sequence[Numbers] = ()
        if len(seeds) > 1:
            doing = counter = Counter()
            with counter:
                others = _others(plan, runner, seeds[1:], counter, so_far, engine)
        outcome = Outcome(plan, runner.name, cc, seeds, [first.numbers, *others])
        if aside and so_far:
            so_far.move(_RUN, aside)
            disk.remove(aside / SUMS)  # the directory has more files
            disk.write(aside / TEST, json.dumps(about_of(outcome), indent=1) + "\n")
    with printing():
        if as_json:
            terminal.print_alone(record(outcome))
            return
        _print(outcome, first.warnings, out, time.perf_counter() - start)


def _refuse(plan: Plan, runner: Runner) -> None:
    """Checks whether the runner can run the test.

    Raises:
        ScenarioError: When it can't.
        PlanError: When it can't because of the calls.
    """
    try:
        refuse_kinds(runner, plan.scenario)
        runner.refuse(plan.scenario, plan.trace)
    except ScenarioError as error:
        if plan.test.calls and "none" in (error.value or ""):
            raise PlanError(
                f"{plan.test.name}: --on {runner.name} has no voice, which reacts to no loss\n"
                "  fix: leave --on out, or choose a test without a call, like upload"
            ) from error
        raise


def _about(plan: Plan, runner: Runner, cc: str, seeds: Sequence[int]) -> dict[str, str]:
    """Returns what the runs depend on, by names for messages."""
    return {
        "fullpipe": f"{__version__}, {build()}",
        "the test": plan.test.name,
        "its scenario": in_name(plan.scenario.to_toml().encode()),
        "the source of its algorithm": in_name(code([cc], described([cc]))),
        "--repeat": str(len(seeds)),
        "--on": runner.name,
    }


class _First(NamedTuple):
    """The kept parts of the first run, in addition to its files."""

    warnings: list[str]
    numbers: Numbers


def _first(plan: Plan, runner: Runner, bar: Bar, so_far: Checkpoint | None) -> _First:
    """Runs the first seed and keeps its run, unless that is there already."""
    key = (_RUN,)
    if so_far and is_whole_directory(so_far.folder(_RUN)) and (there := so_far.get(key)):
        return _First(**there)
    run = Run(plan.scenario, runner.execute(plan.scenario, plan.trace, bar), plan.trace)
    first = _First(run.metrics["warnings"], measure(plan, run))
    if so_far:
        disk.remove_folder(so_far.folder(_RUN))
        run.save(so_far.folder(_RUN))
        so_far.add(key, first._asdict())
    return first


def _others(
    plan: Plan,
    runner: Runner,
    seeds: Sequence[int],
    counter: Counter,
    so_far: Checkpoint | None,
    engine: Engine,
) -> Sequence[Numbers]:
    """Runs the other seeds, without those that are there already."""
    setup = Setup(plan.text, plan.test.name, tuple(plan.settings))
    job = Repeated(setup, seeds, plan.trace, partial(measure, plan))
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        counter.show(done, 0)

    known: Runs[Numbers] | None = Runs(so_far, [()], dict, dict) if so_far else None
    counter.begin(len(seeds), 0)
    return repeat([job], tick, runner, known, engine)[0]


def _print(outcome: Outcome, warnings: Sequence[str], out: str | None, wall_s: float) -> None:
    from fullpipe.runs.view.path import path_line

    plan = outcome.plan
    console = terminal.console()
    console.print(plan.scenario.title, style="bold", markup=False)
    console.print(path_line(plan.scenario.to_toml()), markup=False, highlight=False)
    show(outcome, console)
    for warning in warnings:
        console.print(f"warning: {warning}", style="yellow", markup=False, soft_wrap=True)
    count = len(outcome.seeds)
    seeds = f"seed {outcome.seeds[0]}" if count == 1 else f"{count} seeds"
    console.print(f"{seeds} in {wall_s:.2f} s", markup=False, highlight=False)
    if out:
        kept = "results" if count == 1 else f"results, and the run of seed {outcome.seeds[0]},"
        console.print(
            f"{kept} kept in {out}; for a report: fullpipe report {out}",
            markup=False,
            soft_wrap=True,
        )
