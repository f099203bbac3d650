"""`fullpipe explore`."""

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import scenario_of
from fullpipe.errors import fail, user_errors


def command(
    scenario: Annotated[
        list[str] | None,
        Argument(
            metavar="SCENARIO|ALGORITHM...",
            help="Scenario: a TOML file, - for standard input, or a name from `fullpipe list scenarios`. Or "
            "algorithms from `fullpipe list algorithms`: a flow of each on one path (default: CUBIC and BBRv3 for "
            "30 s at 20 Mbit/s).",
        ),
    ] = None,
    *,
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
        fullpipe explore cubic-vs-bbr1
        fullpipe explore cubic swift --out explore.html
    """
    from fullpipe.explore import DEFAULT, EngineError, explorer

    text, file = scenario_of(scenario) if scenario else (DEFAULT, "explore")
    with user_errors():
        try:
            page = explorer(text, file)
        except EngineError as error:
            fail(error)
        if out is not None:
            out.write_text(page, encoding="utf-8")
            print(out)
            return
        with tempfile.NamedTemporaryFile(
            "w", prefix="fullpipe-explore-", suffix=".html", delete=False, encoding="utf-8"
        ) as made:
            made.write(page)
        print(made.name)
        webbrowser.open(Path(made.name).as_uri())
