"""Executes a plan of the core: on its pool of threads in this process, or on a Ray cluster (`cluster.py`).

Execution is a generator: each step has the progress, and may have a shard. Closing the generator stops it.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fullpipe.errors import Exit
from fullpipe.runners import SIMULATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from fullpipe import _core
    from fullpipe._core import _Rows
    from fullpipe.controllers import Given
    from fullpipe.run import Run

    Ranges = Sequence[tuple[int, int]]

_LOOK_UP_S = 0.1
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
    def text(self) -> str:
        """Its text, TOML."""

    @property
    def file(self) -> str:
        """The name of its text in errors; other files are named relative to it."""

    @property
    def settings(self) -> Sequence[tuple[str, str]]:
        """Further keys and values, as `--set` takes them."""

    @property
    def classes(self) -> Given:
        """The Python classes that it names as algorithms."""

    @property
    def plugins(self) -> Sequence[_core.Plugin]:
        """The loaded libraries that it may name."""

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
        ClusterError: When the Ray cluster can't execute the runs.
        OSError: When a file of the scenario can't be read, to send it to workers.
    """
    if engine == "ray":
        from fullpipe.batch.cluster import on_ray

        return on_ray(spec, ranges, shard_s)
    return _on_threads(spec, ranges, threads or cores(), shard_s)


def _on_threads(
    spec: Planned, ranges: Ranges, threads: int, shard_s: float
) -> Generator[Step, None, None]:
    running = spec.plan.start(ranges, threads, shard_s)
    try:
        while (shard := running.next(_LOOK_UP_S)) is not False:
            yield Step(running.runs, running.packets, Shard(*shard) if shard else None)
    finally:
        if not running.stop():
            Exit.at_once = True
