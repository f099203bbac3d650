"""`fullpipe compare`: runs the comparison, and shows the results as a table, sentences and a picture."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from fullpipe.base import terminal
from fullpipe.base.progress import Counter
from fullpipe.errors import printing, stoppable
from fullpipe.report.panels import steady
from fullpipe.results import objects
from fullpipe.runs.lengths import is_drifting, lengths
from fullpipe.study import kept_in
from fullpipe.study.comparison import control
from fullpipe.study.comparison.plan import open_directory
from fullpipe.study.execute import one_cluster, refuse_engine, telling
from fullpipe.study.spec import command_line
from fullpipe.study.sweeps.execute import Execution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fullpipe.results.model import Results
    from fullpipe.runners import Runner
    from fullpipe.runs.lengths import Length
    from fullpipe.study.comparison.plan import Comparison
    from fullpipe.study.engine import Engine


def compare(
    planned: Callable[[Length | None], Comparison],
    *,
    out: str | None,
    runners: Sequence[Runner],
    engine: Engine,
    as_json: bool,
    asked: Sequence[str] = (),
    until: str | None = None,
) -> bool:
    """Executes the missing runs, and prints all results; returns False if numbers still drift, with `until`.

    Args:
        planned: Makes the plan for a length; None for the usual one.
        out: The directory or URL; None for one in `results/`. With `until` it has a directory for each length.
        runners: The runners.
        engine: Where the runs execute.
        as_json: Whether to print JSON.
        asked: The metrics to show; none for the usual ones.
        until: "steady" to prolong the runs until no number drifts.

    Raises:
        MetricError: When a metric of `asked` is unknown, or no run has a value of it.
        ScenarioError: When a run would need more memory than is free.
        RunnerError: When the runs can't execute there.
        ObjectsError: When the object store can't be read or written.
        OSError: When the directory can't be written.
        RuleError: When `until` is another rule.
    """
    from fullpipe.runs.view.path import path_line
    from fullpipe.study.comparison.show import facts, fingerprint_of, records, show

    start = time.perf_counter()
    refuse_engine(engine, runners)
    comparison = planned(None)
    said, holds = "", True
    if until is None:
        kept, runs, packets = _execute(comparison, out, runners, engine)
    else:
        runs = packets = 0
        for length in lengths(comparison.specs[1][1].scenarios(), until):
            comparison = planned(length)
            place = length.inside(out) if out else None
            kept, done, moved = _execute(comparison, place, runners, engine)
            runs, packets = runs + done, packets + moved
            verdicts = list(steady.verdicts(kept).values())
            said, holds = length.said(verdicts), not is_drifting(verdicts)
            if holds:
                break
    wall_s = time.perf_counter() - start
    directory = kept.directory
    with printing():
        if as_json:
            terminal.print_alone(
                records(kept, asked, control.records(directory), fingerprint_of(directory))
            )
            if not holds:
                print(said, file=sys.stderr)
            return holds
        console = terminal.console()
        show(kept, path_line(next(comparison.specs[0][1].scenarios())), console, asked)
        for line in control.told(directory):
            console.print(line, markup=False)
        if said:
            console.print(said, markup=False)
        for line in facts(kept, comparison.specs[0][1], runs, packets, wall_s):
            console.print(line, markup=False, soft_wrap=True)
    return holds


def _execute(
    comparison: Comparison, out: str | None, runners: Sequence[Runner], engine: Engine
) -> tuple[Results, int, int]:
    """Executes the missing runs; returns all results, and the numbers of runs and packets."""
    from fullpipe.results.load import load
    from fullpipe.study.comparison.picture import draw

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
    return kept, runs, packets
