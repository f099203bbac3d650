"""Executes what is missing in a fleet directory of simulated paths, on threads here or on Ray."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.batch.pool import drain, pooled
from fullpipe.fleet.population.store import PopulationStore

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.fleet.population.spec import PopulationSpec
    from fullpipe.progress import Counter

SHARD_S = 10.0
"""What is lost when all is killed: about so much work. A shard is some files, so it is longer than a sweep's."""


def execute(
    spec: PopulationSpec,
    directory: Path,
    counter: Counter,
    *,
    command: str,
    called: str | None = None,
    engine: str = "local",
    threads: int | None = None,
) -> tuple[int, int]:
    """Runs the paths that are missing in a directory; gives how many those were, and the packets that they moved.

    Raises:
        ScenarioError: When the population is refused.
        NoRayError: When Ray is asked for and not installed.
        FileExistsError: When the directory holds something else.
        OSError: When it can't be written.
    """
    store = PopulationStore(directory, spec, command, called or str(directory))
    done = packets = 0
    with store.alone():
        if missing := store.missing():
            left = sum(end - first for first, end in missing)
            counter.begin(spec.paths, spec.paths - left, "paths")
            steps = pooled(spec, missing, SHARD_S, engine=engine, threads=threads)
            done, packets = drain(
                steps, lambda step: counter.show(step.runs, step.packets), store.add
            )
        store.finish()
    return done, packets
