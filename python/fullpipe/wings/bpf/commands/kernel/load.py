"""`fullpipe kernel load`."""

from typing import Annotated

from fullpipe.commands.declare import Argument, Option, wrong
from fullpipe.commands.options import PARAMETER
from fullpipe.errors import fail, printing, user_errors


def command(
    algorithm: Annotated[
        str,
        Argument(
            metavar="ALGORITHM",
            complete=("bpf",),
            help="Algorithm, from `fullpipe kernel list`.",
        ),
    ],
    command: Annotated[
        list[str] | None,
        Argument(
            metavar="-- COMMAND...",
            help="Program with its arguments, whose end unloads the algorithm (default: none).",
        ),
    ] = None,
    *,
    set_: Annotated[list[str] | None, PARAMETER] = None,
    detach: Annotated[
        bool,
        Option("--detach", help="Keep it loaded until `fullpipe kernel unload`, or a reboot."),
    ] = False,
    default: Annotated[
        bool,
        Option(
            "--default",
            help="Let new sockets of this network namespace use it, until it is unloaded.",
        ),
    ] = False,
    trace_interval: Annotated[
        str,
        Option(
            metavar="TIME",
            help="Least time between two rows of a connection for `fullpipe kernel trace`; 0 for none.",
        ),
    ] = "10ms",
) -> None:
    """Load an algorithm into Linux' TCP, as BPF.

    With COMMAND, it is loaded until COMMAND ends, and the exit code is that of COMMAND. Without,
    it is loaded until the shell or script that called fullpipe ends; a process in the background
    holds it. A kill -9 of any of these unloads it, too. Sockets that use it keep it until they
    close.

    Examples:
        fullpipe kernel load bbr3 && iperf3 -c far -C fp_bbr3
        fullpipe kernel load bbr3 --set beta=0.8 -- iperf3 -c far -C fp_bbr3
        fullpipe kernel load ledbat++ --default --detach
    """
    if detach and command:
        fail("--detach and COMMAND exclude each other\n  fix: omit one of them")
    from fullpipe.wings.bpf import holder, parameters
    from fullpipe.wings.bpf.program import named

    with user_errors():
        what = named(algorithm)
        given = dict(_setting(text) for text in set_ or [])
        request = holder.plan(
            what,
            parameters.checked(what, given),
            default=default,
            detach=detach,
            trace_us=_microseconds(trace_interval),
        )
        if command:
            from fullpipe.wings.bpf.run import run

            with holder.loaded(request):
                code = run(command)
            raise SystemExit(code)
        if detach:
            holder.detached(request)
            until = ""
        else:
            caller = holder.caller()
            holder.until_end_of(caller, request)
            until = f"{caller.name} (process {caller.pid}) ends, or "
    with printing():
        print(f"{what.name} is loaded until {until}fullpipe kernel unload {what.algorithm}")


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name.strip() and equals):
        raise wrong(text, "not NAME=VALUE", "write it like loss_threshold=0.05", "--set")
    return name.strip(), value.strip()


def _microseconds(text: str) -> int:
    from fullpipe import _core

    found = _core.quantity(text)
    if found is None or not (found[1] == "s" or found[0] == 0) or not 0 <= found[0] < 1000:
        raise wrong(text, "not a time below 1000 s", "write one, like 10ms", "--trace-interval")
    return round(found[0] * 1e6)
