"""`fullpipe explore`."""

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Option
from fullpipe.commands.options import (
    SETTING,
    path_options,
    scenario_argument,
    scenario_of,
    seed_option,
    set_option,
    setting,
)
from fullpipe.errors import fail, user_errors
from fullpipe.run import parse


@path_options(instead="the scenario's")
def command(
    scenario: Annotated[
        list[str] | None,
        scenario_argument(
            "Scenario: a TOML file, - for standard input, or a name from `fullpipe list scenarios`. Or "
            "algorithms from `fullpipe list algorithms`: a flow of each on one path (default: CUBIC and BBRv3 for "
            "30 s at 20 Mbit/s).",
        ),
    ] = None,
    *,
    path: list[tuple[str, str]],
    seed: Annotated[
        int | None,
        seed_option("Seed of everything random (default: the scenario's seed)."),
    ] = None,
    set_: Annotated[list[str] | None, set_option(SETTING)] = None,
    lesson: Annotated[
        str | None,
        Option(
            metavar="NAME",
            complete=("lessons",),
            help="Begin with a lesson, from `fullpipe list lessons`.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write the page to this file, and do not open it."),
    ] = None,
) -> None:
    """Change a scenario in the browser and watch it run.

    The page has the simulator inside and works offline. Sliders and the text of the scenario change
    each other, and every change runs at once. It shows the trace's hash, which is the one that
    `fullpipe run` prints, and the command for that.

    Examples:
        fullpipe explore
        fullpipe explore --lesson bufferbloat
        fullpipe explore cubic-vs-bbr1
        fullpipe explore cubic swift --rate 50mbit --out explore.html
    """
    from fullpipe.explore import DEFAULT, EngineError, explorer, lessons
    from fullpipe.results import disk

    with user_errors():
        text, file = scenario_of(scenario) if scenario else (DEFAULT, "explore")
        known = [each["name"] for each in lessons()]
        if lesson is not None and lesson not in known:
            fail(
                f"--lesson {lesson}: no lesson of this name\n  fix: write one of {', '.join(known)}"
            )
        settings = dict(path) | dict(setting(each) for each in set_ or [])
        if settings or seed is not None:
            text = parse(text, file, seed=seed, set=settings).to_toml()
        try:
            page = explorer(text, file, lesson)
        except EngineError as error:
            fail(error)
        if out is not None:
            disk.put(out, page)
            print(out)
            return
        with tempfile.NamedTemporaryFile(
            "w", prefix="fullpipe-explore-", suffix=".html", delete=False, encoding="utf-8"
        ) as made:
            made.write(page)
        print(made.name)
        webbrowser.open(Path(made.name).as_uri())
