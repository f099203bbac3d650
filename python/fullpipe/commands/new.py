"""`fullpipe new`."""

from typing import Annotated

from fullpipe import origin
from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import algorithms_of, path_options, setting
from fullpipe.errors import printing, user_errors


@path_options()
def command(
    algorithms: Annotated[
        list[str] | None,
        Argument(
            metavar="[ALGORITHM...]",
            complete=("algorithms",),
            help="Algorithms of the flows, from `fullpipe list algorithms` (default: cubic and bbr3).",
        ),
    ] = None,
    *,
    path: list[tuple[str, str]],
    set_: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            complete=("settings",),
            help="Set any other key of the file, like flow.1.start=5s.",
        ),
    ] = None,
) -> None:
    """Print a new scenario with comments.

    Redirect it into a file, edit it, and run that. The comments name the keys that are used most;
    `fullpipe explain scenario` lists all.

    Examples:
        fullpipe new > mine.toml
        fullpipe new cubic bbr3 --profile lte > mine.toml
        fullpipe new bbr3 --rate 50mbit --rtt 20ms | fullpipe run -
    """
    from fullpipe.run import parse
    from fullpipe.skeleton import skeleton

    names = algorithms or ["cubic", "bbr3"]
    with user_errors(), printing():
        settings = [*path, *(setting(each) for each in set_ or [])]
        made = skeleton(algorithms_of(names), settings)
        parse(made, origin.ALGORITHMS)
        print(made, end="")
