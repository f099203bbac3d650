"""`fullpipe compare`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.commands.options import (
    AS_JSON,
    FIRST_SEED,
    MORE_SETTINGS,
    ON,
    PROFILE,
    new_directory,
    seed_option,
    setting,
)
from fullpipe.errors import fail, user_errors
from fullpipe.runners import chosen


def command(
    algorithms: Annotated[
        list[str],
        typer.Argument(
            metavar="ALGORITHM",
            help="Two or more names from `fullpipe list algorithms`, or Python classes, like my.module:Mine.",
        ),
    ],
    rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Link capacity of the bottleneck (default: 100mbit)."),
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Round-trip time without queueing (default: 50ms)."),
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Buffer of the bottleneck, like 8bdp or 100packets (default: 1bdp).",
        ),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Queue of the bottleneck, from `fullpipe list queues` (default: pfifo).",
        ),
    ] = None,
    profile: Annotated[str | None, typer.Option(metavar="NAME", help=PROFILE)] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Length of each run, whose first 10 s are not measured (default: 60s; with --bytes a limit "
            "of 600s).",
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--bytes",
            metavar="SIZE",
            help="Bytes that each flow transfers, like 1GB (default: flows are unlimited).",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help=MORE_SETTINGS),
    ] = None,
    repeat: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of runs of each algorithm and of all together, each with another seed; fewer than 6 "
            "cannot show a difference.",
        ),
    ] = 10,
    seed: Annotated[
        int | None,
        seed_option(f"{FIRST_SEED} (default: 1)."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=new_directory,
            help="Directory for the results (default: a name in results/). An interrupted comparison resumes there.",
        ),
    ] = None,
    on: Annotated[str, typer.Option(metavar="RUNNER,RUNNER", help=ON)] = "sim",
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Compare algorithms on one path, alone and together.

    Runs each algorithm alone, then one flow of each at the same time. Prints a table with 95 %
    intervals, and a sentence for every significant difference. With --on quic and without a path
    the flows use this machine's loopback.

    Examples:
        fullpipe compare cubic bbr3
        fullpipe compare cubic bbr1 bbr3 --rate 20mbit --rtt 80ms --buffer 8bdp
        fullpipe compare cubic bbr3 --profile lte --repeat 30
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
