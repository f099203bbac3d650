"""`fullpipe trace identify`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import AS_JSON
from fullpipe.errors import fail, printing, user_errors


def command(
    trace: Annotated[
        Path | None,
        Argument(
            metavar="TRACE",
            help="A packet capture, a qlog, or the directory of a run with a trace, of 8 s or more.",
        ),
    ] = None,
    *,
    flow: Annotated[
        str | None,
        Option(
            metavar="NAME", help="Flow to identify, or a part of its name (default: the largest)."
        ),
    ] = None,
    train: Annotated[
        bool,
        Option(help="Simulate the flows that the classifier learns from, into the user's cache."),
    ] = False,
    as_json: Annotated[bool, Option("--json", help=AS_JSON)] = False,
) -> None:
    """Name the algorithm that made a flow.

    A classifier compares the flow with simulated flows of known algorithms over drawn paths. A flow
    that is like none of them is "unknown". It needs scikit-learn, which is an extra, and --train once.

    Examples:
        fullpipe trace identify --train
        fullpipe trace identify sender.pcapng
    """
    from fullpipe.errors import MissingExtraError

    if trace is None and not train:
        fail("name a trace\n  fix: fullpipe trace identify sender.pcapng, or --train to train")
    with user_errors():
        from fullpipe.base import terminal
        from fullpipe.wings.traces.identify import command as work

        try:
            if train:
                flows, place = work.train_all()
                if trace is None:
                    with printing():
                        print(f"features of {flows} simulated flows kept in {place}")
                    return
            assert trace is not None
            name, found = work.identify_trace(trace, flow)
        except MissingExtraError as error:
            fail(error)
        with printing():
            if as_json:
                print(work.as_json(name, found))
            else:
                work.show(name, found, terminal.console())
