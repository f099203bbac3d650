"""`fullpipe check`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import FIRST_SEED, ON, seed_option
from fullpipe.errors import user_errors
from fullpipe.runners import chosen


def command(
    paths: Annotated[
        list[Path],
        Argument(
            metavar="PATH",
            complete=("scenarios", "files"),
            help="Scenarios as TOML files, or directories of them.",
        ),
    ],
    repeat: Annotated[
        int,
        Option(min=1, metavar="N", help="Number of runs of each scenario, each with another seed."),
    ] = 5,
    seed: Annotated[
        int | None,
        seed_option(f"{FIRST_SEED} (default: the scenario's seed)."),
    ] = None,
    junit: Annotated[
        Path | None,
        Option(metavar="FILE", help="File to also write the results to as JUnit XML, for CI."),
    ] = None,
    on: Annotated[str, Option(metavar="RUNNER,RUNNER", help=ON, complete=("runners",))] = "sim",
    as_json: Annotated[
        bool, Option("--json", help="Print the conditions as a JSON list, and nothing else.")
    ] = False,
) -> None:
    """Test scenarios against their `expect` conditions.

    A scenario's key `expect` lists conditions like "flow.*.goodput >= 5mbit". The command prints
    each with the measured values, and for a missed one the command that runs it again. Exit code 1
    when a condition is missed.

    Examples:
        fullpipe check scenarios/dualpi2.toml
        fullpipe check scenarios --repeat 10 --junit check.xml
    """
    from fullpipe.checks.command import check_all

    with user_errors():
        met = check_all(
            paths, repeat=repeat, seed=seed, junit=junit, runners=chosen(on), as_json=as_json
        )
    raise SystemExit(0 if met else 1)
