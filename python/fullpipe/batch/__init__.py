"""Execution, order and storage of many runs, shared by the commands.

`spec.py` defines a sweep (`SweepSpec`) and its identity. There are two ways to execute runs:

- `pool.py` hands ranges of run numbers to the core's threads or to Ray, and yields shards of rows.
  The simulator uses it. `cluster.py` is the side of Ray that starts tasks, `worker.py` the other one;
  `shipped.py` sends files and modules.
- `threads.py` calls any job, serially or on threads. `other_runners.py` makes shards with it,
  `repeated.py` reduces each run of a scenario and its seeds. `threads.blocks` orders both:
  repetition by repetition, shuffled within each on a machine's clock.

`store.py` is a directory that grows shard by shard; a sweep's and a population's store derive from
it. `checkpoint.py` stores one line per run until a study is complete. The same command resumes
either.

`cells.py` makes the points of a scenario with axes, for the observatory and `evaluate`.

This package imports no command, and the packages of commands do not import each other, with four
exceptions: `reproduce` uses `fleet`, `comparison` and `evaluation` use `sweeps`, `attack` uses `checks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def kept_in(place: str | Path) -> str:
    """Returns the message of an interrupted command about its finished runs, in a directory or at a URL."""
    return f"finished runs are kept in {place}; the same command resumes there"
