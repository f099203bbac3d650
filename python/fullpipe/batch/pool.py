"""Executes a plan of the core: on its pool of threads in this process, or on the workers of a Ray cluster.

Execution is a generator: each step has the progress, and may have a shard. Closing the generator stops it.
"""

from __future__ import annotations

import logging
import math
import os
import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fullpipe.batch.spec import build
from fullpipe.runners import SIMULATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from fullpipe import _core
    from fullpipe._core import _Rows
    from fullpipe.run import Run

    Ranges = Sequence[tuple[int, int]]

_LOOK_UP_S = 0.1
_ENDLESS_S = 1e9
ENGINES = ("local", "ray")


class Shard(NamedTuple):
    """Finished runs.

    Attributes:
        first: The number of the first run.
        end: The number after that of the last run.
        rows: Their metrics.
        runner: Their runner.
        more: Further columns, with one value each.
        run: The run itself, for a single run outside of the core's pool.
    """

    first: int
    end: int
    rows: _Rows
    runner: str = SIMULATOR
    more: Mapping[str, object] = {}
    run: Run | None = None


class Step(NamedTuple):
    """The progress of an execution.

    Attributes:
        runs: The number of finished runs.
        packets: The packets that they moved.
        shard: Runs that finished since the previous shard, if any.
        left_s: The seconds that the remaining runs take; None without an estimate.
    """

    runs: int
    packets: int
    shard: Shard | None = None
    left_s: float | None = None


def drain(
    steps: Generator[Step, None, None],
    show: Callable[[Step], object],
    store: Callable[[Shard], object],
) -> tuple[int, int]:
    """Executes to the end; returns the number of runs, and the packets that they moved."""
    runs = packets = 0
    with closing(steps):
        for step in steps:
            runs, packets = step.runs, step.packets
            if step.shard:
                store(step.shard)
            show(step)
    return runs, packets


def cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Planned(Protocol):
    """A dataclass that makes a plan, in this process or in a worker that it is sent to."""

    @property
    def file(self) -> str:
        """The name of its text in errors."""

    @property
    def identity(self) -> str:
        """A fingerprint of everything that the results of a run depend on."""

    @property
    def plan(self) -> _core.SweepPlan | _core.PopulationPlan:
        """The plan."""


def pooled(
    spec: Planned,
    ranges: Ranges,
    shard_s: float,
    *,
    engine: str = "local",
    threads: int | None = None,
) -> Generator[Step, None, None]:
    """Executes ranges of runs; a shard is about `shard_s` of work.

    Args:
        spec: Makes the plan.
        ranges: Ranges of run numbers, each with the number after its last.
        shard_s: Seconds of work in a shard, which are lost when the process is killed.
        engine: One of :data:`ENGINES`.
        threads: The number of threads of this process; None for one per core.

    Raises:
        NoRayError: When Ray is requested and not installed.
    """
    if engine == "ray":
        return _on_ray(spec, ranges, shard_s)
    return _on_threads(spec, ranges, threads or cores(), shard_s)


def _on_threads(
    spec: Planned, ranges: Ranges, threads: int, shard_s: float
) -> Generator[Step, None, None]:
    running = spec.plan.start(ranges, threads, shard_s)
    try:
        while (shard := running.next(_LOOK_UP_S)) is not False:
            yield Step(running.runs, running.packets, Shard(*shard) if shard else None)
    finally:
        running.stop()


class NoRayError(RuntimeError):
    """Ray is not installed."""


def _on_ray(spec: Planned, ranges: Ranges, shard_s: float) -> Generator[Step, None, None]:
    """Executes on a Ray cluster: that of the program or of RAY_ADDRESS, or a new one on this machine.

    A task is a range of runs of about `shard_s`. Ray repeats a task if its worker is lost.
    """
    try:
        import ray
    except ImportError:
        raise NoRayError(
            "--engine ray needs Ray, which is an extra: in a clone, run pip install '.[ray]'"
        ) from None
    ours = not ray.is_initialized()
    if ours:
        ray.init(log_to_driver=False, include_dashboard=False, logging_level=logging.WARNING)
    try:
        yield from _tasks(ray, spec, ranges, shard_s)
    finally:
        if ours:
            ray.shutdown()


def _tasks(ray, spec: Planned, ranges: Ranges, shard_s: float) -> Generator[Step, None, None]:  # type: ignore[no-untyped-def]  # noqa: ANN001  (an optional module)
    task = ray.remote(num_cpus=1, max_retries=-1)(_task)
    # Only the fields are sent, since a plan can't be; the absolute path lets workers find files of
    # the scenario.
    file = os.path.abspath(spec.file)  # noqa: PTH100  (no link is followed)
    shipped = ray.put(replace(spec, file=file))  # type: ignore[type-var]
    left = [*reversed(ranges)]
    pending: list[object] = []
    runs, packets, seconds = 0, 0, 0.0
    try:
        while left or pending:
            # Two tasks per core, so that no core waits for this loop.
            while left and len(pending) < 2 * max(1, int(ray.cluster_resources().get("CPU", 1))):
                first, end = left.pop()
                some = min(end - first, math.ceil(shard_s * runs / seconds) if seconds else 1)
                pending.append(task.remote(shipped, spec.identity, build(), first, first + some))
                if first + some < end:
                    left.append((first + some, end))
            done, pending = ray.wait(pending, timeout=_LOOK_UP_S)
            yield Step(runs, packets)
            for each in done:
                shard, moved, took = ray.get(each)
                runs, packets, seconds = runs + shard[1] - shard[0], packets + moved, seconds + took
                yield Step(runs, packets, Shard(*shard))
    finally:
        for each in pending:
            ray.cancel(each, force=True)


_PLANS: dict[str, _core.SweepPlan | _core.PopulationPlan] = {}


def _task(
    spec: Planned, identity: str, expected: str, first: int, end: int
) -> tuple[tuple[int, int, _Rows], int, float]:
    """Runs a range in a worker; returns the shard, the packets that it moved, and the seconds that it took."""
    if build() != expected:
        raise RuntimeError(
            f"this worker has build {build()} of fullpipe, but the sweep needs {expected}"
        )
    # A worker may have the plan of a previous call, with fewer repetitions.
    plan = _PLANS.get(identity)
    if plan is None or plan.runs < end:
        plan = spec.plan
        _PLANS.clear()
        _PLANS[identity] = plan
    start = time.perf_counter()
    running = plan.start([(first, end)], 1, _ENDLESS_S)
    while not (shard := running.next(_LOOK_UP_S)):
        if shard is False:
            raise RuntimeError("the threads ended without a result")
    return shard, running.packets, time.perf_counter() - start
