"""`python -m fullpipe.wings.search.observatory DIR`: executes the missing runs, and writes the site into DIR/site."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from fullpipe.batch import kept_in
from fullpipe.batch.store import alone
from fullpipe.errors import (
    ending,
    fail,
    heed_signals,
    printing,
    stoppable,
    tracebacks,
    user_errors,
)
from fullpipe.progress import Counter
from fullpipe.results import disk, parents, read_parquet
from fullpipe.wings.search.observatory import measure, plan, site


def main(arguments: list[str] | None = None) -> None:
    """Makes the observatory that the arguments ask for."""
    parser = argparse.ArgumentParser(
        prog="python -m fullpipe.wings.search.observatory", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("out", type=Path, metavar="DIR", help="directory of the runs and the site")
    parser.add_argument(
        "--small", action="store_true", help="first and last value of each axis, three seeds"
    )
    parser.add_argument("--cc", metavar="NAMES", help="algorithms (default: all built-in ones)")
    parser.add_argument("--family", metavar="NAMES", help="families (default: all)")
    parser.add_argument("--repeat", type=int, metavar="N", help="seeds of each cell")
    parser.add_argument("--threads", type=int, metavar="N", help="runs at a time")
    parser.add_argument(
        "--against", type=Path, metavar="DIR", help="compare with this earlier observatory"
    )
    asked = parser.parse_args(arguments)
    if asked.repeat is not None and asked.repeat < 1:
        fail(f"--repeat {asked.repeat}: no run\n  fix: write 1 or more; 3 have an interval")
    every = plan.families(small=asked.small)
    names = _chosen("--family", asked.family, [each.name for each in every])
    families = [each for each in every if each.name in names]
    algorithms = _chosen("--cc", asked.cc, plan.algorithms())
    seeds = asked.repeat or (plan.SMALL_SEEDS if asked.small else plan.SEEDS)
    counter, start = Counter(), time.perf_counter()
    with user_errors():
        earlier = _earlier(asked.against) if asked.against else None
        with stoppable(lambda: counter.at, kept_in(asked.out)), parents(asked.out.resolve()):
            disk.make_folder(asked.out)
            with alone(asked.out):
                with counter:
                    values = measure.measured(
                        families,
                        algorithms,
                        seeds,
                        asked.out,
                        counter,
                        "make observatory",
                        asked.threads,
                    )
                site.write(families, algorithms, values, asked.out / "site", earlier)
    print(f"{asked.out / 'site/index.html'}, after {time.perf_counter() - start:.0f} s")


def _chosen(option: str, given: str | None, known: list[str]) -> list[str]:
    """Returns the names that an option has, or all."""
    if given is None:
        return known
    names = [name.strip() for name in given.split(",")]
    for name in names:
        if name not in known:
            fail(f"{option} {name}: no such name\n  fix: write some of {', '.join(known)}")
    return names


def _earlier(place: Path) -> site.Earlier:
    """Reads an earlier observatory.

    Raises:
        OSError: When it is not there.
        DamagedError: When its values are damaged.
    """
    files = measure.kept_values(place)
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
    return site.Earlier(f"fullpipe {values['version'][0]} in {place.name}", values)


if __name__ == "__main__":
    heed_signals()
    with ending(), tracebacks(), printing():
        main(sys.argv[1:])
