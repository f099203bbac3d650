"""`fullpipe fleet sample`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Option
from fullpipe.commands.options import new_directory, seconds
from fullpipe.errors import user_errors


def command(
    out: Annotated[
        Path,
        Option("-o", "--out", metavar="DIR", parser=new_directory, help="Directory for the files."),
    ],
    interval: Annotated[
        str, Option(metavar="TIME", help="Time from one sample to the next.")
    ] = "10s",
    sport: Annotated[
        str | None,
        Option(
            metavar="PORT",
            help="Local port of the connections to sample, like 443 or 8000-8999 (default: all).",
        ),
    ] = None,
    dport: Annotated[
        str | None,
        Option(metavar="PORT", help="Remote port, or a range of them (default: all)."),
    ] = None,
    src: Annotated[
        str | None,
        Option(metavar="NET", help="Local network, like 10.0.0.0/8 (default: all)."),
    ] = None,
    dst: Annotated[str | None, Option(metavar="NET", help="Remote network (default: all).")] = None,
    state: Annotated[
        str | None,
        Option(
            metavar="STATE,STATE",
            help="States of the connections, as ss names them (default: all that may carry data).",
        ),
    ] = None,
    rotate: Annotated[
        str, Option(metavar="TIME", help="Time after which new files begin.")
    ] = "3600s",
    keep: Annotated[
        int | None,
        Option(
            min=1,
            metavar="N",
            help="Number of complete files of each kind to keep; the oldest are deleted (default: all).",
        ),
    ] = None,
    count: Annotated[
        int | None,
        Option(min=1, metavar="N", help="Number of samples to take (default: until Ctrl-C)."),
    ] = None,
) -> None:
    """Record this host's connections and TCP counters.

    Reads them from the kernel (netlink and /proc), and writes files in the format of `ss` and
    /proc for `fullpipe fleet ingest`. Needs Linux, but not root. At most 5 % of one core is used.

    Examples:
        fullpipe fleet sample --sport 443 --keep 48 --out /var/tmp/samples
    """
    from fullpipe.wings.fleet.sample import Filter, sample

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
