"""`fullpipe test`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import (
    AS_JSON,
    FIRST_SEED,
    MORE_SETTINGS,
    algorithms_of,
    new_directory,
    path_options,
    seed_option,
    setting,
)
from fullpipe.errors import fail, user_errors

_MOST_REPEATS = 10_000


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
    *,
    path: list[tuple[str, str]],
    up: Annotated[
        str | None,
        Option(metavar="RATE", help="Link capacity up (default: as --rate)."),
    ] = None,
    cc: Annotated[
        str,
        Option(
            metavar="NAME",
            complete=("algorithms",),
            help="Algorithm of the load, from `fullpipe list algorithms`, or a Python class, like my.module:Mine.",
        ),
    ] = "cubic",
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
        Option("--set", metavar="KEY=VALUE", complete=("settings",), help=MORE_SETTINGS),
    ] = None,
    repeat: Annotated[
        int,
        Option(
            min=1,
            max=_MOST_REPEATS,
            metavar="N",
            help="Number of runs, each with another seed; from 3 on the results have intervals.",
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
        Path | None,
        Option(
            metavar="DIR",
            parser=new_directory,
            help="New directory for the results, and the first run with its trace.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help=AS_JSON)] = False,
) -> None:
    """Measure latency under load by a canned test, as RRUL.

    Fills the path with the test's load, and compares the latency of small requests with that of the
    idle path. Prints goodput, latency, responsiveness in round trips per minute (RPM), and for calls
    the quality of the voice. The load begins after 5 s, and counts from 15 s on; in a run of less
    than 60 s both are earlier in proportion.

    Examples:
        fullpipe test rrul --profile lte
        fullpipe test rrul --rate 50mbit --up 10mbit --rtt 30ms --queue fq_codel
        fullpipe test upload --profile dsl --cc bbr3 --repeat 10
        fullpipe test voip --profile dsl --out results/call
    """
    from fullpipe import canned

    if name is None:
        from fullpipe.catalogue import names, tests

        print(names(tests()))
        return
    from fullpipe.loadtest.command import test
    from fullpipe.loadtest.plan import plan
    from fullpipe.runners import chosen

    with user_errors():
        load = algorithms_of([cc])
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
            canned.named(name),
            path,
            [setting(text) for text in set_ or []],
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
        )
