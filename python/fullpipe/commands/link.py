"""`fullpipe link`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.commands.options import new_directory, setting
from fullpipe.errors import fail, user_errors


def command(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND...", help="What runs behind the path; a shell if not given."
        ),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Both ways; 100mbit if not given.")
    ] = None,
    up: Annotated[
        str | None, typer.Option(metavar="RATE", help="Of what COMMAND sends, if it differs.")
    ] = None,
    rtt: Annotated[
        str | None, typer.Option(metavar="TIME", help="Without queueing; 50ms if not given.")
    ] = None,
    buffer: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Like 2bdp; 1bdp if not given.")
    ] = None,
    queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="See `list queues`; pfifo if not given.")
    ] = None,
    loss: Annotated[
        str | None, typer.Option(metavar="LOSS", help="Like 1%; see `list impairments`.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="A named path; see `list profiles`.")
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The path of a TOML file: the way of its first flow."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other key of a scenario; repeatable."),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROGRAM",
            help="Runs at the far end, which is 100.64.0.1, like 'iperf3 -s'; repeatable.",
        ),
    ] = None,
    upload: Annotated[
        bool,
        typer.Option(
            "--upload", help="The scenario's data are what COMMAND sends, not what it gets."
        ),
    ] = False,
    uplink: Annotated[
        bool,
        typer.Option(
            "--uplink", help="The outside can be reached, by programs that heed ALL_PROXY."
        ),
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Print a line a second: rate, queue, drops.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=new_directory,
            help="Keep a report and captures (pcapng) in a new directory.",
        ),
    ] = None,
) -> None:
    """Run any program behind an emulated path, in real time; its exit code is the program's.

    For example: fullpipe link --rate 20mbit --rtt 40ms --buffer 2bdp --server 'iperf3 -s' -- iperf3 -c
    100.64.0.1 -R
    """
    import shlex

    from fullpipe.link.path import OptionError, path
    from fullpipe.link.run import link

    given = {"rate": rate, "rtt": rtt, "buffer": buffer, "queue": queue, "loss": loss}
    try:
        programs = [shlex.split(text) for text in server or []]
    except ValueError as error:
        fail(f"--server: {error}\n  fix: close the quotes")
    if [] in programs:
        fail("--server: no program\n  fix: name one, like 'iperf3 -s'")
    try:
        with user_errors():
            of_path = path(
                {key: value for key, value in given.items() if value is not None},
                dict(setting(text) for text in set_ or []),
                up=up,
                profile=profile,
                file=scenario,
            )
            code = link(
                of_path, command or [], programs, upload=upload, uplink=uplink, live=live, out=out
            )
    except OptionError as error:
        fail(error)
    raise typer.Exit(code)
