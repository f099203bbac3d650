"""`fullpipe reproduce`."""

from pathlib import Path
from typing import Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import (
    ENGINE,
    ON_ONE,
    PLUGIN,
    PROGRAMS,
    RECIPE,
    THREADS,
    Place,
    allow_programs,
    load_plugins,
    load_recipes,
    new_place,
    repeat_option,
    set_option,
    setting,
    stack_option,
    stack_setting,
)
from fullpipe.commands.shared import PATH, shares
from fullpipe.errors import fail, user_errors
from fullpipe.runners import runner as one_runner
from fullpipe.study.engine import Engine


@shares(
    ("the study has the paths", [PATH, "--duration"]),
    ("the study has the algorithms", ["--cc"]),
    ("it runs the seeds 1, 2, …, as its report says", ["--seed"]),
)
def command(
    name: Annotated[
        str,
        Argument(
            metavar="NAME",
            complete=("studies", "files"),
            help="Name of a study (see above), or the path of its TOML file.",
        ),
    ],
    seeds: Annotated[
        int | None,
        repeat_option("Number of runs of each case (default: as the study says).", usual="--seeds"),
    ] = None,
    out: Annotated[
        str | None,
        Option(
            metavar="DIR|URL",
            parser=new_place,
            help="New directory or s3://BUCKET/PREFIX for the results (default: results/NAME-NNN). An interrupted "
            "study resumes there.",
        ),
    ] = None,
    stack: Annotated[str | None, stack_option("the study's")] = None,
    set_: Annotated[
        list[str] | None,
        set_option("Override a key of each of its scenarios, like path.queue=codel; repeatable."),
    ] = None,
    case: Annotated[
        list[str] | None,
        Option(
            metavar="PATTERN",
            help="Cases to run, by name or pattern, like K1 or '3MB_*' (default: all); repeatable.",
        ),
    ] = None,
    variants: Annotated[
        bool,
        Option(
            "--variants",
            help="Also run the study's variants (other settings of its cases), and count the cells that each meets.",
        ),
    ] = False,
    on: Annotated[str, Option(metavar="RUNNER", help=ON_ONE)] = "sim",
    engine: Annotated[Place, ENGINE] = Place.LOCAL,
    threads: Annotated[int | None, THREADS] = None,
    plugin: Annotated[list[str] | None, PLUGIN] = None,
    recipe: Annotated[list[Path] | None, RECIPE] = None,
    programs: Annotated[bool, PROGRAMS] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print the cells as a JSON list, and nothing else.")
    ] = False,
) -> None:
    """Rerun a published study and compare the results.

    Prints for each cell of its tables and each of its claims the published value, the measured one
    and a verdict, and keeps the results with a report. Exit code 1 when a cell or claim is missed.

    Studies:
        microsoft     Microsoft 2021: CUBIC and BBRv2 on a WAN, Windows TCP
        kit           KIT 2025: BBRv3's performance and behavior
        kit-whole     KIT 2025: short flows in traces of 15 minutes
        l4s-tests     Heist and Morton 2020: Prague and CUBIC under DualPI2
        dropbox       Dropbox 2019: BBRv2 on an edge network, as a simulated fleet
        huitema       Huitema 2024: random loopback delays slow BBR down
        huitema-quic  the same with real QUIC (--on quic)
        drift         BBRv3 on such hosts: filters that outlast the noise
        kernel        Linux in simulated time: CUBIC, Reno, BBRv1 to BBRv3

    Examples:
        fullpipe reproduce microsoft
        fullpipe reproduce kit --case K1 --seeds 3
        fullpipe reproduce microsoft --on uml
    """
    from fullpipe.study.reproduce.command import reproduce
    from fullpipe.study.verdicts.reader import PublishedError

    try:
        with user_errors():
            load_plugins(plugin)
            load_recipes(recipe)
            allow_programs(programs)
            met = reproduce(
                name,
                seeds=seeds,
                settings=[*stack_setting(stack), *map(setting, set_ or [])],
                cases=case or (),
                out=out,
                as_json=as_json,
                variants=variants,
                runner=one_runner(on),
                engine=Engine(engine.value, threads),
            )
    except PublishedError as error:
        fail(error)
    if not met:
        raise SystemExit(1)
