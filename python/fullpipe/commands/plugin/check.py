"""`fullpipe plugin check`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.errors import printing, user_errors


def command(
    library: Annotated[
        Path, Argument(metavar="LIBRARY|CRATE", help="Shared library, or directory of a crate.")
    ],
    sequences: Annotated[
        int,
        Option(
            min=1,
            metavar="N",
            help="Number of random sequences of events, for each transport and set of parameters.",
        ),
    ] = 200,
) -> None:
    """Test that an algorithm keeps the contract.

    Random transports, such as TCP and QUIC can be, call the algorithm: with losses, timeouts, marks
    and changes of the path. Every decision must be valid, all data must arrive, and the same calls
    must lead to the same decisions. Prints the shortest sequence that breaks a rule, with the rule
    and a fix, and ends with exit code 1.

    Examples:
        fullpipe plugin check my-reno
        fullpipe plugin check libmine.so --sequences 5000
    """
    from fullpipe.plugins import loaded

    with user_errors():
        plugin = loaded(library)
        broken = plugin.check(sequences)
    with printing():
        print(broken or f"{plugin.name} keeps the contract: no breach in {sequences} sequences")
    if broken:
        raise SystemExit(1)
