"""`fullpipe workload describe`."""

from pathlib import Path
from typing import Annotated

from fullpipe.base import terminal
from fullpipe.commands.declare import Argument, Option
from fullpipe.errors import fail, user_errors


def command(
    flows: Annotated[
        Path,
        Argument(
            metavar="FLOWS", help="File that `extract` wrote, or a capture or log to extract first."
        ),
    ],
    plot: Annotated[
        Path | None,
        Option(metavar="FILE", help="New file for a picture: .png, .svg or .pdf."),
    ] = None,
    as_json: Annotated[
        bool, Option("--json", help="Print one JSON object in SI units, and nothing else.")
    ] = False,
) -> None:
    """Print sizes, durations, arrivals and load of flows.

    Examples:
        fullpipe workload describe monday.parquet --plot monday.png
    """
    from fullpipe.wings.fleet.workload.describe import describe
    from fullpipe.wings.fleet.workload.reading import flows_of, warn
    from fullpipe.wings.fleet.workload.show import record, show

    with user_errors():
        if plot is not None:
            _check(plot)
        with flows_of(flows) as (file, extracted):
            described = describe(file)._replace(name=str(flows))
        if as_json:
            print(record(described))
        else:
            show(described, terminal.console())
        if plot is not None:
            from fullpipe.wings.fleet.workload.picture import save

            save(described, plot)
        if extracted is not None:
            warn(extracted)


def _check(plot: Path) -> None:
    """Fails before any file is read if the picture could not be written."""
    if plot.suffix not in (".png", ".svg", ".pdf"):
        fix = f"--plot {plot.with_suffix('.png')}"
        fail(f"--plot {plot}: a picture needs the suffix .png, .svg or .pdf\n  fix: {fix}")
    if plot.exists():
        fail(f"--plot {plot} exists already; name a new file, results are never overwritten")
