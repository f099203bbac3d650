"""`fullpipe check`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.commands.options import ON
from fullpipe.errors import user_errors
from fullpipe.runners import chosen


def command(
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
