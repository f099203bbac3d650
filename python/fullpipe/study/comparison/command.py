"""`fullpipe compare`: runs the comparison, and shows the results as a table, sentences and a picture."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fullpipe.base import terminal
from fullpipe.base.progress import Counter
from fullpipe.errors import printing, stoppable
from fullpipe.results import objects
from fullpipe.study import kept_in
from fullpipe.study.comparison import control
from fullpipe.study.comparison.plan import open_directory
from fullpipe.study.execute import one_cluster, refuse_engine, telling
from fullpipe.study.spec import command_line
from fullpipe.study.sweeps.execute import Execution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.runners import Runner
    from fullpipe.study.comparison.plan import Comparison
    from fullpipe.study.engine import Engine


def compare(
    comparison: Comparison,
    *,
    out: str | None,
    runners: Sequence[Runner],
    engine: Engine,
    as_json: bool,
    asked: Sequence[str] = (),
) -> None:
    """Executes the missing runs, and prints all results.

    Raises:
        MetricError: When a metric of `asked` is unknown, or no run has a value of it.
        ScenarioError: When a run would need more memory than is free.
        RunnerError: When the runs can't execute there.
        ObjectsError: When the object store can't be read or written.
        OSError: When the directory can't be written.
    """
    from fullpipe.results.load import load
    from fullpipe.runs.view.path import path_line
    from fullpipe.study.comparison.picture import draw
    from fullpipe.study.comparison.show import facts, records, show

    start = time.perf_counter()
    refuse_engine(engine, runners)
    place = out or comparison.usual_directory
    called = f"--out {out}" if out else str(place)
    counter = Counter()
    runs = packets = 0
    with (
        telling(lambda: kept_in(place)),
        stoppable(lambda: counter.at, kept_in(place)),
        objects.writable(place) as (directory, push),
        counter,
        one_cluster(engine),
    ):
        open_directory(directory, comparison, command_line(), called)
        for part, spec in comparison.specs:
            execution = Execution(
                directory / part,
                counter,
                command_line(),
                f"{called}, {part},",
                engine=engine,
                runners=runners,
                push=push,
            )
            done, moved = execution.run(spec)
            runs, packets = runs + done, packets + moved
        kept = load(directory)
        draw(kept, directory / "picture.png")
    wall_s = time.perf_counter() - start
    with printing():
        if as_json:
            print(records(kept, asked, control.records(directory)))
            return
        console = terminal.console()
        show(kept, path_line(next(comparison.specs[0][1].scenarios())), console, asked)
        for line in control.told(directory):
            console.print(line, markup=False)
        for line in facts(kept, comparison.specs[0][1], runs, packets, wall_s):
            console.print(line, markup=False, soft_wrap=True)
