"""Runs the paths missing in a fleet directory, on local threads or on Ray."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullpipe.study.engine import HERE, drain
from fullpipe.study.execute import simulated
from fullpipe.wings.fleet.population.store import PopulationStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fullpipe.base.progress import Counter
    from fullpipe.study.engine import Engine, Step
    from fullpipe.wings.fleet.population.spec import PopulationSpec

SHARD_S = 10.0
"""Approximate duration of a shard: the work lost if the process is killed. It is longer than a
sweep's, since each shard writes several files."""


def execute(
    spec: PopulationSpec,
    directory: Path,
    counter: Counter,
    *,
    command: str,
    called: str | None = None,
    engine: Engine = HERE,
    push: Callable[[], object] = lambda: None,
) -> tuple[int, int]:
    """Runs the paths missing in a directory; returns the numbers of paths run and packets moved.

    Calls `push` several times a second, after changes of the directory.

    Raises:
        ScenarioError: When the population is invalid.
        ClusterError: When the Ray cluster can't execute the runs.
        FileExistsError: When the directory holds something else.
        OSError: When the directory can't be written.
    """
    store = PopulationStore(directory, spec, command, called or str(directory))
    done = packets = 0
    with store.alone():
        missing = store.missing()
        for text in store.repaired:
            counter.note(text)
        if missing:
            left = sum(end - first for first, end in missing)
            counter.begin(spec.paths, spec.paths - left, "paths")
            steps = simulated(spec, missing, SHARD_S, engine)

            def show(step: Step) -> None:
                counter.show(step.runs, step.packets)
                push()

            done, packets = drain(steps, show, store.add)
        store.finish()
    return done, packets
