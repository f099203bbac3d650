"""`fullpipe conformance`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.commands.options import new_directory, setting
from fullpipe.errors import fail, user_errors


def command(
    algorithm: Annotated[str, typer.Argument(metavar="ALGORITHM", help="See `list algorithms`.")],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the algorithm; repeatable."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="The seed of everything random.")
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=new_directory,
            help="Keep scenarios, traces, pictures and table in a new directory.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list of the conditions, and nothing else.")
    ] = False,
) -> None:
    """Run the 22 test cases of the BBR draft. Exit code 1 when a condition is missed.

    For example: fullpipe conformance bbr3 --set profile=linux
    """
    from fullpipe.conformance import RefusedError, conformance

    params = dict(setting(text) for text in set_ or [])
    try:
        with user_errors():
            met = conformance(algorithm, params=params, seed=seed, out=out, as_json=as_json)
    except RefusedError as error:
        fail(error)
    if not met:
        raise typer.Exit(1)
