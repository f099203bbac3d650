"""States of BPF algorithms during a run of `--on kernel`, from the rows that they report."""

from __future__ import annotations

import json
import subprocess
import tempfile
import tomllib
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core
from fullpipe.wings.bpf.program import OBJECTS, program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fullpipe.base.frame import Labels, Numbers

INTERVAL_US = 1000
"""Least time between two rows of a connection, and so the error of a transition's time."""
TABLE = "transitions"
_NS = 1e9


class Change(NamedTuple):
    """A transition: its time since the start of the run in s, the flow's number, and the states."""

    time: float
    flow: int
    before: str
    after: str


class Recorder:
    """Records the rows of loaded algorithms.

    Attributes:
        connections: Times and states of each connection, by the algorithm's name in the kernel, in the order in which
            the connections opened.
    """

    def __init__(self) -> None:
        self.connections: dict[str, list[list[tuple[float, int]]]] = {}

    @contextmanager
    def recording(self, names: Sequence[str]) -> Iterator[None]:
        """Records within the block; nothing without the capability to read rows."""
        path = program()
        with tempfile.TemporaryFile("w+", encoding="utf-8") as rows:
            process = subprocess.Popen(
                [path, "trace", "0", "0", path.parent / OBJECTS, *names],
                stdin=subprocess.PIPE,
                stdout=rows,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                yield
            finally:
                process.communicate()
            rows.seek(0)
            found: dict[tuple[str, int], list[tuple[float, int]]] = {}
            for line in rows:
                row = json.loads(line)
                if "connection" in row:
                    states = found.setdefault((row["cc"], row["connection"]), [])
                    states.append((row["time"], row["state"]))
        for (cc, _), states in sorted(found.items()):
            self.connections.setdefault(cc, []).append(states)

    def changes(self, scenario: _core.Scenario, names: dict[str, str]) -> list[Change]:
        """Returns the transitions of a scenario's flows; none if the connections are not those of the flows.

        A connection's first row is from the end of its handshake. Flows of one algorithm that start together are taken
        in the order of their connections.

        Args:
            scenario: The scenario.
            names: The algorithms' names in the kernel, by their names in the scenario.
        """
        whole = tomllib.loads(scenario.to_toml())
        rtt = _seconds(whole["path"].get("rtt", "0s"))
        found = []
        for cc, name in names.items():
            flows = [
                (_seconds(flow.get("start", "0s")), number)
                for number, flow in enumerate(whole.get("flow", []))
                if flow.get("cc") == cc
            ]
            connections = self.connections.get(name, [])
            if len(flows) != len(connections):
                continue
            labels = _labels(cc)
            for (start, number), states in zip(sorted(flows), connections, strict=True):
                offset = start + rtt - states[0][0]
                found += [
                    Change(time + offset, number, labels[before], labels[after])
                    for (_, before), (time, after) in pairwise(states)
                    if before != after
                ]
        return sorted(found)


def table(changes: Sequence[Change]) -> dict[str, Numbers | Labels]:
    """Returns the table of transitions, as the simulator has it, without reasons."""
    import numpy as np

    def labels(words: Sequence[str]) -> Labels:
        known = list(dict.fromkeys(words))
        return np.array([known.index(word) for word in words], dtype=np.uint8), known

    return {
        "time": np.array([round(each.time * _NS) for each in changes], dtype=np.uint64),
        "flow": np.array([each.flow for each in changes], dtype=np.uint32),
        "from": labels([each.before for each in changes]),
        "to": labels([each.after for each in changes]),
        "reason": labels(["" for _ in changes]),
    }


def _labels(algorithm: str) -> Sequence[str]:
    of = next(each for each in _core.algorithms() if each["name"] == algorithm)
    return next(field["labels"] for field in of["fields"] if field["name"] == "state")


def _seconds(text: str) -> float:
    found = _core.quantity(text)
    assert found is not None
    return found[0]
