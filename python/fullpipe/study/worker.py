"""Executes a range of runs in a worker of a Ray cluster."""

from __future__ import annotations

import pickle
import socket
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe._core import ScenarioError
from fullpipe.base.build import build
from fullpipe.study.shipped import Unpacked

if TYPE_CHECKING:
    from collections.abc import Callable

    from fullpipe.study.shipped import Shipment


class Done(NamedTuple):
    """The runs of a task.

    Attributes:
        first: The number of the first run.
        end: The number after that of the last run.
        made: Their rows, or the results of functions.
        packets: The packets that they moved.
        seconds: The time that they took.
    """

    first: int
    end: int
    made: Any
    packets: int
    seconds: float


class Refused(NamedTuple):
    """The reason why this machine can't run a task."""

    host: str
    problem: str
    fix: str


_KNOWN: dict[str, Unpacked[Any]] = {}
"""The contents of the latest shipment, by its name: each process unpacks it once."""


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
            unpacked.spec.prepare()
        except ScenarioError as error:
            problem, _, fix = str(error).partition("\n  fix: ")
            return _refused(f"refuses the scenario: {problem}", fix)
        _KNOWN[name] = unpacked
    start = time.perf_counter()
    unpacked = _KNOWN[name]
    try:
        made, packets = unpacked.spec.work(first, end)
    except ScenarioError as error:
        raise unpacked.renamed(error) from None
    return Done(first, end, made, packets, time.perf_counter() - start)


def _refused(problem: str, fix: str) -> Refused:
    return Refused(socket.gethostname(), problem, fix)
