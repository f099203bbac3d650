"""`fullpipe trace qlog`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.errors import user_errors


def command(
    directory: Annotated[
        Path,
        Argument(
            metavar="DIR", help="Directory that `fullpipe run --out` wrote, or a measurement."
        ),
    ],
    file: Annotated[
        Path,
        Argument(metavar="FILE", help="New file to write: .qlog is JSON, .sqlog is JSON-SEQ."),
    ],
    flow: Annotated[
        str | None, Option(metavar="NAME", help="Flow to write (default: all flows).")
    ] = None,
) -> None:
    """Convert the trace of a run to qlog 0.3, for qvis.

    The directory needs a trace, which `fullpipe run --out` records unless it is called with
    --trace off; `fullpipe trace import` and `fullpipe kernel trace` keep one, too.
    https://qvis.quictools.info shows the file.

    Examples:
        fullpipe run cubic-vs-bbr1 --out results/first
        fullpipe trace qlog results/first first.qlog
    """
    from fullpipe.results.kept import computing
    from fullpipe.results.qlog import of_saved, write

    with user_errors():
        with computing(directory):
            written = write(of_saved(directory), file, flow=flow)
        print(f"{written}")
