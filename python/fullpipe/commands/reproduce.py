"""`fullpipe reproduce`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.commands.options import ON_ONE, new_directory
from fullpipe.errors import fail, user_errors
from fullpipe.runners import runner as one_runner


def command(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="What a file of published/ calls itself, or its path."),
    ],
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs of each case, instead of the file's.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=new_directory,
            help="Keep the results in a new directory, not in results/NAME-NNN.",
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Only cases that fit, like K1 or '3MB_*'; repeatable."
        ),
    ] = None,
    variants: Annotated[
        bool, typer.Option("--variants", help="Count what the file's variants meet, too.")
    ] = False,
    on: Annotated[str, typer.Option(metavar="RUNNER", help=ON_ONE)] = "sim",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list of the cells, and nothing else.")
    ] = False,
) -> None:
    """Run what others published, and compare cell by cell, claim by claim. Exit code 1 when one is missed.

    For example: fullpipe reproduce microsoft
    """
    from fullpipe.reproduce.command import reproduce
    from fullpipe.verdicts.reader import PublishedError

    try:
        with user_errors():
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
