"""Commands that end in a verdict, and in exit code 1 when it is a bad one."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.cli.options import ON, ON_ONE, new_directory, setting
from fullpipe.errors import fail, user_errors
from fullpipe.runners import chosen
from fullpipe.runners import runner as one_runner


def check_command(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="TOML files, or folders of them.")
    ],
    repeat: Annotated[
        int, typer.Option(min=1, metavar="N", help="Runs of each scenario, a seed each.")
    ] = 5,
    seed: Annotated[int | None, typer.Option(min=0, max=2**63 - 1, help="The first seed.")] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write JUnit's XML, too, for CI.")
    ] = None,
    on: Annotated[str, typer.Option(metavar="RUNNER,RUNNER", help=ON)] = "sim",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list of the conditions, and nothing else.")
    ] = False,
) -> None:
    """Run scenarios and say whether they come to what they `expect`. Exit code 1 when one does not.

    For example: fullpipe check scenarios --repeat 10 --junit check.xml
    """
    from fullpipe.checks.command import check_all

    with user_errors():
        met = check_all(
            paths, repeat=repeat, seed=seed, junit=junit, runners=chosen(on), as_json=as_json
        )
    raise typer.Exit(0 if met else 1)


def reproduce_command(
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
    from fullpipe.reproduce.reader import PublishedError

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


def validate_command(
    cell: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Only cells that fit, like 'bbr-*' or '*-loss'; repeatable."
        ),
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            metavar="RUNNER",
            help="What is held against Linux: sim, or another; in real time a part of the cells.",
        ),
    ] = "sim",
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Runs of a cell in which chance has a part: 10 simulated, 3 on others.",
        ),
    ] = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Run Linux's own TCP first, and keep what it does (needs make oracle)."
        ),
    ] = False,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=new_directory,
            help="Run each cell traced, on Linux, too (needs make oracle), and keep a page of each in a new directory.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all numbers, with intervals, as Markdown."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list of the numbers, and nothing else.")
    ] = False,
) -> None:
    """Hold the simulator against what Linux's own TCP did. Exit code 1 when less than 90 % of the cells are met.

    For example: fullpipe validate --cell 'cubic-*'
    """
    from fullpipe.reproduce.reader import PublishedError
    from fullpipe.validate.command import validate

    try:
        with user_errors():
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


def conformance_command(
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
