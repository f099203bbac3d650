"""Executes a plan of the core: on its pool of threads in this process, or on a Ray cluster (`cluster.py`).

Execution is a generator: each step has the progress, and may have a shard. Closing the generator stops it.

The runs of an interpreter share the modules of a user's algorithms, and its libraries. So one run of such an algorithm
runs first, and again after all others: a difference is an error.
"""

from __future__ import annotations

import tomllib
from contextlib import closing, nullcontext
from itertools import islice
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.base.frame import table
from fullpipe.errors import Exit, UnrepeatableError, interrupt_calls, interruptible
from fullpipe.study.cluster import on_ray
from fullpipe.study.engine import RAY, Shard, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator

    from fullpipe._core import _Rows
    from fullpipe.study.cluster import Ranges
    from fullpipe.study.engine import Engine
    from fullpipe.study.spec import Planned

_LOOK_UP_S = 0.1
_PATIENCE_S = 0.5


def pooled(
    spec: Planned,
    ranges: Ranges,
    shard_s: float,
    engine: Engine,
    *,
    again: bool = True,
) -> Generator[Step, None, None]:
    """Executes ranges of runs; a shard is about `shard_s` of work.

    Args:
        spec: Makes the plan.
        ranges: Ranges of run numbers, each with the number after its last.
        shard_s: Seconds of work in a shard, which are lost when the process is killed.
        engine: Where they execute.
        again: Whether the first run of a user's algorithm runs again at the end.

    Raises:
        UnrepeatableError: When a run of a user's algorithm had other results when it ran again.
        ClusterError: When the Ray cluster can't execute the runs.
        OSError: When a file of the scenario can't be read, to send it to workers.
    """

    def steps(some: Ranges) -> Generator[Step, None, None]:
        return (_on_ray if engine.name == RAY else _on_threads)(spec, some, engine, shard_s)

    own = {name for name, *_ in spec.classes} | {each.name for each in spec.plugins}
    found = _first_of(spec.plan, ranges, own) if again and own else None
    return steps(ranges) if found is None else _again(spec, ranges, found, steps)


def _first_of(
    plan: _core.SweepPlan | _core.PopulationPlan, ranges: Ranges, own: Collection[str]
) -> tuple[int, str] | None:
    """Returns the first run that has one of the named algorithms, and its name."""
    if isinstance(plan, _core.PopulationPlan):
        return None
    runs = (number for first, end in ranges for number in range(first, end))
    for number in islice(runs, plan.points):
        point = number % plan.points
        tables = tomllib.loads(plan.scenarios(point, point + 1)[0])
        each = [*tables.get("flow", []), *tables.get("workload", [])]
        if name := next((it["cc"] for it in each if it.get("cc") in own), None):
            return number, name
    return None


def _again(
    spec: Planned,
    ranges: Ranges,
    found: tuple[int, str],
    steps: Callable[[Ranges], Generator[Step, None, None]],
) -> Generator[Step, None, None]:
    number, name = found
    one = [(number, number + 1)]
    others = [
        part
        for first, end in ranges
        for part in ((first, min(end, number)), (max(first, number + 1), end))
        if part[0] < part[1]
    ]
    runs = packets = 0
    once: _Rows | None = None
    for some in (one, others):
        last = Step(0, 0)
        with closing(steps(some)) as part:
            for last in part:
                if some is one and last.shard:
                    once = last.shard.rows
                yield last._replace(runs=runs + last.runs, packets=packets + last.packets)
        runs, packets = runs + last.runs, packets + last.packets
    with closing(steps(one)) as part:
        again = next(step.shard.rows for step in part if step.shard)
    assert once is not None
    if not table(once).equals(table(again)):
        raise UnrepeatableError(unrepeatable(name, spec.file))


def unrepeatable(name: str, where: str) -> str:
    """Returns the error about an algorithm with which a run had other results when it ran again."""
    return (
        f"{where}: cc = {name}: the first run has other results when it runs again at the end, so they depend on the "
        "order of the runs, or on the time\n"
        "  fix: keep all state in self or in config.group, none in the class, the module, a default of an argument or "
        "a static variable; draw from cx.random() alone, and read no clock"
    )


def _stop(running: _core.SweepRun) -> None:
    """Stops the core's threads; the command ends without one whose algorithm does not return."""
    if not running.stop(_PATIENCE_S):
        interrupt_calls()
        Exit.at_once = not running.stop(_PATIENCE_S)


def _on_threads(
    spec: Planned, ranges: Ranges, engine: Engine, shard_s: float
) -> Generator[Step, None, None]:
    with interruptible() if spec.classes or spec.plugins else nullcontext():
        running = spec.plan.start(ranges, engine.at_once, shard_s)
        try:
            while (shard := running.next(_LOOK_UP_S)) is not False:
                yield Step(running.runs, running.packets, Shard(*shard) if shard else None)
        finally:
            _stop(running)


def _on_ray(
    spec: Planned, ranges: Ranges, _engine: Engine, shard_s: float
) -> Generator[Step, None, None]:
    with closing(on_ray(spec, ranges, shard_s)) as looks:
        for runs, packets, done in looks:
            yield Step(runs, packets, Shard(done.first, done.end, done.made) if done else None)
