"""`fullpipe kernel trace`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option, wrong
from fullpipe.commands.options import new_directory
from fullpipe.errors import user_errors


def command(
    algorithm: Annotated[
        str | None,
        Argument(
            metavar="ALGORITHM", complete=("bpf",), help="Algorithm (default: all that are loaded)."
        ),
    ] = None,
    *,
    port: Annotated[
        int | None,
        Option(min=1, max=65_535, metavar="N", help="Connections of this port only, of any end."),
    ] = None,
    time: Annotated[
        str | None,
        Option(
            "--for",
            metavar="TIME",
            help="Time to record, like 10s (default: until Ctrl-C or the unloading).",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            parser=new_directory,
            help="New directory for a run, for `fullpipe report` (default: print lines of JSON).",
        ),
    ] = None,
) -> None:
    """Record connections that use a loaded algorithm.

    A row has the state, window, rates, RTTs and losses of a connection. Each connection has a row
    at most every 10 ms, or as `fullpipe kernel load --trace-interval` says, and one at its start
    and its end. Needs root, or CAP_BPF and CAP_SYS_ADMIN.

    Examples:
        fullpipe kernel trace --port 443 --for 10s --out results/live
        fullpipe report results/live
        fullpipe kernel trace bbr3 > rows.jsonl
    """
    from fullpipe.wings.bpf import recorded
    from fullpipe.wings.bpf.program import named

    with user_errors():
        name = None if algorithm is None else named(algorithm).name
        seconds = None if time is None else _seconds(time)
        if out is None:
            raise SystemExit(recorded.lines(name, port, seconds))
        code = recorded.record(name, port, seconds, out)
    if code:
        raise SystemExit(code)


def _seconds(text: str) -> float:
    from fullpipe import _core

    found = _core.quantity(text)
    if found is None or found[1] != "s" or not 0 < found[0] <= 86_400:
        raise wrong(text, "not a time of at most a day", "write one, like 10s", "--for")
    return found[0]
