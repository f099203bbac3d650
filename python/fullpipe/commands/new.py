"""`fullpipe new`."""

from difflib import get_close_matches
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import algorithms_of, path_options, setting
from fullpipe.errors import fail, printing, user_errors
from fullpipe.scenario import origin


@path_options()
def command(
    algorithms: Annotated[
        list[str] | None,
        Argument(
            metavar="[ALGORITHM...]",
            complete=("algorithms", "scenarios"),
            help="Algorithms of the flows, from `fullpipe list algorithms` (default: cubic and bbr3), or one "
            "scenario, from `fullpipe list scenarios`.",
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
        fullpipe new cubic-deep-buffer > mine.toml
        fullpipe new bbr3 --rate 50mbit --rtt 20ms | fullpipe run -
    """
    from fullpipe.algorithms.resolve import recipe_of
    from fullpipe.run import parse
    from fullpipe.scenario.skeleton import skeleton
    from fullpipe.study.spec import SweepSpec

    names = algorithms or ["cubic", "bbr3"]
    with user_errors(), printing():
        settings = [*path, *(setting(each) for each in set_ or [])]
        if len(names) == 1 and (file := origin.located(names[0])) in origin.packaged():
            if settings:
                fail(
                    f"{names[0]}: options can't change a scenario's text\n  fix: edit it, or give them to fullpipe run"
                )
            print(file.read_text(encoding="utf-8"), end="")
            return
        if len(names) == 1:
            _refuse_unknown(names[0])
        known = algorithms_of(names)
        made = skeleton(known, settings)
        parse(made, origin.ALGORITHMS)
        if not any(map(recipe_of, known)):  # a program has its own parameters
            SweepSpec(made, origin.ALGORITHMS).plan  # noqa: B018  (refuses wrong parameters)
        print(made, end="")


def _refuse_unknown(name: str) -> None:
    """Fails with similar algorithms and scenarios, if it is a name of neither."""
    from fullpipe import _core
    from fullpipe.algorithms.resolve import kind_of

    if kind_of(name) or "," in name:
        return
    every = [str(each["name"]) for each in _core.algorithms()]
    every += [file.stem for file in origin.packaged()]
    if near := get_close_matches(name, every, n=2):
        fail(f"{name}: no algorithm, and no scenario\n  fix: did you mean {' or '.join(near)}?")
