"""`fullpipe sweep`: runs, says how far it is, and prints a line a point and flow."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fullpipe.errors import fail, stoppable
from fullpipe.progress import Counter
from fullpipe.sweeps.api import command_line, fill, usual_directory
from fullpipe.sweeps.dataset import Sweep
from fullpipe.sweeps.engines import NoRayError

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.sweeps.plan import Recipe


def sweep(
    recipe: Recipe, *, out: Path | None, trace: str | None, engine: str, threads: int | None, as_json: bool = False
) -> None:
    """Runs what is missing, and prints what came of all.

    Raises:
        ScenarioError: When a point is refused.
        OSError: When the directory can't be written.
    """
    from rich.console import Console

    from fullpipe.sweeps.show import facts, records, show

    start = time.perf_counter()
    directory = out or usual_directory(recipe)
    counter = Counter()
    kept = f"what is finished is kept in {directory}, and the same command goes on from there"
    try:
        with stoppable(lambda: counter.at, kept), counter:
            runs, packets = fill(
                recipe,
                directory,
                counter,
                command=command_line(),
                called=f"--out {out}" if out else None,
                trace=trace,
                engine=engine,
                threads=threads,
            )
    except NoRayError as error:
        fail(error)
    wall_s = time.perf_counter() - start
    done = Sweep(directory)
    if as_json:
        print(records(done))
        return
    console = Console(highlight=False)
    show(done, console)
    for line in facts(done, recipe.plan, runs, packets, wall_s):
        console.print(line, markup=False, soft_wrap=True)
