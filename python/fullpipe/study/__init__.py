"""Execution, order and storage of many runs, shared by the commands.

`spec.py` defines a sweep (`SweepSpec`) and its identity, `repeated.py` functions of runs (`Repeated`), `engine.py`
where they execute: `--engine` and `--threads`. `execute.py` is the executor, the only way to many runs. Its parts:

- `pool.py` hands ranges of run numbers to the core's threads or to Ray, and yields shards of rows.
- `cluster.py` is the side of Ray that starts tasks, `worker.py` the other one; `shipped.py` sends files and modules.
- `threads.py` calls any job on threads, and has the order of repetitions. `other_runners.py` makes shards with it.

`store.py` is a directory that grows shard by shard; a sweep's and a population's store derive from it. `records.py` is
a file that grows line by line. `checkpoint.py` keeps the finished runs of a command in it until its results are
complete. The same command resumes each.

A question has one of two forms, by the kind of its numbers. Columns of the rows of a sweep: `SweepSpec`, whose points
`check`, `compare` and `sweep` make themselves, and `evaluate` and the observatory by `question.py`, from cells
(`cells.py`), contenders and numbers. Functions of whole runs: `Repeated`, for `reproduce` and `validate`. Verdicts on
both are `Judged` (`verdicts`).

This package imports no command, and the packages of commands do not import each other, with five
exceptions: `reproduce` uses `fleet`, `comparison` and `evaluation` use `sweeps`, `attack` uses `checks`,
and `verify` uses `sweeps`, `checks` and `reproduce`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def kept_in(place: str | Path) -> str:
    """Returns the message of an interrupted command about its finished runs, in a directory or at a URL."""
    return f"finished runs are kept in {place}; the same command resumes there"
