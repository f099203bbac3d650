"""`fullpipe run`."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fullpipe._core import Scenario
from fullpipe.algorithms import resolve
from fullpipe.base import terminal
from fullpipe.base.progress import Bar, Intervals
from fullpipe.commands.declare import Option
from fullpipe.commands.options import (
    CC,
    ON,
    PLUGIN,
    PROGRAMS,
    RECIPE,
    SETTING,
    UNTIL_STEADY,
    allow_programs,
    load_plugins,
    load_recipes,
    local,
    new_place,
    path_options,
    scenario_argument,
    scenario_of,
    seed_option,
    set_option,
    setting,
)
from fullpipe.commands.shared import shares
from fullpipe.errors import fail, printing, stoppable, user_errors
from fullpipe.run import Run, parse
from fullpipe.runners import Runner, chosen, refuse
from fullpipe.runs.lengths import is_drifting, lengths
from fullpipe.scenario import origin
from fullpipe.stats.sequential import RuleError

if TYPE_CHECKING:
    from fullpipe.results.qlog import Form
    from fullpipe.stats.steady import Steadiness


@shares(
    ("it runs once: `sweep` and `check` repeat a scenario", ["--repeat", "--threads", "--engine"]),
)
@path_options(instead="the scenario's")
def command(
    scenario: Annotated[
        list[str] | None,
        scenario_argument(
            "Scenario: a TOML file (`fullpipe explain scenario` lists its keys), - for standard input, a name "
            "from `fullpipe list scenarios`, or with --point the directory or URL of a sweep. Or algorithms from "
            "`fullpipe list algorithms`, or Python classes, like my.module:Mine: a flow of each on one path.",
        ),
    ] = None,
    *,
    path: list[tuple[str, str]],
    point: Annotated[
        int | None,
        Option(
            min=0,
            metavar="N",
            help="Number of the point to run, when SCENARIO is the directory of a sweep.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        seed_option("Seed of everything random (default: the scenario's seed)."),
    ] = None,
    set_: Annotated[list[str] | None, set_option(SETTING)] = None,
    cc: Annotated[str | None, CC] = None,
    trace: Annotated[
        str | None,
        Option(
            metavar="off|10ms|ack|packets",
            help="Interval between trace samples, or ack for a sample at each ACK. '10ms packets 2s..4s' also "
            "records each packet of this time. On by default with --out or --qlog.",
        ),
    ] = None,
    on: Annotated[str, Option(metavar="RUNNER,RUNNER", help=ON, complete=("runners",))] = "sim",
    out: Annotated[
        str | None,
        Option(
            metavar="DIR|URL",
            parser=new_place,
            help="New directory or s3://BUCKET/PREFIX for the metrics, the trace and a picture.",
        ),
    ] = None,
    qlog: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="New file for the trace in qlog format, which qvis shows: .qlog is JSON, .sqlog is JSON-SEQ.",
        ),
    ] = None,
    plugin: Annotated[list[str] | None, PLUGIN] = None,
    recipe: Annotated[list[Path] | None, RECIPE] = None,
    programs: Annotated[bool, PROGRAMS] = False,
    until: Annotated[str | None, UNTIL_STEADY] = None,
    as_json: Annotated[
        bool,
        Option("--json", help="Print the metrics as JSON in SI units, and nothing else."),
    ] = False,
) -> None:
    """Run one scenario and print its metrics.

    Without a scenario it runs a flow of each ALGORITHM on one path. The simulator runs it, unless
    --on names another runner. The tables show goodput, RTT, queueing delay, retransmissions and the
    limiting factor of each flow, and the utilization, drops and marks of each link.

    Examples:
        fullpipe run cubic bbr3 --rate 20mbit --queue fq_codel --duration 30s
        fullpipe run cubic-vs-bbr1 --out results/first
        fullpipe run scenarios/cubic-deep-buffer.toml --rate 20mbit
        fullpipe run scenarios/cubic-vs-bbr1.toml --on sim,kernel
    """
    with user_errors():
        load_plugins(plugin)
        load_recipes(recipe)
        allow_programs(programs)
        settings = dict(path) | dict(setting(text) for text in set_ or [])
        if cc is not None and scenario:
            settings["flow.0.cc"] = resolve.name_of(cc)
        runners = chosen(on)
        simulated = all(runner.name == "sim" for runner in runners)
        named = scenario or ([cc] if cc else [])
        place = local(named[0]) if len(named) == 1 else Path()
        load: Callable[[dict[str, str]], Scenario]
        if point is not None or (place / "sweep.json").exists():
            load = partial(_of_sweep, place, point, seed, settings, simulated)
        else:
            text, file = scenario_of(named)
            text = origin.retitled(text, settings)
            shorter = origin.warm_up(text, [*settings.items()])
            fitted = dict([*settings.items(), *([shorter] if shorter else [])])
            load = partial(_of_text, text, file, seed, fitted)
        try:
            holds = _run(
                load, runners, trace=trace, out=out, qlog=qlog, until=until, as_json=as_json
            )
        except RuleError as error:
            fail(f"--until: {error}")
    if not holds:
        raise SystemExit(1)


def _of_text(
    text: str, file: str, seed: int | None, settings: dict[str, str], also: dict[str, str]
) -> Scenario:
    return parse(text, file, seed=seed, set={**settings, **also})


def _of_sweep(
    directory: Path,
    point: int | None,
    seed: int | None,
    settings: dict[str, str],
    simulated: bool,
    also: dict[str, str],
) -> Scenario:
    """Loads the scenario of a point; a real sender goes without the sweep's `send_jitter`."""
    from fullpipe.study.sweeps.dataset import Sweep

    if not (directory / "sweep.json").exists():
        fail(f"--point {point} needs the directory of a sweep, and {directory} is not one")
    if point is None:
        fail(f"{directory} holds a sweep\n  fix: choose one of its points, like --point 0")
    try:
        sweep = Sweep(directory)
        added = (
            {}
            if simulated or "send_jitter" not in sweep.about["added_jitter"]
            else {"send_jitter": "0s"}
        )
        return sweep.load(point, seed=seed, set={**added, **settings, **also})
    except IndexError as error:
        fail(error)


