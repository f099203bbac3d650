"""`fullpipe trace packets`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.errors import user_errors


def command(
    directory: Annotated[
        Path,
        Argument(
            metavar="DIR", help="Directory that `fullpipe run --trace '… packets' --out` wrote."
        ),
    ],
    file: Annotated[
        Path | None,
        Argument(
            metavar="FILE",
            help="New file to write: .csv or .parquet for rows, .pcapng for Wireshark (default: print a table).",
        ),
    ] = None,
    window: Annotated[
        str | None,
        Option(metavar="FROM..TO", help="Time to show, like 3s..3.2s (default: all that is kept)."),
    ] = None,
    flow: Annotated[
        str | None, Option(metavar="NAME", help="Flow to show (default: all flows).")
    ] = None,
    *,
    acks: Annotated[
        bool, Option(help="Show the ACKs that arrived, instead of data packets.")
    ] = False,
    rows: Annotated[
        int, Option(metavar="N", min=1, help="Rows of the printed table at most.")
    ] = 40,
) -> None:
    """Show single packets of a run, or export them.

    A row is a data packet with its departure, kind, fate, and one-way delay by cause. A .pcapng is a
    capture at the sender, of headers: data packets when they left, ACKs when they arrived.

    Examples:
        fullpipe run cubic bbr1 --trace '1s packets 3s..5s' --out results/packets
        fullpipe trace packets results/packets --window 3s..3.02s
        fullpipe trace packets results/packets packets.pcapng
    """
    from fullpipe.results import packets
    from fullpipe.results.kept import computing

    with user_errors():
        if file is not None:
            packets.refuse_suffix(file)
        span = None if window is None else _window(window)
        with computing(directory):
            found = packets.of_saved(directory, window=span, flow=flow)
            if file is not None:
                print(f"{packets.write(found, file, acks=acks)}")
                return
        from fullpipe.runs.view.packets import show

        show(found.acks if acks else found.data, rows, acks=acks)


def _window(text: str) -> tuple[float, float]:
    from fullpipe import _core
    from fullpipe.commands.declare import wrong

    ends = [_core.quantity(each.strip()) for each in text.split("..")]
    times = [each[0] for each in ends if each is not None and each[1] == "s"]
    if len(ends) != 2 or len(times) != 2 or times[0] > times[1]:
        raise wrong(text, "not a window of time", "write one, like 3s..3.2s", "--window")
    return times[0], times[1]
