"""`fullpipe fleet simulate`."""

from pathlib import Path
from typing import Annotated

import typer

from fullpipe.commands.options import Engine, new_directory, setting
from fullpipe.errors import fail, user_errors


def command(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            parser=new_directory,
            help="Keep all there, or go on with what it has.",
        ),
    ],
    paths: Annotated[
        int, typer.Option(min=1, max=100_000_000, metavar="N", help="How many.")
    ] = 10_000,
    cc: Annotated[
        str, typer.Option(metavar="ARM,ARM", help="Algorithms, or arms of the population.")
    ] = "cubic,bbr1,bbr2,bbr3",
    preset: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="A population that comes with the program, or a TOML file."
        ),
    ] = "edge-2019",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Draw a key from this on all paths: 'path.rtt={5ms..50ms log}'.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="The seed of everything random.")
    ] = 1,
    engine: Annotated[
        Engine,
        typer.Option(help="Threads here, or a Ray cluster: RAY_ADDRESS, or one on this machine."),
    ] = Engine.LOCAL,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Paths side by side; a core each.")
    ] = None,
) -> None:
    """Download over each path of a population under each algorithm; what is there already is not run again.

    For example: fullpipe fleet simulate --paths 10000 --cc cubic,bbr1,bbr3 --out fleet
    """
    from fullpipe.fleet.population.command import simulate
    from fullpipe.fleet.population.spec import PopulationSpec, population

    with user_errors():
        try:
            text, file = population(preset)
        except FileNotFoundError as error:
            fail(f"--preset {error}")
        arms = [name.strip() for name in cc.split(",") if name.strip()]
        changes = [setting(each) for each in set_ or []]
        simulate(
            PopulationSpec(text, file, arms, paths, seed, changes),
            out,
            engine=engine.value,
            threads=threads,
        )
