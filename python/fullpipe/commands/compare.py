"""`fullpipe compare`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.commands.options import ON, new_directory, setting
from fullpipe.errors import fail, user_errors
from fullpipe.runners import chosen


def command(
    algorithms: Annotated[
        list[str], typer.Argument(metavar="ALGORITHM...", help="Two or more; see `list`.")
    ],
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Of the bottleneck; 100mbit if not given.")
    ] = None,
    rtt: Annotated[
        str | None, typer.Option(metavar="TIME", help="Without queueing; 50ms if not given.")
    ] = None,
    buffer: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Like 8bdp; 1bdp if not given.")
    ] = None,
    queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="See `list queues`; pfifo if not given.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="A named path; see `list profiles`.")
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Of a run; 60s, measured from 10s on; 600s at most with --bytes."
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--bytes", metavar="SIZE", help="Of each transfer, like 1GB; flows do not end without."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other key of a scenario; repeatable."),
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, metavar="N", help="Runs of each, a seed each.")
    ] = 10,
    seed: Annotated[int | None, typer.Option(min=0, max=2**63 - 1, help="The first seed.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=new_directory,
            help="Keep all there, not in results/; or go on with it.",
        ),
    ] = None,
    on: Annotated[str, typer.Option(metavar="RUNNER,RUNNER", help=ON)] = "sim",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, and nothing else.")
    ] = False,
) -> None:
    """Compare algorithms on one path: each alone, then all together; what differs is said with its interval.

    With --on quic and no path it is this machine's own loopback.

    For example: fullpipe compare cubic bbr1 bbr3 --rate 100mbit --rtt 50ms --buffer 8bdp --repeat 30
    """
    from fullpipe.comparison.command import compare
    from fullpipe.comparison.plan import TooFewError, plan

    given = {
        "path.profile": profile,
        "duration": duration,
        "path.rate": rate,
        "path.rtt": rtt,
        "path.buffer": buffer,
    }
    given |= {"path.queue": queue}
    settings = [(key, value) for key, value in given.items() if value is not None]
    try:
        with user_errors():
            settings += [setting(text) for text in set_ or []]
            runners = chosen(on)
            loopback = [runner.name for runner in runners] == ["quic"]
            planned = plan(algorithms, settings, repeat, seed, size=size, loopback=loopback)
            compare(planned, out=out, runners=runners, as_json=as_json)
    except TooFewError as error:
        fail(error)
