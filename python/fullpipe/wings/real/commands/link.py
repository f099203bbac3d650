"""`fullpipe link`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import (
    MORE_SETTINGS,
    new_place,
    path_options,
    seed_option,
    set_option,
    setting,
)
from fullpipe.commands.shared import shares
from fullpipe.errors import fail, user_errors


@shares(
    ("COMMAND ends the run", ["--duration"]),
    ("COMMAND has the TCP of this machine", ["--stack"]),
    ("COMMAND runs with this machine's TCP", ["--plugin", "--recipe", "--programs", "--on"]),
    ("COMMAND runs once, in real time", ["--repeat", "--threads", "--engine"]),
    ("standard output is COMMAND's; link.json in `--out` has the numbers", ["--json"]),
)
@path_options(where="in each direction", without=("stack", "duration"))
def command(
    command: Annotated[
        list[str] | None,
        Argument(
            metavar="-- COMMAND...",
            help="Program to run behind the path, with its arguments (default: a shell).",
        ),
    ] = None,
    *,
    path: list[tuple[str, str]],
    up: Annotated[
        str | None,
        Option(
            metavar="RATE",
            help="Link capacity for the data that COMMAND sends (default: as --rate).",
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Scenario as a TOML file; all packets take the path of its first flow.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        set_option(MORE_SETTINGS),
    ] = None,
    seed: Annotated[
        int | None, seed_option("Seed of everything random (default: the scenario's seed).")
    ] = None,
    server: Annotated[
        list[str] | None,
        Option(
            metavar="PROGRAM",
            help="Program to run at the far end of the path, address 100.64.0.1, like 'iperf3 -s'; repeatable.",
        ),
    ] = None,
    cc: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Congestion control of both ends, like cubic, from `fullpipe doctor` (default: this machine's).",
        ),
    ] = None,
    server_cc: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Congestion control at the far end, if it differs (default: as --cc).",
        ),
    ] = None,
    upload: Annotated[
        bool,
        Option(
            "--upload",
            help="Let the data that COMMAND sends take the data path of --scenario, and the data that it receives "
            "the path of the ACKs (default: the other way round).",
        ),
    ] = False,
    uplink: Annotated[
        bool,
        Option(
            "--uplink",
            help="Give COMMAND access to the Internet, through a proxy that programs find in ALL_PROXY.",
        ),
    ] = False,
    unconfined: Annotated[
        bool,
        Option(
            "--unconfined",
            help="Let COMMAND use this machine's devices, shared memory, set-user-ID programs and all system calls.",
        ),
    ] = False,
    live: Annotated[
        bool,
        Option("--live", help="Print rate, queue and drops every second, on a terminal with bars."),
    ] = False,
    out: Annotated[
        str | None,
        Option(
            metavar="DIR|URL",
            parser=new_place,
            help="New directory or s3://BUCKET/PREFIX for the report and packet captures (pcapng) of both ends.",
        ),
    ] = None,
) -> None:
    r"""Run any program behind an emulated network path.

    Runs it in real time, in a network namespace of its own, with this machine's TCP. At the end it
    prints the rate, the queueing delay and the drops of both directions, and how precisely packets
    were timed. Needs Linux, but not root. The exit code is the program's.

    Examples:
        fullpipe link --profile lte --uplink -- curl -O https://example.org/
        fullpipe link --rate 20mbit --rtt 40ms --buffer 2bdp \
            --server 'iperf3 -s' -- iperf3 -c 100.64.0.1 -R
    """
    import shlex

    from fullpipe.wings.real.links.path import OptionError
    from fullpipe.wings.real.links.path import path as scenario_of_path
    from fullpipe.wings.real.links.run import link

    try:
        programs = [shlex.split(text) for text in server or []]
    except ValueError as error:
        fail(f"--server: {error}\n  fix: close the quotes")
    if [] in programs:
        fail("--server: the program is missing\n  fix: name one, like 'iperf3 -s'")
    try:
        with user_errors():
            of_path = scenario_of_path(
                dict(path),
                dict(setting(text) for text in set_ or []),
                up=up,
                file=scenario,
                seed=seed,
            )
            code = link(
                of_path,
                command or [],
                programs,
                cc=cc,
                server_cc=server_cc or cc,
                upload=upload,
                uplink=uplink,
                unconfined=unconfined,
                live=live,
                out=out,
            )
    except OptionError as error:
        fail(error)
    raise SystemExit(code)
