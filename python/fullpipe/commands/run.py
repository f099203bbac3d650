"""`fullpipe run`."""

import json
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullpipe._core import Scenario
from fullpipe.commands.options import ON, new_directory, no_such_file, setting
from fullpipe.errors import fail, printing, stoppable, user_errors
from fullpipe.progress import Bar
from fullpipe.results import fresh_directory, fresh_file, save_run, save_runs, suited_interval
from fullpipe.run import Run, load
from fullpipe.runners import Runner, chosen

if TYPE_CHECKING:
    from fullpipe.results.qlog import Form


def command(
    scenario: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO", help="A TOML file; see `explain scenario`. Or a sweep's directory."
        ),
    ],
    point: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Of a sweep's directory, this point.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**63 - 1, help="Instead of the scenario's seed.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Instead of a value of the scenario; repeatable."
        ),
    ] = None,
    cc: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of the first flow: an algorithm, or a class of yours as my.module:Mine.",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A named path in the place of the scenario's; see `list profiles`."
        ),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="off|10ms|ack",
            help="Record every so often, or at every ACK. By itself with --out or --qlog.",
        ),
    ] = None,
    on: Annotated[str, typer.Option(metavar="RUNNER,RUNNER", help=ON)] = "sim",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=new_directory,
            help="Keep metrics, trace and a picture in a new directory.",
        ),
    ] = None,
    qlog: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the trace for qvis: .qlog is JSON, .sqlog is JSON-SEQ."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, SI units, and nothing else.")
    ] = False,
) -> None:
    """Run a scenario, in virtual time if no runner is named, and print what came of it.

    For example: fullpipe run scenarios/cubic-deep-buffer.toml --set path.rate=20mbit --out
    results/first
    """
    settings = dict(setting(text) for text in set_ or [])
    if profile is not None:
        settings["path.profile"] = profile
    if cc is not None:
        settings["flow.0.cc"] = cc
    with user_errors():
        runners = chosen(on)
        simulated = all(runner.name == "sim" for runner in runners)
        loaded = _loaded(scenario, point, seed, settings, simulated)
        _run(loaded, runners, trace=trace, out=out, qlog=qlog, as_json=as_json)


def _loaded(
    scenario: Path, point: int | None, seed: int | None, settings: dict[str, str], simulated: bool
) -> Scenario:
    """A file's scenario, or that of a sweep's point; a real sender is not given the jitter that the sweep has added."""
    from fullpipe.sweeps.dataset import Sweep

    if (scenario / "sweep.json").exists():
        if point is None:
            fail(f"{scenario} holds a sweep: say which of its points, like --point 0")
        try:
            sweep = Sweep(scenario)
            added = (
                {}
                if simulated or "send_jitter" not in sweep.about["added_jitter"]
                else {"send_jitter": "0s"}
            )
            return sweep.load(point, seed=seed, set={**added, **settings})
        except IndexError as error:
            fail(error)
    if point is not None:
        fail(f"--point {point} is for the directory of a sweep, and {scenario} is none")
    try:
        return load(scenario, seed=seed, set=settings)
    except FileNotFoundError:
        fail(no_such_file(scenario))


def _run(
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


def _form(qlog: Path, level: str, runners: Sequence[Runner]) -> "Form":
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

    from fullpipe.view.run import show, show_scenario

    console = Console(highlight=False)
    show_scenario(runs[0].scenario, console)
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
