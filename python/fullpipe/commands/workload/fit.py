"""`fullpipe workload fit`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.errors import fail, user_errors


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
    from rich.console import Console

    from fullpipe.workload.fit import TooFewFlowsError, fits
    from fullpipe.workload.flows import read
    from fullpipe.workload.reading import flows_of, warn
    from fullpipe.workload.show_fit import record, show

    with user_errors():
        with flows_of(flows) as (file, extracted):
            sizes = read(file)["bytes"].cast(float).to_numpy()
        try:
            found = fits(sizes)
        except TooFewFlowsError as error:
            fail(f"{flows}: {error}\n  fix: name a file of more flows, or write a law by hand")
        if as_json:
            print(record(found, len(sizes)))
        else:
            show(found, len(sizes), Console(highlight=False))
        if extracted is not None:
            warn(extracted)
