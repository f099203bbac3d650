"""`fullpipe workload fit`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.errors import user_errors


def command(
    flows: Annotated[
        Path, typer.Argument(metavar="FLOWS", help="A file of flows, or a capture or log.")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, and nothing else.")
    ] = False,
) -> None:
    """Fit laws to the sizes of flows, and print how near they come and how a scenario has them.

    For example: fullpipe workload fit monday.parquet
    """
    from fullpipe.workload.command import fit

    with user_errors():
        fit(flows, as_json=as_json)
