"""`fullpipe workload extract`."""

from pathlib import Path
from typing import Annotated

from fullpipe import _core
from fullpipe.base import terminal
from fullpipe.commands.declare import Argument, Option, wrong
from fullpipe.errors import fail, user_errors


def _span(text: str, option: str) -> float:
    quantity = _core.quantity(text)
    if quantity is None or quantity[1] != "s" or quantity[0] <= 0:
        raise wrong(text, "not a time", "write one, like 100ms or 60s", option)
    return quantity[0]


def command(
    captures: Annotated[
        list[Path],
        Argument(
            metavar="CAPTURE",
            help="Captures (pcap or pcapng) in order of time, Zeek's conn.log, or CSV files.",
        ),
    ],
    out: Annotated[
        Path, Option("--out", "-o", metavar="FILE", help="New Parquet file for the flows.")
    ],
    idle: Annotated[
        str,
        Option(metavar="TIME", help="Time without a packet after which a flow has ended."),
    ] = "60s",
    pause: Annotated[
        str,
        Option(
            metavar="TIME",
            help="Time without payload after which a flow's next payload begins a new chunk.",
        ),
    ] = "100ms",
    udp: Annotated[
        bool, Option("--udp", help="Also extract flows of UDP datagrams, such as QUIC.")
    ] = False,
    addresses: Annotated[
        bool,
        Option("--addresses", help="Also keep the addresses of client and server."),
    ] = False,
    columns: Annotated[
        str | None,
        Option(
            metavar="start=NAME,bytes=NAME",
            help="Names of the columns of a CSV file that have the start and the bytes of a flow (default: start and "
            "bytes).",
        ),
    ] = None,
) -> None:
    r"""Extract the flows of captures or logs to a file.

    A scenario replays them with source = "monday.parquet" in a [[workload]]. Exit code 1 when a
    capture could not be read completely.

    Examples:
        fullpipe workload extract monday.pcap.gz --out monday.parquet
        fullpipe workload extract tuesday.csv --columns start=ts,bytes=size \
            --out tuesday.parquet
    """
    from fullpipe.wings.fleet.workload.reading import extracted, kept_of, warn
    from fullpipe.wings.fleet.workload.show import show_extracted

    named = {}
    for part in (columns or "").split(",") if columns else []:
        key, equals, value = part.partition("=")
        if not equals or key.strip() not in ("start", "bytes") or not value:
            fail(
                f"--columns {columns}: not start=NAME,bytes=NAME\n"
                "  fix: write --columns start=ts,bytes=size, or one of them"
            )
        named[key.strip()] = value
    with user_errors():
        done = extracted(
            captures,
            out,
            lambda: kept_of(out),
            idle_s=_span(idle, "--idle"),
            pause_s=_span(pause, "--pause"),
            udp=udp,
            addresses=addresses,
            columns=named,
        )
        show_extracted(done, terminal.console())
        warn(done)