def _run(
    load: Callable[[dict[str, str]], Scenario],
    runners: Sequence[Runner],
    *,
    trace: str | None,
    out: str | None,
    qlog: Path | None,
    until: str | None,
    as_json: bool,
) -> bool:
    """Runs a scenario on one runner after the other; returns False if it is still not steady, as it should be.

    Every runner may refuse it before the first begins.

    Raises:
        ScenarioError: When a runner refuses the scenario.
        OSError: When a file can't be written.
    """
    if out or qlog:
        from fullpipe.results import (
            fresh_file,
            objects,
            save_run,
            save_runs,
            suited_interval,
        )

    scenario = load({})
    tried = lengths([scenario.to_toml()], until) if until is not None else None
    length = next(tried) if tried else None
    level = trace or (suited_interval(scenario) if out or qlog else "off")
    form = _form(qlog, level, runners) if qlog else None
    done: list[Run] = []
    walls_s: list[float] = []
    bar = Bar()
    with (
        stoppable(lambda: bar.at),
        objects.fresh(out) if out else nullcontext() as aside,
        fresh_file(qlog, called=f"--qlog {qlog}") if qlog else nullcontext() as log,
    ):
        while True:
            for runner in runners:
                refuse(runner, scenario, level)
            done, walls_s = [], []
            for runner in runners:
                start = time.perf_counter()
                what = "simulating" if runner.name == "sim" else f"running on {runner.name}"
                bar = Intervals(what) if runner.real_time and not as_json else Bar(what)
                with bar:
                    done.append(Run(scenario, runner.execute(scenario, level, bar), level))
                walls_s.append(time.perf_counter() - start)
            longer = next(tried, None) if tried and is_drifting(_verdicts(done)) else None
            if longer is None:
                break
            length, scenario = longer, load(dict(longer.settings))
            level = trace or (suited_interval(scenario) if out or qlog else "off")
        if aside:
            if len(done) == 1:
                save_run(done[0], aside)
            else:
                save_runs(done, aside)
        if log and form:
            from fullpipe.results.qlog import of_run, write_into

            write_into(log, of_run(done[0]), form)
    verdicts = _verdicts(done) if length else []
    said, holds = length.said(verdicts) if length else "", not is_drifting(verdicts)
    with printing():
        if as_json:
            terminal.print_alone(
                json.dumps(done[0].metrics if len(done) == 1 else [each.metrics for each in done])
            )
            if not holds:
                print(said, file=sys.stderr)
        else:
            _show(done, walls_s, out, qlog)
            if said:
                terminal.console().print(said, markup=False)
    return holds


def _verdicts(runs: Sequence[Run]) -> "list[Steadiness]":
    from fullpipe.stats.steady import of_run

    return [of_run(each.metrics) for each in runs]


def _form(qlog: Path, level: str, runners: Sequence[Runner]) -> "Form":
    from fullpipe.results.qlog import QlogError, form_of

    if level == "off":
        fail(
            "--qlog needs a trace, and --trace off records none\n  fix: omit --trace, or give an interval: --trace 10ms"
        )
    if len(runners) > 1:
        fail(
            "--qlog writes one file, and each runner has its own trace\n"
            "  fix: keep the traces with --out, then run fullpipe trace qlog"
        )
    try:
        return form_of(qlog)
    except QlogError as error:
        fail(f"--qlog {error}")


def _show(
    runs: Sequence[Run], walls_s: Sequence[float], out: str | None, qlog: Path | None
) -> None:

    from fullpipe.runs.view.run import show, show_scenario

    console = terminal.console()
    show_scenario(runs[0].scenario, console)
    show(runs, console, walls_s)
    if out:
        kept = "metrics, trace and picture.png" if runs[0].has_trace else "metrics"
        where = (
            f"{out}"
            if len(runs) == 1
            else f"{out}, one directory each; for a report of them: fullpipe report {out}"
        )
        console.print(f"{kept} kept in {where}", markup=False, soft_wrap=True)
    if qlog:
        console.print(f"qlog in {qlog}", markup=False, soft_wrap=True)
