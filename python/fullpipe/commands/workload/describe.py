"""`fullpipe workload describe`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.errors import user_errors


def command(
    flows: Annotated[
        Path, typer.Argument(metavar="FLOWS", help="A file of flows, or a capture or log.")
    ],
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it: .png, .svg or .pdf.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, SI units, and nothing else.")
    ] = False,
) -> None:
    """Print what flows are like: sizes, arrivals, load, pauses.

    For example: fullpipe workload describe monday.parquet --plot monday.png
    """
    from fullpipe.workload.command import describe

    with user_errors():
        describe(flows, plot=plot, as_json=as_json)
