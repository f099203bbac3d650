"""`fullpipe sweep`: runs the sweep with a progress bar, and prints a line per point and flow."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from fullpipe.base import terminal
from fullpipe.base.progress import Counter
from fullpipe.errors import stoppable
from fullpipe.results import objects
from fullpipe.runs.lengths import is_drifting, lengths
from fullpipe.study import kept_in
from fullpipe.study.execute import telling
from fullpipe.study.spec import command_line
from fullpipe.study.sweeps.api import usual_directory
from fullpipe.study.sweeps.dataset import Sweep
from fullpipe.study.sweeps.execute import Execution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullpipe.runners import Runner
    from fullpipe.study.engine import Engine
    from fullpipe.study.spec import SweepSpec
    from fullpipe.study.sweeps.until import Until


def sweep(
    spec: SweepSpec,
    *,
    out: str | None,
    trace: str | None,
    engine: Engine,
    until: Until | str | None = None,
    runners: Sequence[Runner],
    as_json: bool = False,
    asked: Sequence[str] = (),
) -> bool:
    """Executes the missing runs and prints all results; returns whether the rule holds, True without one.

    With the rule "steady", `out` has a directory for each length.

    Raises:
        MetricError: When a metric of `asked` is unknown, or no run has a value of it.
        ScenarioError: When a point is refused.
        RuleError: When the runs do not have the rule's metric.
        OSError: When the directory can't be written.
    """
    from fullpipe.study.sweeps.show import facts, records, show, steadiness, warnings
    from fullpipe.study.sweeps.until import verdict

    start = time.perf_counter()
    spec.classes  # noqa: B018  (imported here: that divides the process, and the counter has a thread)
    holds, said = True, []
    if isinstance(until, str):
        for length in lengths(spec.scenarios(), until):
            longer = replace(spec, given=length.over(spec.given))
            place = length.inside(out) if out else None
            done, runs, packets = _execute(longer, place, trace, engine, None, runners)
            verdicts = list(steadiness(done).values())
            holds, said = not is_drifting(verdicts), [length.said(verdicts)]
            if holds:
                break
        plan = longer.plan
    else:
        done, runs, packets = _execute(spec, out, trace, engine, until, runners)
        plan = spec.plan
        if until:
            holds, said = verdict(until, done)
            plan = replace(spec, repeat=len(done.seeds)).plan
    wall_s = time.perf_counter() - start
    if as_json:
        print(records(done, asked))
        if not holds:
            print(*said, sep="\n", file=sys.stderr)
        return holds
    console = terminal.console()
    show(done, console, asked)
    for line in [*said, *facts(done, plan, runs, packets, wall_s)]:
        console.print(line, markup=False, soft_wrap=True)
    for line in warnings(done):
        console.print(line, style="yellow", markup=False, soft_wrap=True)
    return holds


def _execute(
    spec: SweepSpec,
    out: str | None,
    trace: str | None,
    engine: Engine,
    until: Until | None,
    runners: Sequence[Runner],
) -> tuple[Sweep, int, int]:
    """Executes the missing runs; returns the data set, and the numbers of runs and packets."""
    place = out or usual_directory(until.first(spec) if until else spec)
    counter = Counter()
    with (
        telling(lambda: kept_in(place)),
        stoppable(lambda: counter.at, kept_in(place)),
        counter,
        objects.writable(place) as (directory, push),
    ):
        execution = Execution(
            directory,
            counter,
            command_line(),
            called=f"--out {out}" if out else None,
            trace=trace,
            engine=engine,
            until=until,
            runners=runners,
            push=push,
        )
        runs, packets = execution.run(spec)
    return Sweep(directory, called=str(place)), runs, packets
