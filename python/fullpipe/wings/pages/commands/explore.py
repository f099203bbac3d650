"""`fullpipe explore`."""

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

from fullpipe.algorithms import resolve
from fullpipe.commands.declare import Option
from fullpipe.commands.options import (
    CC,
    SETTING,
    named_file,
    path_options,
    scenario_argument,
    scenario_of,
    seed_option,
    set_option,
    setting,
)
from fullpipe.commands.shared import STORE, shares
from fullpipe.errors import fail, user_errors
from fullpipe.run import parse
from fullpipe.scenario.origin import retitled, warm_up


@shares(
    (
        "a page has the simulator, with its own algorithms",
        ["--plugin", "--recipe", "--programs", "--on"],
    ),
    ("a page runs one scenario, again at each change", ["--repeat", "--threads", "--engine"]),
    ("its result is one page", [STORE, "--json"]),
)
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
    cc: Annotated[str | None, CC] = None,
    lesson: Annotated[
        str | None,
        Option(
            metavar="NAME",
            complete=("lessons",),
            help="Begin with a lesson, from `fullpipe list lessons`.",
        ),
    ] = None,
    gallery: Annotated[
        bool,
        Option(
            "--gallery",
            help="Run all scenarios of `fullpipe list scenarios`, half a minute, and show each with picture and "
            "numbers; a button opens it here.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            parser=named_file,
            help="Write the page to this file, and do not open it.",
        ),
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
        fullpipe explore --gallery --out gallery.html
        fullpipe explore cubic swift --rate 50mbit --out explore.html
    """
    with user_errors():
        if gallery:
            given = {
                "SCENARIO": scenario,
                "an option of the path": path,
                "--seed": seed is not None,
                "--set": set_,
                "--cc": cc,
                "--lesson": lesson,
            }
            if others := [name for name, value in given.items() if value]:
                fail(
                    f"--gallery: it has all scenarios as they are\n  fix: leave out {' and '.join(others)}"
                )
            page = _gallery()
        else:
            page = _explorer(scenario, dict(path), seed, set_, cc, lesson)
        if out is not None:
            from fullpipe.results import disk

            disk.put(out, page)
            print(out)
            return
        with tempfile.NamedTemporaryFile(
            "w", prefix="fullpipe-explore-", suffix=".html", delete=False, encoding="utf-8"
        ) as made:
            made.write(page)
        print(made.name)
        webbrowser.open(Path(made.name).as_uri())


def _explorer(
    scenario: list[str] | None,
    path: dict[str, str],
    seed: int | None,
    set_: list[str] | None,
    cc: str | None,
    lesson: str | None,
) -> str:
    from fullpipe.wings.pages.explore import DEFAULT, EngineError, explorer, lessons

    text, file = scenario_of(scenario) if scenario else (DEFAULT, "explore")
    known = [each["name"] for each in lessons()]
    if lesson is not None and lesson not in known:
        fail(f"--lesson {lesson}: no lesson of this name\n  fix: write one of {', '.join(known)}")
    settings = path | dict(setting(each) for each in set_ or [])
    if cc is not None:
        settings["flow.0.cc"] = resolve.name_of(cc)
    text = retitled(text, settings)
    if shorter := warm_up(text, [*settings.items()]):
        settings[shorter[0]] = shorter[1]
    if settings or seed is not None:
        text = parse(text, file, seed=seed, set=settings).to_toml_to_change()
    try:
        return explorer(text, file, lesson)
    except EngineError as error:
        fail(error)


def _gallery() -> str:
    from fullpipe.scenario import origin
    from fullpipe.wings.pages import gallery

    return gallery.page(gallery.entries(origin.packaged()))
