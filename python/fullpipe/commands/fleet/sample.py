"""`fullpipe fleet sample`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.commands.options import new_directory, seconds
from fullpipe.errors import user_errors


def command(
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="DIR", parser=new_directory, help="Where the files go."
        ),
    ],
    interval: Annotated[
        str, typer.Option(metavar="TIME", help="From one sample to the next.")
    ] = "10s",
    sport: Annotated[
        str | None,
        typer.Option(metavar="PORT", help="Local ports, like 443 or 8000-8999; all if not given."),
    ] = None,
    dport: Annotated[str | None, typer.Option(metavar="PORT", help="Remote ports.")] = None,
    src: Annotated[
        str | None, typer.Option(metavar="NET", help="Local addresses, like 10.0.0.0/8.")
    ] = None,
    dst: Annotated[str | None, typer.Option(metavar="NET", help="Remote addresses.")] = None,
    state: Annotated[
        str | None,
        typer.Option(metavar="STATE,STATE", help="As ss names them; those that may carry data."),
    ] = None,
    rotate: Annotated[
        str, typer.Option(metavar="TIME", help="Begin new files so often.")
    ] = "3600s",
    keep: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="No more files than so many.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="End after so many samples.")
    ] = None,
) -> None:
    """Sample this host's connections as ss would, by netlink, and its counters, into files for `ingest`.

    For example: fullpipe fleet sample --sport 443 --interval 10s --keep 48 -o /var/tmp/samples
    """
    from fullpipe.fleet.sample import Filter, sample

    with user_errors():
        states = [name.strip() for name in (state or "").split(",") if name.strip()]
        sample(
            out,
            Filter(states, sport, dport, src, dst),
            interval_s=seconds(interval, "--interval"),
            rotate_s=seconds(rotate, "--rotate"),
            keep=keep,
            count=count,
        )
