"""`fullpipe plugin build`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument
from fullpipe.errors import printing, user_errors


def command(
    crate: Annotated[Path, Argument(metavar="CRATE", help="Directory with a Cargo.toml.")],
) -> None:
    """Build the library of a crate, and print its name.

    Calls cargo in release mode. The other commands do the same if they are given the directory of a
    crate; only this one needs cargo if they are given the library.

    Examples:
        fullpipe plugin build my-reno
        fullpipe run ./my-reno/target/release/libmy_reno.so
    """
    from fullpipe.algorithms.plugins.crate import build

    with user_errors():
        library = build(crate)
    with printing():
        here = Path.cwd()
        print(library.relative_to(here) if library.is_relative_to(here) else library)
