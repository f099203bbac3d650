"""Where the runs of a sweep go on: on threads of this process, or on the workers of a Ray cluster.

An engine is a generator: each step says how far it is, and may hand over a shard. Closed, it stops.
"""

from __future__ import annotations

import logging
import math
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fullpipe.sweeps.spec import build

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from fullpipe import _core
    from fullpipe._core import _Rows

    Ranges = Sequence[tuple[int, int]]

_LOOK_UP_S = 0.1
_ENDLESS_S = 1e9


class Step(NamedTuple):
    """How many runs are done, and the packets that they moved; a shard has its first run's number and the next."""

    runs: int
    packets: int
    shard: tuple[int, int, _Rows] | None = None


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Planned(Protocol):
    """What an engine can run, a dataclass: it makes a plan, here and wherever it is sent to."""

    @property
    def file(self) -> str:
        """What errors call its text."""

    @property
    def identity(self) -> str:
        """A fingerprint of all that decides what comes out of a run."""

    @property
    def plan(self) -> _core.SweepPlan | _core.FleetPlan:
        """The plan."""


def local(
    spec: Planned, ranges: Ranges, threads: int, shard_s: float
) -> Generator[Step, None, None]:
    """On threads of this process; a shard is about `shard_s` of work."""
    running = spec.plan.start(ranges, threads, shard_s)
    try:
        while (shard := running.next(_LOOK_UP_S)) is not False:
            yield Step(running.runs, running.packets, shard)
    finally:
        running.stop()


class NoRayError(RuntimeError):
    """Ray is not installed."""


def on_ray(spec: Planned, ranges: Ranges, shard_s: float) -> Generator[Step, None, None]:
    """On a Ray cluster: the one that the program or RAY_ADDRESS names, or one that is started on this machine.

    A task is a range of runs of about `shard_s`. One that is lost with its worker is run again by Ray.

    Raises:
        NoRayError: When Ray is not installed.
    """
    try:
        import ray
    except ImportError:
        raise NoRayError(
            "--engine ray needs Ray, which is an extra: pip install 'fullpipe[ray]'"
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
    # The fields alone, since a plan can't be sent; what the scenario takes from files is found from
    # anywhere.
    file = os.path.abspath(spec.file)  # noqa: PTH100  (no link is followed)
    shipped = ray.put(replace(spec, file=file))  # type: ignore[type-var]
    left = [*reversed(ranges)]
    pending: list[object] = []
    runs, packets, seconds = 0, 0, 0.0
    try:
        while left or pending:
            # Two a core, so that none waits for us.
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
                yield Step(runs, packets, shard)
    finally:
        for each in pending:
            ray.cancel(each, force=True)


_PLANS: dict[str, _core.SweepPlan | _core.FleetPlan] = {}


def _task(
    spec: Planned, identity: str, expected: str, first: int, end: int
) -> tuple[tuple[int, int, _Rows], int, float]:
    """Runs a range in a worker; the shard, the packets that it moved, and the seconds that it took."""
    if build() != expected:
        raise RuntimeError(
            f"this worker has build {build()} of fullpipe, the sweep is one of {expected}"
        )
    if identity not in _PLANS:
        _PLANS.clear()
        _PLANS[identity] = spec.plan
    start = time.perf_counter()
    running = _PLANS[identity].start([(first, end)], 1, _ENDLESS_S)
    while not (shard := running.next(_LOOK_UP_S)):
        if shard is False:
            raise RuntimeError("the threads ended without a shard")
    return shard, running.packets, time.perf_counter() - start
