"""`fullpipe test`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import (
    AS_JSON,
    ENGINE,
    FIRST_SEED,
    MORE_SETTINGS,
    PLUGIN,
    RECIPE,
    THREADS,
    Place,
    algorithms_of,
    load_plugins,
    load_recipes,
    new_place,
    path_options,
    repeat_option,
    seed_option,
    set_option,
    setting,
)
from fullpipe.commands.shared import shares
from fullpipe.errors import fail, user_errors
from fullpipe.study.engine import Engine

if TYPE_CHECKING:
    from fullpipe.wings.real.loadtest.plan import Plan

_MOST_REPEATS = 10_000


@shares(
    ("the test has its load; that of the test `program` is COMMAND", ["--programs"]),
)
@path_options(where="down, and up unless --profile has an uplink")
def command(
    name: Annotated[
        str | None,
        Argument(
            metavar="TEST",
            complete=("tests",),
            help="Name of the test, like rrul, from `fullpipe list tests` (default: list them).",
        ),
    ] = None,
    command: Annotated[
        list[str] | None,
        Argument(
            metavar="-- COMMAND...",
            help="For the test `program`: the program that is the load, with its arguments.",
        ),
    ] = None,
    *,
    path: list[tuple[str, str]],
    up: Annotated[
        str | None,
        Option(metavar="RATE", help="Link capacity up (default: as --rate)."),
    ] = None,
    server: Annotated[
        list[str] | None,
        Option(
            metavar="PROGRAM",
            help="Program to run at the far end of COMMAND's path, address 100.64.0.1, like 'iperf3 -s'; repeatable.",
        ),
    ] = None,
    cc: Annotated[
        str | None,
        Option(
            metavar="NAME",
            complete=("algorithms",),
            help="Algorithm of the load, from `fullpipe list algorithms`, or a Python class, like my.module:Mine "
            "(default: cubic). For COMMAND that of both ends, from `fullpipe doctor` (default: this machine's).",
        ),
    ] = None,
    flows: Annotated[
        int | None,
        Option(
            min=1,
            max=1000,
            metavar="N",
            help="Number of load flows in each direction that has any (default: the test's).",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        set_option(MORE_SETTINGS),
    ] = None,
    repeat: Annotated[
        int,
        repeat_option(
            "Number of runs, each with another seed; from 3 on the results have intervals.",
            most=_MOST_REPEATS,
        ),
    ] = 1,
    seed: Annotated[int | None, seed_option(f"{FIRST_SEED} (default: 1).")] = None,
    on: Annotated[
        str,
        Option(
            metavar="RUNNER",
            complete=("runners",),
            help="Runner to use: sim is the simulator, `fullpipe doctor` lists the others.",
        ),
    ] = "sim",
    out: Annotated[
        str | None,
        Option(
            metavar="DIR|URL",
            parser=new_place,
            help="New directory or s3://BUCKET/PREFIX for the results, and the first run with its trace. An "
            "interrupted test resumes there.",
        ),
    ] = None,
    engine: Annotated[Place, ENGINE] = Place.LOCAL,
    threads: Annotated[int | None, THREADS] = None,
    plugin: Annotated[list[str] | None, PLUGIN] = None,
    recipe: Annotated[list[Path] | None, RECIPE] = None,
    as_json: Annotated[bool, Option("--json", help=AS_JSON)] = False,
) -> None:
    r"""Measure latency under load by a canned test, as RRUL.

    Fills the path with the test's load, and compares the latency of small requests with that of the
    idle path. Prints goodput, latency, responsiveness in round trips per minute (RPM), and for calls
    the quality of the voice. The load begins after 5 s, and counts from 15 s on; in a run of less
    than 60 s both are earlier in proportion.

    Examples:
        fullpipe test rrul --profile lte
        fullpipe test rrul --rate 50mbit --up 10mbit --rtt 30ms --queue fq_codel
        fullpipe test upload --profile dsl --cc bbr3 --repeat 10
        fullpipe test voip --profile dsl --out results/call
        fullpipe test program --profile dsl --server 'iperf3 -s' \
            -- iperf3 -c 100.64.0.1 -R -t 90
    """
    from fullpipe.scenario import canned

    if name is None:
        from fullpipe.about.catalogue import names, tests

        print(names(tests()))
        return
    from fullpipe.runners import chosen
    from fullpipe.wings.real.loadtest.command import test
    from fullpipe.wings.real.loadtest.plan import plan

    with user_errors():
        chosen_test = canned.named(name)
        settings = [setting(text) for text in set_ or []]
        if chosen_test.is_program:
            given = {
                "--flows": flows,
                "--seed": seed,
                "--repeat": repeat > 1,
                "--on": on != "sim",
                "--engine": engine is not Place.LOCAL,
                "--threads": threads,
                "--plugin": plugin,
                "--recipe": recipe,
            }
            _refuse([option for option, value in given.items() if value not in (None, False)])
            code = _program(
                plan(chosen_test, path, settings, cc="cubic", up=up),
                command or [],
                server or [],
                cc=cc,
                out=out,
                as_json=as_json,
            )
            raise SystemExit(code)
        if command or server:
            fail(
                f"{name}: the test has its own load\n"
                "  fix: leave COMMAND and --server out, or run fullpipe test program"
            )
        load_plugins(plugin)
        load_recipes(recipe)
        load = algorithms_of([cc or "cubic"])
        if len(load) != 1:
            fail(
                f"--cc {cc}: the load has one algorithm\n  fix: name one, and run the test for each"
            )
        runners = chosen(on)
        if len(runners) > 1:
            fail(
                f"--on {on}: a test runs on one runner\n  fix: name one, and run the test for each"
            )
        planned = plan(
            chosen_test,
            path,
            settings,
            cc=load[0],
            flows=flows,
            up=up,
            seed=seed,
        )
        first = planned.scenario.seed
        test(
            planned,
            runners[0],
            range(first, first + repeat),
            cc=load[0],
            out=out,
            as_json=as_json,
            engine=Engine(engine.value, threads),
        )


def _program(
    planned: "Plan",
    command: list[str],
    server: list[str],
    *,
    cc: str | None,
    out: str | None,
    as_json: bool,
) -> int:
    """Runs the test of a program; returns its exit code."""
    import shlex

    from fullpipe.wings.real.loadtest.program import test_program

    if not command:
        fail(
            "program: the program is missing\n"
            "  fix: name it behind --, like fullpipe test program --server 'iperf3 -s' -- iperf3 -c 100.64.0.1"
        )
    try:
        servers = [shlex.split(text) for text in server]
    except ValueError as error:
        fail(f"--server: {error}\n  fix: close the quotes")
    if [] in servers:
        fail("--server: the program is missing\n  fix: name one, like 'iperf3 -s'")
    return test_program(planned, command, servers, cc=cc, out=out, as_json=as_json)


def _refuse(given: list[str]) -> None:
    """Refuses options that a program's test does not have."""
    if given:
        fail(
            f"{given[0]}: the load of the test program is COMMAND, which runs once in real time\n"
            f"  fix: leave {given[0]} out"
        )
