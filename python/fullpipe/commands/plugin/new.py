"""`fullpipe plugin new`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.errors import printing, user_errors


def command(
    name: Annotated[
        Path,
        Argument(metavar="NAME", help="New directory, whose name the crate and the algorithm get."),
    ],
    original: Annotated[
        str | None,
        Option(
            "--from",
            metavar="CC",
            help="Built-in algorithm whose files the crate gets, to change one of its rules.",
        ),
    ] = None,
) -> None:
    """Write a crate with an algorithm, new or a copy.

    The crate builds as it is: change the files in `src`. It needs Rust, and no other part of
    fullpipe than the installed one. An unchanged copy decides what the original does.

    Examples:
        fullpipe plugin new my-reno
        fullpipe compare cubic ./my-reno
        fullpipe plugin new my-bbr --from bbr3
        fullpipe plugin check ./my-bbr --same-as bbr3
    """
    from fullpipe.algorithms.plugins.crate import new

    with user_errors():
        new(name, original)
    with printing():
        place = name if name.is_absolute() or len(name.parts) > 1 else f"./{name}"
        if original is None:
            print(f"{name} has the algorithm {name.name} in src/lib.rs")
            print(f"test it:    fullpipe plugin check {place}")
        else:
            print(f"{name} has the algorithm {name.name} in src, a copy of {original}")
            print(f"test it:    fullpipe plugin check {place} --same-as {original}")
        print(f"compare it: fullpipe compare cubic {place}")
