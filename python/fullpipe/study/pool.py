"""Executes a plan of the core: on its pool of threads in this process, or on a Ray cluster (`cluster.py`).

Execution is a generator: each step has the progress, and may have a shard. Closing the generator stops it.

The runs of an interpreter share the modules of a user's algorithms, and its libraries. So one run of such an algorithm
runs first, and again after all others: a difference is an error.

Only one thread at a time runs Python. So runs with a Python class execute on one thread, or in processes side by side
(`crew.py`), if there is work for a second or more.
"""

from __future__ import annotations

import math
import time
import tomllib
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from fullpipe import _core
from fullpipe.algorithms.rehearsal import FIX, left_by, rehearse
from fullpipe.base.frame import table
from fullpipe.errors import Exit, UnrepeatableError, interrupt_calls, interruptible
from fullpipe.study.cluster import on_ray
from fullpipe.study.crew import Crew, FailedError
from fullpipe.study.engine import RAY, Shard, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from fullpipe._core import _Rows
    from fullpipe.study.cluster import Ranges
    from fullpipe.study.engine import Engine
    from fullpipe.study.spec import Planned

    Steps = Callable[..., Generator[Step, None, None]]

_LOOK_UP_S = 0.1
_PATIENCE_S = 0.5
_ENDLESS_S = 1e9
_WORTH_S = 2.0
"""Seconds of work for which a process is worth its start."""


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
        ScenarioError: When a class leaves state of one run to the next.
        UnrepeatableError: When a run of a user's algorithm had other results when it ran again.
        ClusterError: When the Ray cluster can't execute the runs.
        OSError: When a file of the scenario can't be read, to send it to workers.
    """
    rehearse((name, made) for name, made, _ in spec.classes)
    alone = replace(engine, threads=1) if spec.classes else engine

    def steps(some: Ranges, shard_s: float = shard_s) -> Generator[Step, None, None]:
        return (_on_ray if engine.name == RAY else _on_threads)(spec, some, alone, shard_s)

    found = first_of(spec, ranges) if again or spec.classes else None
    return (
        steps(ranges)
        if found is None
        else _first(spec, ranges, found, steps, engine, shard_s, again)
    )


def first_of(spec: Planned, ranges: Ranges) -> tuple[int, str] | None:
    """Returns the first run that has an algorithm of the user's, and its name."""
    own = {name for name, *_ in spec.classes} | {each.name for each in spec.plugins}
    plan = spec.plan
    if not own or isinstance(plan, _core.PopulationPlan):
        return None
    runs = (number for first, end in ranges for number in range(first, end))
    for number in islice(runs, plan.points):
        point = number % plan.points
        tables = tomllib.loads(plan.scenarios(point, point + 1)[0])
        each = [*tables.get("flow", []), *tables.get("workload", [])]
        if name := next((it["cc"] for it in each if it.get("cc") in own), None):
            return number, name
    return None


def _first(
    spec: Planned,
    ranges: Ranges,
    found: tuple[int, str],
    here: Steps,
    engine: Engine,
    shard_s: float,
    again: bool,
) -> Generator[Step, None, None]:
    number, name = found
    one = [(number, number + 1)]
    others = [
        part
        for first, end in ranges
        for part in ((first, min(end, number)), (max(first, number + 1), end))
        if part[0] < part[1]
    ]
    once: _Rows | None = None
    last, start = Step(0, 0), time.monotonic()
    with closing(here(one)) as part:
        for last in part:
            if last.shard:
                once = last.shard.rows
            yield last
    assert once is not None
    runs, packets = last.runs, last.packets
    left_s = (time.monotonic() - start) * sum(end - first for first, end in others)
    with (
        _side_by_side(spec, here, engine, shard_s, left_s) as steps,
        closing(steps(others)) as part,
    ):
        for last in part:
            yield last._replace(runs=runs + last.runs, packets=packets + last.packets)
    if not again:
        return
    with closing(here(one)) as part:
        rows = next(step.shard.rows for step in part if step.shard)
    if not table(once).equals(table(rows)):
        classes = {name: made for name, made, _ in spec.classes}
        left = left_by(classes[name], lambda: list(here(one))) if name in classes else []
        raise UnrepeatableError(unrepeatable(name, spec.file, left))


@contextmanager
def _side_by_side(
    spec: Planned, here: Steps, engine: Engine, shard_s: float, left_s: float
) -> Iterator[Steps]:
    """Yields the function that executes further runs: also in processes, if they have a class and are long."""
    wanted = spec.classes and engine.name != RAY
    number = min(engine.at_once, math.ceil(left_s / _WORTH_S)) if wanted else 1
    crew = Crew.of(spec, number - 1) if number > 1 else None
    if crew is None:
        yield here
        return

    def steps(some: Ranges) -> Generator[Step, None, None]:
        try:
            yield from crew.steps(some, shard_s, partial(here, shard_s=_ENDLESS_S))
        except FailedError as error:
            # Here, the exception has its traceback.
            yield from here([(error.first, error.end)])
            raise UnrepeatableError(
                f"{spec.file}: a run failed after others, and not alone: an algorithm keeps state from run to run\n"
                f"  fix: {FIX}\n{error.text}"
            ) from None

    with closing(crew):
        yield steps


def unrepeatable(name: str, where: str, left: Sequence[str] = ()) -> str:
    """Returns the error about an algorithm with which a run had other results when it ran again, and left state."""
    what = f": {' and '.join(left)} outlives a run" if left else ""
    return (
        f"{where}: cc = {name}: the first run has other results when it runs again at the end, so they depend on the "
        f"order of the runs, or on the time{what}\n  fix: {FIX}"
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
