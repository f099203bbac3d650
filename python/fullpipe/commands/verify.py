"""`fullpipe verify`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import (
    ENGINE,
    PLUGIN,
    PROGRAMS,
    RECIPE,
    THREADS,
    Place,
    allow_programs,
    load_plugins,
    load_recipes,
)
from fullpipe.commands.shared import PATH, STORE, shares
from fullpipe.errors import user_errors
from fullpipe.runners import load
from fullpipe.study.engine import Engine


@shares(
    (
        "the kept runs have them",
        [PATH, "--stack", "--duration", "--set", "--cc", "--repeat", "--seed"],
    ),
    ("it writes no results", ["--out", STORE]),
)
def command(
    directory: Annotated[
        str,
        Argument(
            metavar="DIR|URL",
            complete=("directories",),
            help="Directory or URL that run, sweep, compare, check, evaluate or reproduce wrote, or one that has such "
            "directories.",
        ),
    ],
    *,
    sample: Annotated[
        int | None,
        Option(
            min=1,
            metavar="N",
            help="Repeat N of the runs, always the same ones, from as many points as possible (default: all).",
        ),
    ] = None,
    on: Annotated[
        str | None,
        Option(
            metavar="CLASS,CLASS",
            help="Runners of your own that made results, like my.module:MyRunner. Their code runs with your rights.",
        ),
    ] = None,
    engine: Annotated[Place, ENGINE] = Place.LOCAL,
    threads: Annotated[int | None, THREADS] = None,
    plugin: Annotated[list[str] | None, PLUGIN] = None,
    recipe: Annotated[list[Path] | None, RECIPE] = None,
    programs: Annotated[bool, PROGRAMS] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print one JSON object, and nothing else.")
    ] = False,
) -> None:
    """Run kept results again, and compare every number.

    Prints the number of equal runs, or the first difference. Results of another build are compared
    all the same, and the output says which one made them. Runs on the clock of a machine can't be
    repeated, and are named. Exit code 1 when a number differs or a file is missing or damaged, and 2
    when runs could not be repeated here.

    Examples:
        fullpipe verify results/fig3
        fullpipe verify results/fig3 --sample 50
    """
    from fullpipe.study.verify.command import verify

    with user_errors():
        load_plugins(plugin)
        load_recipes(recipe)
        allow_programs(programs)
        if on is not None:
            load(on, directory)
        where = Engine(engine.value, threads)
        if not verify(directory, sample=sample, engine=where, as_json=as_json):
            raise SystemExit(1)
