"""Where runs execute, `--engine` and `--threads`, and the steps in which an execution tells its progress."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.errors import UserError
from fullpipe.runners import SIMULATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from fullpipe._core import _Rows
    from fullpipe.run import Run

LOCAL, RAY = "local", "ray"
ENGINES = (LOCAL, RAY)


@dataclass(frozen=True)
class Engine:
    """Where runs execute.

    Attributes:
        name: `local` for threads of this process, or `ray` for a Ray cluster.
        threads: The number of runs at a time in this process; None for one per core.

    Raises:
        ValueError: When there is no engine of this name.
    """

    name: str = LOCAL
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise ValueError(f"no engine {self.name!r}; the engines are {', '.join(ENGINES)}")

    @property
    def at_once(self) -> int:
        """The number of runs at a time in this process."""
        return self.threads or cores()


HERE = Engine()
"""One thread of this process per core."""


class ClusterError(UserError):
    """The cluster can't execute the runs.

    Attributes:
        problem: The reason.
        fix: What the user can do.
    """

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(f"{problem}\n  fix: {fix}")
        self.problem, self.fix = problem, fix


class NoClusterError(ClusterError):
    """There is no cluster, or it can't get what the runs need; no run has begun."""


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
