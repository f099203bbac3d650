"""`fullpipe workload extract`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe import _core
from fullpipe.errors import fail, user_errors


def _span(text: str) -> float:
    quantity = _core.quantity(text)
    if quantity is None or quantity[1] != "s" or quantity[0] <= 0:
        raise typer.BadParameter(f'{text!r} is no time; write "100ms" or "60s"')
    return quantity[0]


def command(
    captures: Annotated[
        list[Path],
        typer.Argument(
            metavar="CAPTURE…", help="pcap or pcapng, in order of time; Zeek's conn.log; CSV."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The Parquet file to make.")
    ],
    idle: Annotated[
        str, typer.Option(metavar="TIME", help="A flow without a packet for longer is over.")
    ] = "60s",
    pause: Annotated[
        str, typer.Option(metavar="TIME", help="Payload after a longer pause begins a new chunk.")
    ] = "100ms",
    udp: Annotated[
        bool, typer.Option("--udp", help="Make flows of UDP's datagrams (QUIC), too.")
    ] = False,
    addresses: Annotated[
        bool, typer.Option("--addresses", help="Keep the ends' addresses, too.")
    ] = False,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="start=NAME,bytes=NAME",
            help="Of a CSV file, what the two columns are called there.",
        ),
    ] = None,
) -> None:
    """Extract the flows of captures into a file that a scenario's [[workload]] can name.

    For example: fullpipe workload extract monday.pcap.gz -o monday.parquet
    """
    from rich.console import Console

    from fullpipe.workload.reading import extracted, warn
    from fullpipe.workload.show import show_extracted

    named = {}
    for part in (columns or "").split(",") if columns else []:
        key, equals, value = part.partition("=")
        if not equals or key.strip() not in ("start", "bytes") or not value:
            fail(
                f"--columns {columns}: not start=NAME,bytes=NAME\n  fix: --columns start=ts,bytes=size, or one of them"
            )
        named[key.strip()] = value
    with user_errors():
        done = extracted(
            captures,
            out,
            idle_s=_span(idle),
            pause_s=_span(pause),
            udp=udp,
            addresses=addresses,
            columns=named,
        )
        show_extracted(done, Console(highlight=False))
        warn(done)
