"""`fullpipe conformance`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import new_directory, seed_option, setting
from fullpipe.errors import fail, user_errors


def command(
    algorithm: Annotated[
        str,
        Argument(
            metavar="ALGORITHM",
            help="Version of BBR, from `fullpipe list algorithms`, or a Python class, like my.module:Mine.",
        ),
    ],
    set_: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a parameter of the algorithm, from `fullpipe explain`; repeatable.",
        ),
    ] = None,
    seed: Annotated[
        int,
        seed_option("Seed of everything random."),
    ] = 1,
    out: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            parser=new_directory,
            help="New directory for scenarios, traces, pictures and the table.",
        ),
    ] = None,
    as_json: Annotated[
        bool, Option("--json", help="Print the conditions as a JSON list, and nothing else.")
    ] = False,
) -> None:
    """Run the 22 test cases of the BBR draft on an algorithm.

    The cases are those of draft-ietf-ccwg-bbr-06, Appendix A, as simulated scenarios with numeric
    conditions. Conditions on states or fields that the algorithm does not have are skipped; an
    algorithm that has none of them is refused. Exit code 1 when a condition is missed.

    Examples:
        fullpipe conformance bbr3
        fullpipe conformance bbr3 --set profile=linux --out results/bbr3-linux
    """
    from fullpipe.conformance import RefusedError, conformance

    params = dict(setting(text) for text in set_ or [])
    try:
        with user_errors():
            met = conformance(algorithm, params=params, seed=seed, out=out, as_json=as_json)
    except RefusedError as error:
        fail(error)
    if not met:
        raise SystemExit(1)
