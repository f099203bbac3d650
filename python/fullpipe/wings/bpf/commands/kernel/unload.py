"""`fullpipe kernel unload`."""

from typing import Annotated

from fullpipe.commands.declare import Argument
from fullpipe.errors import printing, user_errors


def command(
    algorithm: Annotated[
        str,
        Argument(
            metavar="ALGORITHM", complete=("bpf",), help="Algorithm, like bbr3, or its kernel name."
        ),
    ],
) -> None:
    """Unload an algorithm.

    Ends the process that holds it, or removes its pinned link, and restores the default of the
    network namespace that --default replaced. Sockets that use it keep it until they close: their
    number is printed.

    Examples:
        fullpipe kernel unload bbr3
    """
    from fullpipe.wings.bpf import loaded
    from fullpipe.wings.bpf.program import named

    with user_errors():
        what = named(algorithm)
        count, partial = loaded.unload(what.name)
    with printing():
        kept = ""
        if count or partial:
            uses = "uses" if count == 1 else "use"
            kept = f"; {loaded.sockets(count, partial=partial)} still {uses} it until they close"
        print(f"{what.name} is unloaded{kept}")
