"""`fullpipe test`: runs a canned test with each seed, prints its results, and keeps them."""

from __future__ import annotations

import json
import time
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from fullpipe._core import ScenarioError
from fullpipe.base import terminal
from fullpipe.base.progress import Bar, Counter, Intervals
from fullpipe.errors import printing, stoppable
from fullpipe.results import disk, objects, save_run
from fullpipe.results.about import TEST
from fullpipe.run import Run
from fullpipe.runners import refuse_kinds
from fullpipe.study.engine import HERE
from fullpipe.study.execute import NOTHING, refuse_engine, repeat, telling
from fullpipe.study.repeated import Repeated, Setup
from fullpipe.wings.real.loadtest.measure import measure
from fullpipe.wings.real.loadtest.plan import PlanError
from fullpipe.wings.real.loadtest.show import Outcome, about, record, show

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.runners import Runner
    from fullpipe.study.engine import Engine
    from fullpipe.wings.real.loadtest.measure import Numbers
    from fullpipe.wings.real.loadtest.plan import Plan


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
        out: A new directory, or the URL of an object store, for the results.
        as_json: Whether to print one JSON object instead of tables.
        engine: Where the runs of the other seeds execute; that of the first one is kept, and executes here.

    Raises:
        ScenarioError: When the runner refuses the scenario.
        OSError: When the directory can't be written.
    """
    start = time.perf_counter()
    refuse_engine(engine, [runner])
    _refuse(plan, runner)
    with objects.fresh(out) if out else nullcontext() as aside:
        first, numbers = _first(plan, runner, aside, as_json=as_json)
        each = [numbers, *_others(plan, runner, seeds[1:], engine)]
        outcome = Outcome(plan, runner.name, cc, seeds, each)
        if aside:
            disk.write(aside / TEST, json.dumps(about(outcome), indent=1) + "\n")
    with printing():
        if as_json:
            print(record(outcome))
            return
        _print(outcome, first, out, time.perf_counter() - start)


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


def _first(
    plan: Plan, runner: Runner, aside: Path | None, *, as_json: bool
) -> tuple[list[str], Numbers]:
    """Runs the first seed and keeps its run; returns its warnings and its numbers."""
    what = "simulating" if runner.name == "sim" else f"running on {runner.name}"
    bar = Intervals(what) if runner.real_time and not as_json else Bar(what)
    with stoppable(lambda: bar.at), bar:
        run = Run(plan.scenario, runner.execute(plan.scenario, plan.trace, bar))
    if aside:
        save_run(run, aside)
    return run.metrics["warnings"], measure(plan, run)


def _others(plan: Plan, runner: Runner, seeds: Sequence[int], engine: Engine) -> Sequence[Numbers]:
    """Runs the other seeds."""
    if not seeds:
        return ()
    counter = Counter()
    setup = Setup(plan.text, plan.test.name, tuple(plan.settings))
    job = Repeated(setup, seeds, plan.trace, partial(measure, plan))
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        counter.show(done, 0)

    with telling(lambda: NOTHING), stoppable(lambda: counter.at), counter:
        counter.begin(len(seeds), 0)
        return repeat([job], tick, runner, engine=engine)[0]


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
