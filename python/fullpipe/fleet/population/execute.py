"""Fills a fleet directory with simulated paths: what is missing, on threads here or on Ray."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from fullpipe.fleet.population.store import Store
from fullpipe.sweeps.engines import cores, local, on_ray

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
    store = Store(directory, spec, command, called or str(directory))
    done = packets = 0
    with store.alone():
        missing = store.missing()
        if missing:
            left = sum(end - first for first, end in missing)
            counter.begin(spec.paths, spec.paths - left, "paths")
            if engine == "ray":
                steps = on_ray(spec, missing, SHARD_S)
            else:
                steps = local(spec, missing, threads or cores(), SHARD_S)
            with closing(steps):
                for step in steps:
                    done, packets = step.runs, step.packets
                    counter.show(done, packets)
                    if step.shard:
                        store.add(*step.shard)
        store.finish()
    return done, packets
