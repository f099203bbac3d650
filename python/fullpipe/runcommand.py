"""`fullpipe run`: runs a scenario on one runner or several, and prints what came of it, side by side."""

from __future__ import annotations

import json
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from fullpipe.errors import fail, printing, stoppable
from fullpipe.progress import Bar
from fullpipe.results import fresh_directory, fresh_file, save_run, save_runs, suited_interval
from fullpipe.run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from fullpipe._core import Scenario
    from fullpipe.results.qlog import Form
    from fullpipe.runners import Runner


def run(
    scenario: Scenario,
    runners: Sequence[Runner],
    *,
    trace: str | None,
    out: Path | None,
    qlog: Path | None,
    as_json: bool,
) -> None:
    """Runs it on one after the other. What any of them refuses is refused before the first begins.

    Raises:
        ScenarioError: When a runner refuses the scenario.
        OSError: When something can't be written.
    """
    level = trace or (suited_interval(scenario) if out or qlog else "off")
    form = _form(qlog, level, runners) if qlog else None
    for runner in runners:
        runner.refuse(scenario, level)
    done: list[Run] = []
    walls_s: list[float] = []
    bar = Bar()
    with (
        stoppable(lambda: bar.at),
        fresh_directory(out, called=f"--out {out}") if out else nullcontext() as aside,
        fresh_file(qlog, called=f"--qlog {qlog}") if qlog else nullcontext() as log,
    ):
        for runner in runners:
            start = time.perf_counter()
            bar = Bar("simulating" if runner.name == "sim" else f"running on {runner.name}")
            with bar:
                done.append(Run(scenario, runner.execute(scenario, level, bar)))
            walls_s.append(time.perf_counter() - start)
        if aside:
            if len(done) == 1:
                save_run(done[0], aside)
            else:
                save_runs(done, aside)
        if log and form:
            from fullpipe.results.qlog import of_run, write_into

            write_into(log, of_run(done[0]), form)
    with printing():
        if as_json:
            print(
                json.dumps(done[0].metrics if len(done) == 1 else [each.metrics for each in done])
            )
        else:
            _show(done, walls_s, out, qlog)


def _form(qlog: Path, level: str, runners: Sequence[Runner]) -> Form:
    from fullpipe.results.qlog import QlogError, form_of

    if level == "off":
        fail(
            "--qlog needs a trace, and --trace off makes none\n  fix: leave --trace out, or say how often: --trace 10ms"
        )
    if len(runners) > 1:
        fail(
            "--qlog is one file, and a run on each runner has its own\n  fix: keep them with --out, then fullpipe qlog"
        )
    try:
        return form_of(qlog)
    except QlogError as error:
        fail(f"--qlog {error}")


def _show(
    runs: Sequence[Run], walls_s: Sequence[float], out: Path | None, qlog: Path | None
) -> None:
    from rich.console import Console

    from fullpipe.view.table import show

    console = Console(highlight=False)
    _show_path(runs[0].scenario, console)
    show(runs, console, walls_s)
    if out:
        kept = "metrics, trace and picture.png" if runs[0].has_trace else "metrics"
        where = (
            f"{out}"
            if len(runs) == 1
            else f"{out}, a folder each; for a page of them: fullpipe report {out}"
        )
        console.print(f"{kept} kept in {where}", markup=False, soft_wrap=True)
    if qlog:
        console.print(f"qlog in {qlog}", markup=False, soft_wrap=True)


def _show_path(scenario: Scenario, console: Console) -> None:
    """Prints what is run."""
    from fullpipe.view.table import rate_text

    title = f": {scenario.title}" if scenario.title else ""
    console.print(f"{scenario.file}{title}", style="bold", markup=False)
    if scenario.profile:
        name, values = scenario.profile
        given = ", ".join(
            f"{key.removeprefix('path.').replace('.N', '')} {value.strip(chr(34))}"
            for key, value in values
        )
        console.print(f"profile {name}: {given}", style="dim", markup=False)
    if len(scenario.links) > 1:
        about = dict.fromkeys(scenario.varying_links, "on average ")
        rates = ", ".join(
            f"{name} {about.get(name, '')}{rate_text(bps)}" for name, bps in scenario.links
        )
        console.print(f"links: {rates}", style="dim", markup=False)
