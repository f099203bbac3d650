"""`fullpipe plugin new`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument
from fullpipe.errors import printing, user_errors


def command(
    name: Annotated[
        Path,
        Argument(metavar="NAME", help="New directory, whose name the crate and the algorithm get."),
    ],
) -> None:
    """Write a crate with an algorithm in a few lines.

    The crate builds as it is: change `src/lib.rs`. It needs Rust, and no other part of fullpipe
    than the installed one.

    Examples:
        fullpipe plugin new my-reno
        fullpipe compare cubic ./my-reno
    """
    from fullpipe.algorithms.plugins.crate import new

    with user_errors():
        new(name)
    with printing():
        print(f"{name} has the algorithm {name.name} in src/lib.rs")
        place = name if name.is_absolute() or len(name.parts) > 1 else f"./{name}"
        print(f"test it:    fullpipe plugin check {place}")
        print(f"compare it: fullpipe compare cubic {place}")
