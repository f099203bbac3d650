"""`python -m fullpipe.wings.search.observatory DIR`: executes the missing runs, and writes the site into DIR/site."""

import sys
import time
from pathlib import PurePath
from typing import Annotated

from fullpipe.base.progress import Counter
from fullpipe.commands.declare import Argument, Option, command_of
from fullpipe.commands.listing import SETTINGS, exited
from fullpipe.commands.options import ENGINE, THREADS, Place, new_place, repeat_option, stack_option
from fullpipe.commands.shared import PATH, shares
from fullpipe.errors import (
    ending,
    fail,
    heed_signals,
    printing,
    stoppable,
    tracebacks,
    user_errors,
)
from fullpipe.results import disk, objects, parents, read_parquet
from fullpipe.study import kept_in
from fullpipe.study.cells import stack_of_cells
from fullpipe.study.engine import Engine
from fullpipe.study.execute import one_cluster, telling
from fullpipe.study.store import alone
from fullpipe.wings.search.observatory import measure, plan, site


@shares(
    ("the families have the paths", [PATH, "--duration", "--set"]),
    (
        "its site has the built-in algorithms in simulated time",
        ["--plugin", "--recipe", "--programs", "--on"],
    ),
    ("it is compared with an earlier one seed by seed", ["--seed"]),
)
def observatory(
    out: Annotated[
        str,
        Argument(
            metavar="DIR|URL",
            parser=new_place,
            help="Directory or s3://BUCKET/PREFIX of the runs and the site.",
        ),
    ],
    small: Annotated[
        bool, Option("--small", help="First and last value of each axis, three seeds.")
    ] = False,
    cc: Annotated[
        str | None, Option(metavar="NAME,NAME", help="Algorithms (default: all built-in ones).")
    ] = None,
    family: Annotated[
        str | None, Option(metavar="NAME,NAME", help="Families of paths (default: all).")
    ] = None,
    stack: Annotated[str | None, stack_option("the families'")] = None,
    repeat: Annotated[
        int | None,
        repeat_option(
            "Number of runs of each cell, each with another seed; from 3 on the numbers have intervals "
            "(default: 30; 3 with --small)."
        ),
    ] = None,
    engine: Annotated[Place, ENGINE] = Place.LOCAL,
    threads: Annotated[int | None, THREADS] = None,
    against: Annotated[
        str | None,
        Option(
            metavar="DIR|URL", help="Directory or URL of an earlier observatory to compare with."
        ),
    ] = None,
    as_json: Annotated[
        bool,
        Option(
            "--json",
            help="Print the value of each metric and seed as a JSON list, and nothing else.",
        ),
    ] = False,
) -> None:
    """Run every algorithm on many paths, and write the results as a site.

    Executes the missing runs of the families of paths, and writes the site into DIR/site. The same command resumes
    an interrupted one: finished runs are not repeated.

    Examples:
        python -m fullpipe.wings.search.observatory out --small
    """
    every = plan.families(small=small, stack=stack)
    names = _chosen("--family", family, [each.name for each in every])
    families = [each for each in every if each.name in names]
    algorithms = _chosen("--cc", cc, plan.algorithms())
    seeds = repeat or (plan.SMALL_SEEDS if small else plan.SEEDS)
    where = Engine(engine.value, threads)
    counter, start = Counter(), time.perf_counter()
    with user_errors():
        earlier = _earlier(against) if against else None
        with (
            telling(lambda: kept_in(out)),
            stoppable(lambda: counter.at, kept_in(out)),
            objects.writable(out) as (directory, push),
            parents(directory.resolve()),
        ):
            disk.make_folder(directory)
            with alone(directory):
                with counter, one_cluster(where):
                    values = measure.measured(
                        families,
                        algorithms,
                        seeds,
                        directory,
                        counter,
                        "make observatory",
                        where,
                        push,
                    )
                site.write(families, algorithms, values, directory / "site", earlier)
    if as_json:
        print(values.write_json())
    else:
        seconds = time.perf_counter() - start
        print(f"{out}/site/index.html: stack {stack_of_cells(families)}, after {seconds:.0f} s")


def _chosen(option: str, given: str | None, known: list[str]) -> list[str]:
    """Returns the names that an option has, or all."""
    if given is None:
        return known
    names = [name.strip() for name in given.split(",")]
    for name in names:
        if name not in known:
            fail(f"{option} {name}: no such name\n  fix: write some of {', '.join(known)}")
    return names


def _earlier(place: str) -> site.Earlier:
    """Reads an earlier observatory.

    Raises:
        OSError: When it is not there.
        DamagedError: When its values are damaged.
    """
    directory = objects.local(place)
    files = measure.kept_values(directory)
    if not files:
        fail(
            f"--against {place}: no {measure.VALUES}-….parquet is there\n  fix: name the directory of an observatory"
        )
    if len(files) > 1:
        fail(
            f"--against {place}: {files[0].name} and {files[1].name} are there\n"
            "  fix: run the command that made it again"
        )
    values = read_parquet(files[0], list(measure.COLUMNS))
    return site.Earlier(f"fullpipe {values['version'][0]} in {PurePath(place).name}", values)


command = command_of(observatory, "python -m fullpipe.wings.search.observatory")

if __name__ == "__main__":
    heed_signals()
    with ending(), tracebacks(), printing():
        exited(lambda: command.main(sys.argv[1:], command.name, standalone_mode=False, **SETTINGS))
