"""`fullpipe attack shrink`."""

from pathlib import Path
from typing import Annotated

from fullpipe.algorithms import resolve
from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import (
    AS_JSON,
    CC,
    ENGINE,
    PLUGIN,
    THREADS,
    Place,
    algorithms_of,
    load_plugins,
    named_file,
    no_such_file,
    path_options,
    repeat_option,
    seconds,
    set_option,
    setting,
)
from fullpipe.commands.shared import STORE, shares
from fullpipe.errors import fail, user_errors
from fullpipe.study.engine import Engine


@shares(
    (
        "it tries hundreds of scenarios, in simulated time",
        ["--recipe", "--programs", "--on"],
    ),
    ("the conditions hold with each of the seeds from 1 on", ["--seed"]),
    ("its result is one file", [STORE]),
)
@path_options(instead="the scenario's")
def command(
    scenario: Annotated[
        str,
        Argument(
            metavar="SCENARIO|DIR|URL",
            complete=("scenarios", "files"),
            help="Scenario as a TOML file, or the directory or URL of a kept run.",
        ),
    ],
    *,
    path: list[tuple[str, str]],
    keep: Annotated[
        list[str] | None,
        Option(
            metavar="CONDITION",
            help="Condition that must still hold, like 'goodput < 10%' (of the first flow and the link's rate), "
            "'late.rtt.p95 > 4rtt' or 'jain < 0.6'; repeatable (default: that the scenario misses one of its own).",
        ),
    ] = None,
    unlike: Annotated[
        str | None,
        Option(
            metavar="ALGORITHM",
            complete=("algorithms",),
            help="Algorithm with which the first flow must fail the conditions.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, set_option("Override a scenario key, like path.rate=20mbit; repeatable.")
    ] = None,
    cc: Annotated[str | None, CC] = None,
    seeds: Annotated[
        int,
        repeat_option("Number of seeds with which the conditions must hold.", usual="--seeds"),
    ] = 5,
    least: Annotated[
        str | None,
        Option(
            metavar="TIME",
            help="Time that is measured at least (default: the longer of 5 s and 50 RTTs).",
        ),
    ] = None,
    title: Annotated[
        str | None, Option(metavar="TEXT", help="First line of the result, a comment.")
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            parser=named_file,
            help="File for the result (default: print it). An interrupted command resumes there.",
        ),
    ] = None,
    engine: Annotated[Place, ENGINE] = Place.LOCAL,
    threads: Annotated[int | None, THREADS] = None,
    plugin: Annotated[list[str] | None, PLUGIN] = None,
    as_json: Annotated[bool, Option("--json", help=AS_JSON)] = False,
) -> None:
    """Shorten a scenario while conditions hold.

    The command removes flows, changes, keys and seconds, and rounds values, as long as the
    conditions hold with every seed. The result is a scenario of a few lines with the conditions as
    `expect`: a regression test for `fullpipe check`. A scenario without randomness is run at
    slightly different start times, so that no coincidence is kept.

    Examples:
        fullpipe attack shrink worst.toml --keep 'goodput < 10%' --unlike cubic
        fullpipe attack shrink failed.toml --out regression.toml
    """
    least_s = seconds(least, "--least") if least else None
    with user_errors():
        load_plugins(plugin)
        from fullpipe.wings.search.attack.shrink.command import Asked, shrink

        other = algorithms_of([unlike])[0] if unlike else None
        settings = [*path, *(setting(text) for text in set_ or [])]
        settings += [] if cc is None else [("flow.0.cc", resolve.name_of(cc))]
        try:
            where = Engine(engine.value, threads)
            asked = Asked(keep or (), other, settings, seeds, least_s, title, out, as_json, where)
            shrink(scenario, asked)
        except FileNotFoundError:
            fail(no_such_file(Path(scenario)))
