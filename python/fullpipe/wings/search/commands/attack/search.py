"""`fullpipe attack search`, or `fullpipe attack`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from fullpipe.base.toml import value_of
from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import (
    ALGORITHM,
    ENGINE,
    PARAMETER,
    PLUGIN,
    THREADS,
    Place,
    algorithms_of,
    load_plugins,
    new_place,
    parameter,
    seconds,
    seed_option,
    stack_option,
)
from fullpipe.commands.shared import PATH, shares
from fullpipe.errors import MissingExtraError, fail, user_errors
from fullpipe.study.engine import Engine
from fullpipe.wings.search.attack.goals import GOALS

Goal = StrEnum("Goal", {each.name: each.name for each in GOALS})  # type: ignore[misc]
_USUAL = Goal(GOALS[0].name)


@shares(
    (
        "the space has the scenarios; `--set` sets a parameter of the algorithm",
        [PATH, "--duration", "--set"],
    ),
    ("its argument is the algorithm", ["--cc"]),
    (
        "it tries thousands of scenarios, in simulated time",
        ["--recipe", "--programs", "--on"],
    ),
    ("it tries each scenario once, and those that it keeps with five seeds", ["--repeat"]),
)
def command(
    algorithm: Annotated[
        str,
        Argument(
            metavar="ALGORITHM",
            complete=("algorithms",),
            help=f"{ALGORITHM}.",
        ),
    ],
    goal: Annotated[
        Goal,
        Option(
            metavar="GOAL",
            help="Number to make as bad as possible. "
            + "; ".join(f"{each.name}: {each.title}" for each in GOALS)
            + ".",
        ),
    ] = _USUAL,
    than: Annotated[
        str | None,
        Option(
            metavar="ALGORITHM",
            complete=("algorithms",),
            help="Algorithm that is to fare better in the same scenario; the search looks for the largest difference.",
        ),
    ] = None,
    budget: Annotated[
        str,
        Option(metavar="TIME", help="CPU time of the search, all threads together."),
    ] = "10min",
    set_: Annotated[list[str] | None, PARAMETER] = None,
    space: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Space of scenarios as TOML, in the form of the usual one (default: paths of the Internet's edge).",
        ),
    ] = None,
    stack: Annotated[str | None, stack_option("the space's")] = None,
    without: Annotated[
        list[str] | None,
        Option(metavar="PART", help="Leave a part of the space out, like random-loss; repeatable."),
    ] = None,
    random: Annotated[
        bool,
        Option("--random", help="Draw scenarios at random, without learning: a baseline."),
    ] = False,
    worst: Annotated[
        int,
        Option(
            min=1, max=50, metavar="N", help="Number of scenarios with different parts to keep."
        ),
    ] = 5,
    seed: Annotated[int, seed_option("Seed of the search.")] = 1,
    out: Annotated[
        str | None,
        Option(
            metavar="DIR|URL",
            parser=new_place,
            help="New directory or s3://BUCKET/PREFIX for the results (default: results/attack-…).",
        ),
    ] = None,
    engine: Annotated[Place, ENGINE] = Place.LOCAL,
    threads: Annotated[int | None, THREADS] = None,
    plugin: Annotated[list[str] | None, PLUGIN] = None,
    as_json: Annotated[
        bool, Option("--json", help="Print the table as a JSON list, and nothing else.")
    ] = False,
) -> None:
    """Search scenarios for those where it does worst.

    The command tries scenarios within the bounds of a space: rates and RTTs over time, losses at
    chosen packets, jitter, held ACKs, bursts of other traffic, neighbors, queues and policers. It
    keeps the worst ones with their runs. After Ctrl-C or a crash the same command goes on where it
    ended.

    Examples:
        fullpipe attack search bbr1 --goal utilization --than cubic
        fullpipe attack copa --goal starvation --budget 5min
        fullpipe attack mine.py:Mine --goal recovery --without random-loss
    """
    params = dict(map(parameter, set_ or []))
    budget_s = seconds(budget, "--budget")
    with user_errors():
        load_plugins(plugin)
        from fullpipe.runners import refuse_kind
        from fullpipe.wings.search.attack.command import Asked, attack

        for each in filter(None, (algorithm, than)):
            refuse_kind(each, "attack search")
        [name] = algorithms_of([algorithm])
        other = algorithms_of([than])[0] if than else None
        asked = Asked(
            goal.value,
            other,
            budget_s,
            space,
            stack,
            tuple(without or ()),
            random,
            worst,
            seed,
            out,
            Engine(engine.value, threads),
            as_json,
        )
        try:
            attack(name, {key: value_of(text) for key, text in params.items()}, asked)
        except MissingExtraError as error:
            fail(error)
