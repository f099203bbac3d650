"""`fullpipe explain`."""

import re
from typing import Annotated

from fullpipe import terminal
from fullpipe.commands.declare import Argument
from fullpipe.errors import fail


def command(
    name: Annotated[
        str,
        Argument(
            metavar="NAME",
            help="Name that `fullpipe list` prints, a scenario key like path.rate, or `scenario` for all keys.",
        ),
    ],
) -> None:
    """Explain a name or key: meaning, parameters, sources.

    For an algorithm it prints the specification, the parameters with their defaults, and the trace
    fields; for a profile its values and their sources; for a scenario key its type, default and
    examples.

    Examples:
        fullpipe explain bbr3
        fullpipe explain fq_codel
        fullpipe explain lte
        fullpipe explain path.buffer
        fullpipe explain scenario | less
    """
    from fullpipe.catalogue import UnknownNameError, explain

    try:
        paragraphs = list(explain(name))
    except UnknownNameError as error:
        fail(error)
    console = terminal.console()
    with console.capture() as printed:
        for paragraph in paragraphs:
            console.print(paragraph)
    # Without the spaces that rich pads lines with.
    print(re.sub(r" +((?:\x1b\[[0-9;]*m)*)$", r"\1", printed.get(), flags=re.MULTILINE), end="")
