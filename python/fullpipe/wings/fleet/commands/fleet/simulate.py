"""`fullpipe fleet simulate`."""

from typing import Annotated

from fullpipe.commands.declare import Option
from fullpipe.commands.options import (
    AS_JSON,
    ENGINE,
    THREADS,
    Place,
    new_place,
    seed_option,
    setting,
    stack_option,
    stack_setting,
)
from fullpipe.commands.shared import PATH, shares
from fullpipe.errors import fail, user_errors
from fullpipe.study.engine import Engine


@shares(
    ("the population has the paths", [PATH, "--duration"]),
    (
        "it runs fullpipe's own algorithms, in simulated time",
        ["--plugin", "--recipe", "--programs", "--on"],
    ),
    ("`--paths` is the number of draws", ["--repeat"]),
)
def command(
    out: Annotated[
        str,
        Option(
            "--out",
            "-o",
            metavar="DIR|URL",
            parser=new_place,
            help="Fleet directory or s3://BUCKET/PREFIX to make. An interrupted command resumes there.",
        ),
    ],
    paths: Annotated[
        int,
        Option(
            min=1, max=100_000_000, metavar="N", help="Number of paths to draw from the population."
        ),
    ] = 10_000,
    cc: Annotated[
        str,
        Option(metavar="ARM,ARM", help="Algorithms, or arms that the population defines."),
    ] = "cubic,bbr1,bbr2,bbr3",
    preset: Annotated[
        str,
        Option(
            metavar="NAME",
            help="Population of paths: edge-2019, which is built in, or a TOML file.",
        ),
    ] = "edge-2019",
    stack: Annotated[str | None, stack_option("the population's")] = None,
    set_: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            complete=("settings",),
            help="Override a scenario key on every path, with a value or a range to draw from, like "
            "'path.rtt={5ms..50ms log}'; repeatable.",
        ),
    ] = None,
    seed: Annotated[
        int,
        seed_option("Seed of everything random."),
    ] = 1,
    engine: Annotated[Place, ENGINE] = Place.LOCAL,
    threads: Annotated[int | None, THREADS] = None,
    as_json: Annotated[bool, Option("--json", help=AS_JSON)] = False,
) -> None:
    """Simulate downloads on many random paths.

    Draws paths from a population of users and simulates a download over each path with each
    algorithm. `fullpipe fleet compare` reads the result. The same command resumes an interrupted
    one: finished paths are not repeated.

    Examples:
        fullpipe fleet simulate --paths 10000 --cc cubic,bbr1,bbr3 --out fleet
        fullpipe fleet compare fleet
    """
    from fullpipe.runners import refuse_kind
    from fullpipe.wings.fleet.population.command import simulate
    from fullpipe.wings.fleet.population.spec import PopulationSpec, population

    with user_errors():
        try:
            text, file = population(preset)
        except FileNotFoundError as error:
            fail(f"--preset {error}")
        arms = [name.strip() for name in cc.split(",") if name.strip()]
        for name in arms:
            refuse_kind(name, "fleet simulate", f"--cc {name}")
        changes = [*stack_setting(stack), *map(setting, set_ or [])]
        simulate(
            PopulationSpec(text, file, arms, paths, seed, changes),
            out,
            engine=Engine(engine.value, threads),
            as_json=as_json,
        )
