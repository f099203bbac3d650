"""Runs a range of a plan in a worker of a Ray cluster."""

from __future__ import annotations

import pickle
import socket
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe._core import ScenarioError
from fullpipe.batch.shipped import Unpacked
from fullpipe.batch.spec import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from fullpipe import _core
    from fullpipe._core import _Rows
    from fullpipe.batch.shipped import Shipment

_LOOK_UP_S = 0.1
_ENDLESS_S = 1e9


class Done(NamedTuple):
    """The runs of a task.

    Attributes:
        first: The number of the first run.
        end: The number after that of the last run.
        rows: Their metrics.
        packets: The packets that they moved.
        seconds: The time that they took.
    """

    first: int
    end: int
    rows: _Rows
    packets: int
    seconds: float


class Refused(NamedTuple):
    """The reason why this machine can't run a task."""

    host: str
    problem: str
    fix: str


class _Known(NamedTuple):
    unpacked: Unpacked[Any]
    plan: _core.SweepPlan | _core.PopulationPlan


_KNOWN: dict[str, _Known] = {}
"""The plan of the latest shipment, by its name: each process makes it once."""


def work(
    fetch: Callable[[], Shipment[Any]], name: str, expected: str, first: int, end: int
) -> Done | Refused:
    """Runs a range of runs.

    Args:
        fetch: Fetches the shipment.
        name: The shipment's name, different for each.
        expected: The build of fullpipe that the results must be of.
        first: The number of the first run.
        end: The number after that of the last run.
    """
    if build() != expected:
        return _refused(
            f"has build {build()} of fullpipe, but the command has {expected}",
            "install the same build of fullpipe on every node",
        )
    if name not in _KNOWN:
        unpacked = Unpacked(fetch(), pickle.loads)
        if unpacked.problem:
            return _refused(f"has {unpacked.problem}", unpacked.fix)
        _KNOWN.clear()
        try:
            _KNOWN[name] = _Known(unpacked, unpacked.spec.plan)
        except ScenarioError as error:
            problem, _, fix = str(error).partition("\n  fix: ")
            return _refused(f"refuses the scenario: {problem}", fix)
    start = time.perf_counter()
    running = _KNOWN[name].plan.start([(first, end)], 1, _ENDLESS_S)
    while not (shard := running.next(_LOOK_UP_S)):
        if shard is False:
            raise RuntimeError("the threads ended without a result")
    return Done(*shard, running.packets, time.perf_counter() - start)


def _refused(problem: str, fix: str) -> Refused:
    return Refused(socket.gethostname(), problem, fix)
