"""`fullpipe workload fit`."""

from pathlib import Path
from typing import Annotated

from fullpipe.base import terminal
from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import AS_JSON
from fullpipe.errors import fail, user_errors


def command(
    flows: Annotated[
        Path,
        Argument(
            metavar="FLOWS", help="File that `extract` wrote, or a capture or log to extract first."
        ),
    ],
    as_json: Annotated[bool, Option("--json", help=AS_JSON)] = False,
) -> None:
    """Fit distributions to the sizes of flows.

    Prints each fitted distribution with its goodness of fit, and as a line for a scenario's
    [[workload]].

    Examples:
        fullpipe workload fit monday.parquet
    """
    from fullpipe.wings.fleet.workload.fit import TooFewFlowsError, fits
    from fullpipe.wings.fleet.workload.flows import read
    from fullpipe.wings.fleet.workload.reading import flows_of, warn
    from fullpipe.wings.fleet.workload.show_fit import record, show

    with user_errors():
        with flows_of(flows) as (file, extracted):
            sizes = read(file)["bytes"].cast(float).to_numpy()
        try:
            found = fits(sizes)
        except TooFewFlowsError as error:
            fail(
                f"{flows}: {error}\n  fix: name a file with more flows, or choose a distribution by hand"
            )
        if as_json:
            print(record(found, len(sizes)))
        else:
            show(found, len(sizes), terminal.console())
        if extracted is not None:
            warn(extracted)
