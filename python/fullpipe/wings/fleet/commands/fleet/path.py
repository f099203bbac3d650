"""`fullpipe fleet path`."""

from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.errors import fail, user_errors


def command(
    directory: Annotated[
        str,
        Argument(
            metavar="DIR|URL",
            help="Fleet directory that `fullpipe fleet simulate` made, or its URL.",
        ),
    ],
    number: Annotated[
        int,
        Argument(min=0, metavar="N", help="Number of the path: the column `pair` of the tables."),
    ],
    arm: Annotated[
        str | None,
        Option(metavar="ARM", help="Arm of the scenario (default: the first one)."),
    ] = None,
) -> None:
    """Print one path of a simulated fleet as a scenario.

    Examples:
        fullpipe fleet path fleet 17 --arm bbr1 > path.toml
        fullpipe run path.toml
    """
    from fullpipe.results.objects import local
    from fullpipe.wings.fleet.population.store import opened

    with user_errors():
        try:
            spec = opened(local(directory))
        except FileNotFoundError as error:
            fail(error)
        if arm is not None and arm not in spec.arms:
            fail(f"--arm {arm}: not in {directory}\n  fix: choose one of {', '.join(spec.arms)}")
        if number >= spec.paths:
            fail(
                f"{number}: {directory} has {spec.paths:,} paths\n  fix: choose 0 to {spec.paths - 1:,}"
            )
        print(spec.plan.scenario(number, spec.arms.index(arm) if arm else 0), end="")
