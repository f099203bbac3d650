"""`fullpipe compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fullpipe.commands.declare import Argument, Option
from fullpipe.commands.options import (
    AS_JSON,
    ENGINE,
    FIRST_SEED,
    MORE_SETTINGS,
    ON,
    PLUGIN,
    PROGRAMS,
    RECIPE,
    SHOW,
    THREADS,
    UNTIL_STEADY,
    Place,
    algorithms_of,
    allow_programs,
    known_metrics,
    load_plugins,
    load_recipes,
    new_place,
    path_options,
    repeat_option,
    seed_option,
    set_option,
    setting,
)
from fullpipe.commands.shared import shares
from fullpipe.errors import fail, user_errors
from fullpipe.runners import chosen, has
from fullpipe.runs.lengths import Length
from fullpipe.stats.compare import ADVISED, LEAST_PAIRS
from fullpipe.stats.sequential import RuleError
from fullpipe.study.engine import Engine

if TYPE_CHECKING:
    from fullpipe.study.comparison.plan import Comparison


@shares()
@path_options()
def command(
    algorithms: Annotated[
        list[str] | None,
        Argument(
            metavar="ALGORITHM|DIR|URL",
            complete=("algorithms", "files"),
            help="Two or more names from `fullpipe list algorithms`, or Python classes, like my.module:Mine; or "
            "directories or URLs of results to compare instead of new runs.",
        ),
    ] = None,
    *,
    path: list[tuple[str, str]],
    cc: Annotated[
        str | None,
        Option(
            metavar="NAME,NAME",
            complete=("algorithms",),
            help="Algorithms to compare, besides those named as arguments.",
        ),
    ] = None,
    size: Annotated[
        str | None,
        Option(
            "--bytes",
            metavar="SIZE",
            help="Bytes that each flow transfers, like 1GB (default: flows are unlimited).",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        set_option(MORE_SETTINGS),
    ] = None,
    repeat: Annotated[
        int,
        repeat_option(
            "Number of runs of each algorithm and of all together, each with another seed. With fewer "
            f"than {LEAST_PAIRS} no difference is tested; fewer than {ADVISED} can mislead."
        ),
    ] = 10,
    seed: Annotated[
        int | None,
        seed_option(f"{FIRST_SEED} (default: 1)."),
    ] = None,
    out: Annotated[
        str | None,
        Option(
            metavar="DIR|URL",
            parser=new_place,
            help="Directory or s3://BUCKET/PREFIX for the results (default: a name in results/). An interrupted "
            "comparison resumes there.",
        ),
    ] = None,
    on: Annotated[str, Option(metavar="RUNNER,RUNNER", help=ON, complete=("runners",))] = "sim",
    until: Annotated[str | None, UNTIL_STEADY] = None,
    engine: Annotated[Place, ENGINE] = Place.LOCAL,
    threads: Annotated[int | None, THREADS] = None,
    show: Annotated[
        str | None, Option(metavar="METRIC,METRIC", help=SHOW, complete=("metrics",))
    ] = None,
    plugin: Annotated[list[str] | None, PLUGIN] = None,
    recipe: Annotated[list[Path] | None, RECIPE] = None,
    programs: Annotated[bool, PROGRAMS] = False,
    as_json: Annotated[bool, Option("--json", help=AS_JSON)] = False,
) -> None:
    """Compare algorithms on one path, or kept results.

    Runs each algorithm alone, then all together, one flow of each. Prints a table with 95 %
    intervals, and sentences on the largest significant differences. With --on quic and without a
    path the flows use this machine's loopback. Of directories that run, sweep or compare wrote, it
    compares what differs between their scenarios, and runs nothing.

    Examples:
        fullpipe compare cubic bbr3
        fullpipe compare cubic bbr1 bbr3 --rate 20mbit --rtt 80ms --buffer 8bdp
        fullpipe compare cubic bbr3 --profile lte --repeat 30
        fullpipe compare results/lte results/lte-fq
    """
    from fullpipe.study.comparison.command import compare
    from fullpipe.study.comparison.plan import TooFewError, plan
    from fullpipe.study.comparison.stored import are_stored, compare_stored

    settings = list(path)
    names = [*(algorithms or []), *([cc] if cc else [])]
    try:
        with user_errors():
            asked = known_metrics(show)
            settings += [setting(text) for text in set_ or []]
            load_plugins(plugin)
            load_recipes(recipe)
            allow_programs(programs)
            if are_stored(names):
                options = {
                    "--out": out,
                    "--bytes": size,
                    "--seed": seed,
                    "--engine": None if engine is Place.LOCAL else engine,
                    "--threads": threads,
                    **dict(settings),
                }
                _refuse([key for key, value in options.items() if value is not None])
                if until is not None:
                    _refuse(["--until"])
                compare_stored(names, asked, as_json=as_json)
                return
            runners = chosen(on)
            loopback = all(has(runner.name, "loopback") for runner in runners)
            those = algorithms_of(names)

            def planned(length: Length | None) -> "Comparison":
                keys = length.over(settings) if length else settings
                return plan(those, keys, repeat, seed, size=size, loopback=loopback)

            holds = compare(
                planned,
                out=out,
                runners=runners,
                engine=Engine(engine.value, threads),
                as_json=as_json,
                asked=asked,
                until=until,
            )
    except TooFewError as error:
        fail(error)
    except RuleError as error:
        fail(f"--until: {error}")
    if not holds:
        raise SystemExit(1)


def _refuse(given: list[str]) -> None:
    """Refuses options of new runs for directories."""
    if given:
        option = f"--{given[0].removeprefix('path.').removeprefix('--')}"
        fail(
            f"{option} belongs to new runs, and kept results have theirs\n  fix: leave it out, or name algorithms"
        )
