"""`fullpipe evaluate`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import PLUGIN, load_plugins, new_directory, seed_option, setting
from fullpipe.controllers import of_file
from fullpipe.errors import fail, user_errors


class Suite(StrEnum):
    """The suites of criteria."""

    BBR_DRAFT = "bbr-draft"


def command(
    algorithm: Annotated[
        str,
        Argument(
            metavar="ALGORITHM",
            complete=("algorithms",),
            help="Version of BBR, from `fullpipe list algorithms`, or a Python class, like my.module:Mine.",
        ),
    ],
    suite: Annotated[
        Suite,
        Option(metavar="NAME", help="Criteria: bbr-draft has the 22 test cases of the BBR draft."),
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
    plugin: Annotated[list[str] | None, PLUGIN] = None,
    as_json: Annotated[
        bool, Option("--json", help="Print the conditions as a JSON list, and nothing else.")
    ] = False,
) -> None:
    """Judge an algorithm by a suite of criteria.

    The suite bbr-draft has the test cases of draft-ietf-ccwg-bbr-06, Appendix A, as simulated
    scenarios with numeric conditions. Conditions on states or fields that the algorithm does not
    have are skipped; an algorithm that has none of them is refused. Exit code 1 when a condition is
    missed.

    Examples:
        fullpipe evaluate bbr3 --suite bbr-draft
        fullpipe evaluate bbr3 --suite bbr-draft --set profile=linux
    """
    from fullpipe.conformance import RefusedError, conformance

    params = dict(setting(text) for text in set_ or [])
    try:
        with user_errors():
            load_plugins(plugin)
            met = conformance(
                of_file(algorithm), params=params, seed=seed, out=out, as_json=as_json
            )
    except RefusedError as error:
        fail(error)
    if not met:
        raise SystemExit(1)
