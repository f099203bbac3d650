"""The command `fullpipe`.

What is slow to import (numpy, polars, matplotlib, rich) is imported where it is used, so that `--help` is quick.
"""

import os
import re
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from fullpipe import Scenario, Sweep, __version__, _core, load
from fullpipe.errors import fail, heed_signals, kindly, printing
from fullpipe.report import Form, write_report
from fullpipe.runners import chosen
from fullpipe.runners import runner as one_runner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fullpipe.catalogue import Entry

app = typer.Typer(
    help="A laboratory for congestion control: one scenario in, metrics, trace and picture out.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: rich would take longer to load than all the rest
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Runs the command.

    Exit codes: 0 done, 1 what was checked did not hold, 2 wrong use or input, 128 + n ended by signal n (130 Ctrl-C).
    """
    heed_signals()
    with printing():
        app()


def _directory(text: str) -> Path:
    if not text.strip():
        raise typer.BadParameter("name a directory that is new or empty")
    return Path(text)


_ON = "What it runs on: sim, the simulator, or others that `fullpipe doctor` names; several side by side."
_ON_ONE = "What it runs on, as for `run`; what that can't do is skipped."


class Kind(StrEnum):
    """What can be listed."""

    ALGORITHMS = "algorithms"
    QUEUES = "queues"
    IMPAIRMENTS = "impairments"
    PROFILES = "profiles"


class Engine(StrEnum):
    """Where the runs of a sweep go on."""

    LOCAL = "local"
    RAY = "ray"


@app.command("run")
def run_command(
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO", help="A TOML file; see `explain scenario`. Or a sweep's directory.")
    ],
    point: Annotated[int | None, typer.Option(min=0, metavar="N", help="Of a sweep's directory, this point.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=2**63 - 1, help="Instead of the scenario's seed.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Instead of a value of the scenario; repeatable."),
    ] = None,
    cc: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of the first flow: an algorithm, or a class of yours as my.module:Mine."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A named path in the place of the scenario's; see `list profiles`."),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="off|10ms|ack", help="Record every so often, or at every ACK. By itself with --out or --qlog."
        ),
    ] = None,
    on: Annotated[str, typer.Option(metavar="RUNNER,RUNNER", help=_ON)] = "sim",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=_directory, help="Keep metrics, trace and a picture in a new directory."),
    ] = None,
    qlog: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the trace for qvis: .qlog is JSON, .sqlog is JSON-SEQ.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, SI units, and nothing else.")] = False,
) -> None:
    """Run a scenario, in virtual time if no runner is named, and print what came of it.

    For example: fullpipe run scenarios/cubic-deep-buffer.toml --set path.rate=20mbit --out results/first
    """
    from fullpipe.runcommand import run

    settings = dict(_setting(text) for text in set_ or [])
    if profile is not None:
        settings["path.profile"] = profile
    if cc is not None:
        settings["flow.0.cc"] = cc
    with kindly():
        runners = chosen(on)
        simulated = all(runner.name == "sim" for runner in runners)
        loaded = _loaded(scenario, point, seed, settings, simulated)
        run(loaded, runners, trace=trace, out=out, qlog=qlog, as_json=as_json)


@app.command("sweep")
def sweep_command(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="A TOML file; its [sweep] may say what varies.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=A,B", help="Values to run with, or one for all, or a range; repeatable."),
    ] = None,
    repeat: Annotated[int | None, typer.Option(min=1, metavar="N", help="Runs of each point, a seed each.")] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="RULE", help='Repeat until "ci(goodput) < 2%" or so, --repeat at a time; else exit code 1.'
        ),
    ] = None,
    most: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="With --until: no more runs of each point; 1000.")
    ] = None,
    zip_: Annotated[
        str | None, typer.Option("--zip", metavar="KEY,KEY", help="Vary these together, not in every combination.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Draw so many points, from ranges like 1ms..1s log too.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=2**63 - 1, help="The first seed.")] = None,
    trace: Annotated[
        str | None,
        typer.Option(metavar="off|10ms|ack", help="Record each point's first seed; by itself for 12 points at most."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=_directory, help="Keep all in this directory, or go on with what it has."),
    ] = None,
    engine: Annotated[
        Engine, typer.Option(help="Threads here, or a Ray cluster: RAY_ADDRESS, or one on this machine.")
    ] = Engine.LOCAL,
    threads: Annotated[int | None, typer.Option(min=1, metavar="N", help="Runs side by side; a core each.")] = None,
    on: Annotated[str, typer.Option(metavar="RUNNER,RUNNER", help=_ON)] = "sim",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the table as a list, SI units, and nothing else.")
    ] = False,
) -> None:
    """Run a scenario at many points, with many seeds, into a data set; what is there already is not run again.

    For example: fullpipe sweep scenarios/ten-cubic.toml --set path.buffer=0.25bdp,1bdp,8bdp --repeat 30
    """
    from fullpipe.run import read
    from fullpipe.sweeps.command import sweep
    from fullpipe.sweeps.plan import Recipe

    if most is not None and until is None:
        fail('--most is for --until\n  fix: say --until "ci(goodput) < 2%" too, or --repeat instead')
    from fullpipe.stats import RuleError
    from fullpipe.sweeps.until import asked

    with kindly():
        try:
            text, file = read(scenario)
        except FileNotFoundError:
            fail(_no_such_file(scenario))
        recipe = Recipe(
            text,
            file,
            given=[_setting(text) for text in set_ or []],
            together=[key.strip() for key in (zip_ or "").split(",") if key.strip()],
            sample=sample,
            repeat=repeat,
            seed=seed,
        )
        try:
            rule = asked(until, recipe, most) if until is not None else None
            holds = sweep(
                recipe,
                out=out,
                trace=trace,
                engine=engine.value,
                threads=threads,
                until=rule,
                runners=chosen(on),
                as_json=as_json,
            )
        except RuleError as error:
            fail(f"--until: {error}")
    if not holds:
        raise typer.Exit(1)


@app.command("compare")
def compare_command(
    algorithms: Annotated[list[str], typer.Argument(metavar="ALGORITHM...", help="Two or more; see `list`.")],
    rate: Annotated[str | None, typer.Option(metavar="RATE", help="Of the bottleneck; 100mbit if not given.")] = None,
    rtt: Annotated[str | None, typer.Option(metavar="TIME", help="Without queueing; 50ms if not given.")] = None,
    buffer: Annotated[str | None, typer.Option(metavar="SIZE", help="Like 8bdp; 1bdp if not given.")] = None,
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="See `list queues`; pfifo if not given.")] = None,
    profile: Annotated[str | None, typer.Option(metavar="NAME", help="A named path; see `list profiles`.")] = None,
    duration: Annotated[str | None, typer.Option(metavar="TIME", help="Of a run; 60s, measured from 10s on.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other key of a scenario; repeatable.")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each, a seed each.")] = 10,
    seed: Annotated[int | None, typer.Option(min=0, max=2**63 - 1, help="The first seed.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=_directory, help="Keep all there, not in results/; or go on with it."),
    ] = None,
    on: Annotated[str, typer.Option(metavar="RUNNER,RUNNER", help=_ON)] = "sim",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")] = False,
) -> None:
    """Compare algorithms on one path: each alone, then all together; what differs is said with its interval.

    For example: fullpipe compare cubic bbr1 bbr3 --rate 100mbit --rtt 50ms --buffer 8bdp --repeat 30
    """
    from fullpipe.comparison.command import compare
    from fullpipe.comparison.plan import TooFewError, plan

    given = {"path.profile": profile, "duration": duration, "path.rate": rate, "path.rtt": rtt, "path.buffer": buffer}
    given |= {"path.queue": queue}
    settings = [(key, value) for key, value in given.items() if value is not None]
    try:
        with kindly():
            settings += [_setting(text) for text in set_ or []]
            compare(plan(algorithms, settings, repeat, seed), out=out, runners=chosen(on), as_json=as_json)
    except TooFewError as error:
        fail(error)


@app.command("link")
def link_command(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND...", help="What runs behind the path; a shell if not given."),
    ] = None,
    rate: Annotated[str | None, typer.Option(metavar="RATE", help="Both ways; 100mbit if not given.")] = None,
    up: Annotated[str | None, typer.Option(metavar="RATE", help="Of what COMMAND sends, if it differs.")] = None,
    rtt: Annotated[str | None, typer.Option(metavar="TIME", help="Without queueing; 50ms if not given.")] = None,
    buffer: Annotated[str | None, typer.Option(metavar="SIZE", help="Like 2bdp; 1bdp if not given.")] = None,
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="See `list queues`; pfifo if not given.")] = None,
    loss: Annotated[str | None, typer.Option(metavar="LOSS", help="Like 1%; see `list impairments`.")] = None,
    profile: Annotated[str | None, typer.Option(metavar="NAME", help="A named path; see `list profiles`.")] = None,
    scenario: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The path of a TOML file: the way of its first flow.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other key of a scenario; repeatable.")
    ] = None,
    far: Annotated[
        list[str] | None,
        typer.Option(metavar="PROGRAM", help="Runs at the far end, which is 100.64.0.1, like 'iperf3 -s'; repeatable."),
    ] = None,
    upload: Annotated[
        bool, typer.Option("--upload", help="The scenario's data are what COMMAND sends, not what it gets.")
    ] = False,
    uplink: Annotated[
        bool, typer.Option("--uplink", help="The outside can be reached, by programs that heed ALL_PROXY.")
    ] = False,
    live: Annotated[bool, typer.Option("--live", help="Print a line a second: rate, queue, drops.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=_directory, help="Keep a report and captures (pcapng) in a new directory."),
    ] = None,
) -> None:
    """Run any program behind an emulated path, in real time; its exit code is the program's.

    For example: fullpipe link --rate 20mbit --rtt 40ms --buffer 2bdp --far 'iperf3 -s' -- iperf3 -c 100.64.0.1 -R
    """
    import shlex

    from fullpipe.link.command import link
    from fullpipe.link.path import OptionError, path

    given = {"rate": rate, "rtt": rtt, "buffer": buffer, "queue": queue, "loss": loss}
    try:
        programs = [shlex.split(text) for text in far or []]
    except ValueError as error:
        fail(f"--far: {error}\n  fix: close the quotes")
    if [] in programs:
        fail("--far: no program\n  fix: name one, like 'iperf3 -s'")
    try:
        with kindly():
            of_path = path(
                {key: value for key, value in given.items() if value is not None},
                dict(_setting(text) for text in set_ or []),
                up=up,
                profile=profile,
                file=scenario,
            )
            code = link(of_path, command or [], programs, upload=upload, uplink=uplink, live=live, out=out)
    except OptionError as error:
        fail(error)
    raise typer.Exit(code)


@app.command("check")
def check_command(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="TOML files, or folders of them.")],
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each scenario, a seed each.")] = 5,
    seed: Annotated[int | None, typer.Option(min=0, max=2**63 - 1, help="The first seed.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit's XML, too, for CI.")] = None,
    on: Annotated[str, typer.Option(metavar="RUNNER,RUNNER", help=_ON)] = "sim",
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of the conditions, and nothing else.")] = False,
) -> None:
    """Run scenarios and say whether they come to what they `expect`. Exit code 1 when one does not.

    For example: fullpipe check scenarios --repeat 10 --junit check.xml
    """
    from fullpipe.checks.command import check_all

    with kindly():
        met = check_all(paths, repeat=repeat, seed=seed, junit=junit, runners=chosen(on), as_json=as_json)
    raise typer.Exit(0 if met else 1)


@app.command("reproduce")
def reproduce_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What a file of published/ calls itself, or its path.")],
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs of each case, instead of the file's.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", parser=_directory, help="Keep the results in a new directory, not in results/NAME-NNN."
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Only cases that fit, like K1 or '3MB_*'; repeatable."),
    ] = None,
    variants: Annotated[bool, typer.Option("--variants", help="Count what the file's variants meet, too.")] = False,
    on: Annotated[str, typer.Option(metavar="RUNNER", help=_ON_ONE)] = "sim",
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of the cells, and nothing else.")] = False,
) -> None:
    """Run what others published, and compare cell by cell, claim by claim. Exit code 1 when one is missed.

    For example: fullpipe reproduce microsoft
    """
    from fullpipe.reproduce.command import reproduce
    from fullpipe.reproduce.reader import PublishedError

    try:
        with kindly():
            met = reproduce(
                name,
                seeds=seeds,
                cases=case or (),
                out=out,
                as_json=as_json,
                variants=variants,
                runner=one_runner(on),
            )
    except PublishedError as error:
        fail(error)
    if not met:
        raise typer.Exit(1)


@app.command("validate")
def validate_command(
    cell: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Only cells that fit, like 'bbr-*' or '*-loss'; repeatable."),
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            metavar="RUNNER", help="What is held against Linux: sim, or another; in real time a part of the cells."
        ),
    ] = "sim",
    seeds: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Runs of a cell in which chance has a part: 10 simulated, 3 on others."),
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Run Linux's own TCP first, and keep what it does (needs make oracle).")
    ] = False,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=_directory,
            help="Run each cell traced, on Linux, too (needs make oracle), and keep a page of each in a new directory.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all numbers, with intervals, as Markdown.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of the numbers, and nothing else.")] = False,
) -> None:
    """Hold the simulator against what Linux's own TCP did. Exit code 1 when less than 90 % of the cells are met.

    For example: fullpipe validate --cell 'cubic-*'
    """
    from fullpipe.reproduce.reader import PublishedError
    from fullpipe.validate.command import validate

    try:
        with kindly():
            enough = validate(
                cell or (),
                runner=one_runner(on),
                seeds=seeds,
                record=record,
                traces=traces,
                out=out,
                as_json=as_json,
            )
    except PublishedError as error:
        fail(error)
    if not enough:
        raise typer.Exit(1)


@app.command("conformance")
def conformance_command(
    algorithm: Annotated[str, typer.Argument(metavar="ALGORITHM", help="See `list algorithms`.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the algorithm; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="The seed of everything random.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", parser=_directory, help="Keep scenarios, traces, pictures and table in a new directory."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of the conditions, and nothing else.")] = False,
) -> None:
    """Run the 22 test cases of the BBR draft. Exit code 1 when a condition is missed.

    For example: fullpipe conformance bbr3 --set profile=linux
    """
    from fullpipe.conformance import RefusedError, conformance

    params = dict(_setting(text) for text in set_ or [])
    try:
        with kindly():
            met = conformance(algorithm, params=params, seed=seed, out=out, as_json=as_json)
    except RefusedError as error:
        fail(error)
    if not met:
        raise typer.Exit(1)


@app.command("report")
def report_command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="What a run, a sweep or reproduce has kept.")],
    form: Annotated[Form, typer.Option("--format", help="A page, Markdown, a PDF, or pictures alone.")] = Form.HTML,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to, instead of report.html and so on in DIR.")
    ] = None,
) -> None:
    """Make one page of kept results: summary in words, tables, charts, and the command that replays each run.

    For example: fullpipe report results/first
    """
    from fullpipe.report.kept import NoResultsError

    with kindly():
        try:
            made = write_report(directory, form, out)
        except NoResultsError as error:
            fail(error)
    typer.echo(f"{made}")


@app.command("qlog")
def qlog_command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="What `run --out` has kept.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new one: .qlog is JSON, .sqlog is JSON-SEQ.")],
    flow: Annotated[str | None, typer.Option(metavar="NAME", help="This flow alone.")] = None,
) -> None:
    """Write a kept trace as qlog 0.3, for qvis.

    For example: fullpipe qlog results/first first.qlog
    """
    from fullpipe.qlog import QlogError, of_kept, write

    with kindly():
        try:
            typer.echo(f"{write(of_kept(directory), file, flow=flow)}")
        except QlogError as error:
            fail(error)


@app.command("doctor")
def doctor_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")] = False,
) -> None:
    """Say what this machine can run a scenario on, and how to mend what it can't. Changes nothing.

    For example: fullpipe doctor
    """
    from fullpipe import doctor

    if as_json:
        typer.echo(doctor.records())
        return
    from rich.console import Console

    doctor.show(Console(highlight=False))


@app.command("list")
def list_command(kind: Annotated[Kind, typer.Argument(help="What to list.")]) -> None:
    """List what a scenario can name, the exact name first."""
    from fullpipe.catalogue import names

    width = get_terminal_size().columns if os.isatty(1) else None  # for other programs, a line each
    listed: dict[Kind, Callable[[], Sequence[Entry]]] = {
        Kind.ALGORITHMS: _core.algorithms,
        Kind.QUEUES: _core.queues,
        Kind.IMPAIRMENTS: _core.impairments,
        Kind.PROFILES: _core.profiles,
    }
    typer.echo(names(listed[kind](), width))


@app.command("explain")
def explain_command(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="What `list` lists, a key like path.rate, or `scenario`."),
    ],
) -> None:
    """Explain an algorithm, a queue, an impairment, a profile, or the keys of a scenario."""
    from rich.console import Console

    from fullpipe.catalogue import UnknownNameError, explain

    try:
        paragraphs = list(explain(name))
    except UnknownNameError as error:
        fail(error)
    console = Console(highlight=False)
    with console.capture() as printed:
        for paragraph in paragraphs:
            console.print(paragraph)
    typer.echo(re.sub(r" +((?:\x1b\[[0-9;]*m)*)$", r"\1", printed.get(), flags=re.MULTILINE), nl=False)  # no padding


@app.command("schema")
def schema_command() -> None:
    """Print the JSON schema of a scenario, for editors."""
    typer.echo(_core.schema(), nl=False)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"fullpipe {__version__}")
        raise typer.Exit


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise typer.BadParameter(f"{text!r} is not KEY=VALUE, like path.rate=20mbit", param_hint="--set")
    return key.strip(), value.strip()


def _loaded(scenario: Path, point: int | None, seed: int | None, settings: dict[str, str], simulated: bool) -> Scenario:
    """A file's scenario, or that of a sweep's point; a real sender is not given the jitter that the sweep has added."""
    if (scenario / "sweep.json").exists():
        if point is None:
            fail(f"{scenario} holds a sweep: say which of its points, like --point 0")
        try:
            sweep = Sweep(scenario)
            added = {} if simulated or "send_jitter" not in sweep.about["added_jitter"] else {"send_jitter": "0s"}
            return sweep.load(point, seed=seed, set={**added, **settings})
        except IndexError as error:
            fail(error)
    if point is not None:
        fail(f"--point {point} is for the directory of a sweep, and {scenario} is none")
    try:
        return load(scenario, seed=seed, set=settings)
    except FileNotFoundError:
        fail(_no_such_file(scenario))


def _no_such_file(path: Path) -> str:
    there = [str(file) for directory in (path.parent, Path("scenarios")) for file in sorted(directory.glob("*.toml"))]
    near = get_close_matches(str(path), there, n=1) or [file for file in there if Path(file).stem == path.stem]
    fix = f"did you mean {near[0]}?" if near else "name a TOML file; `fullpipe explain scenario` says what is in one"
    return f"{path}: no such file\n  fix: {fix}"
