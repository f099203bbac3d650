"""Runs of our model over the path of a trace, with the start, the data and the pauses that the trace shows."""

from __future__ import annotations

import math
import tomllib
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fullpipe.algorithms.resolve import PROGRAM, kind_of
from fullpipe.run import run, unjudged
from fullpipe.scenario import origin
from fullpipe.scenario.path_options import STACK
from fullpipe.wings.traces.behavior.source import TraceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fullpipe.run import Run
    from fullpipe.wings.traces.behavior.observed import Observed
    from fullpipe.wings.traces.behavior.rules import Rules
    from fullpipe.wings.traces.behavior.source import Source

_STATED = ("path.rate", "path.rtt")
"""Keys of the path that a trace does not tell."""
_MOST_ROWS = 500_000
_PAUSE_RTTS, _PAUSE_S = 4.0, 0.5
"""A flow that has nothing in flight for longer than both is paused by its application."""


@dataclass(frozen=True)
class Model:
    """A scenario with the model's flow.

    Attributes:
        scenario: Its tables and keys.
        settings: Keys that override them.
        rate_bps: The rate of the path's bottleneck.
        rtt_s: Its RTT without queueing.
        duration_s: The length of the run.
        stack: `stack` of the scenario.
    """

    scenario: Mapping[str, Any]
    settings: Mapping[str, str]
    rate_bps: float
    rtt_s: float
    duration_s: float
    stack: str = STACK.usual

    @property
    def level(self) -> str:
        """The level of the trace: a row at each ACK, unless there are too many."""
        packets = self.rate_bps * self.duration_s / (8 * 1500)
        return (
            "ack"
            if packets < _MOST_ROWS
            else f"{max(round(self.duration_s / _MOST_ROWS * 1e6), 1)}us"
        )

    def run(self, seed: int | None = None) -> Run:
        """Runs the model; with a seed, its start is moved by up to an RTT, and its packets by a tenth of their time.

        Jitter as large as a packet would move the mean delay of flows that keep the queue empty.

        Raises:
            ScenarioError: When the scenario has an error.
        """
        settings: dict[str, Any] = dict(self.settings)
        if seed is not None:
            jitter_s = 8 * 1500 / self.rate_bps / 10
            settings.setdefault("start_jitter", f"{round(self.rtt_s * 1e6)}us")
            settings.setdefault("send_jitter", f"{max(round(jitter_s * 1e9), 1)}ns")
        return run(self.scenario, set=settings, seed=seed, trace=self.level)


def model_of(
    source: Source, rules: Rules, path: Sequence[tuple[str, str]], file: Path | None
) -> Model:
    """Returns the model's scenario over the path of a trace.

    Args:
        source: The trace.
        rules: The algorithm and its parameters.
        path: Keys of the path with values; they override those of the scenario.
        file: A scenario with the path, whose program or first flow is the judged one; None for that of the kept run,
            or of the keys alone.

    Raises:
        TraceError: When the path is not known, or a scenario has several programs.
        ScenarioError: When the scenario has an error.
        OSError: When the file can't be read.
    """
    given = dict(path)
    if file is not None:
        text, _ = origin.read(file)
    elif source.scenario:
        text = source.scenario
    else:
        lacking = [key.removeprefix("path.") for key in _STATED if key not in given]
        if lacking and "path.profile" not in given:
            options = " and ".join(f"--{each}" for each in lacking)
            raise TraceError(
                f"{options}: a trace does not tell the path that its flow took\n"
                f"  fix: state it, like --rate 20mbit --rtt 40ms --buffer 1bdp, or with --path SCENARIO.toml"
            )
        text = origin.of_algorithms([rules.algorithm])
    checked = unjudged(text, set=_of_path(given))
    tables: dict[str, Any] = deepcopy(tomllib.loads(text))
    stack = given.get(STACK.key) or tables.setdefault(STACK.key, source.stack)
    judged, flows = _judged(tables, source.of if file is None else "")
    if others := sum(map(_is_program, flows)):
        raise TraceError(
            f"{file or 'scenario'}: {others} program{'s' if others > 1 else ''} next to the judged flow:"
            " the model runs in the simulator, which has none\n"
            "  fix: state the path with --path and a scenario that has the judged program alone, or with flows"
        )
    first = {key: value for key, value in judged.items() if key not in ("params", "cc", "count")}
    if source.flow is not None:
        first = {key: value for key, value in first.items() if key in ("link", "route")}
        first |= _of_flow(source.observed)
    first |= {"cc": rules.algorithm, "name": "model"}
    tables["flow"] = [first, *flows]
    tables.pop("expect", None)
    duration_s = max(math.ceil(source.observed.end * 10) / 10, 0.1)
    tables["duration"] = f"{round(duration_s * 1e3)}ms"
    tables["measure_from"] = "0s"
    settings = given | {f"flow.0.params.{key}": value for key, value in rules.params.items()}
    settings.pop("duration", None)
    resolved = tomllib.loads(checked.to_toml())
    rate_bps, rtt_s = _of_link(resolved, source.observed)
    return Model(tables, settings, rate_bps, rtt_s, duration_s, stack)


def _judged(tables: dict[str, Any], name: str) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """Takes the programs out of a scenario; returns the judged flow or program, and the others.

    It is the one with the name; without a name, the first program, else the first flow.
    """
    every: list[Mapping[str, Any]] = [
        *({"server": "", **each} for each in tables.pop("program", [])),
        *tables.get("flow", []),
    ] or [{}]
    named = [each for each in every if name and each.get("name") == name]
    judged = next(iter([*named, *filter(_is_program, every)]), every[0])
    others = [each for each in every if each is not judged]
    if judged.get("count", 1) > 1:
        others.insert(0, {**judged, "count": judged["count"] - 1})
    return judged, others


def _is_program(flow: Mapping[str, Any]) -> bool:
    return "server" in flow or "use" in flow or kind_of(str(flow.get("cc", ""))) is PROGRAM


def _of_path(given: Mapping[str, str]) -> dict[str, str]:
    """Returns the keys without the duration, which is the trace's, so that a warm-up never exceeds it."""
    return {key: value for key, value in given.items() if key != "duration"}


def _of_link(resolved: Mapping[str, Any], trace: Observed) -> tuple[float, float]:
    """Returns rate and RTT of the path; of a rate that varies, the largest that the trace shows."""
    from fullpipe import _core

    path = resolved.get("path", {})
    rate = _core.quantity(str(path.get("rate", "")))
    rtt = _core.quantity(str(path.get("rtt", "")))
    return (
        rate[0] if rate else float(trace.most_bandwidth[-1]),
        rtt[0] if rtt and rtt[0] > 0 else float(trace.least_rtt[-1]),
    )


def _of_flow(trace: Observed) -> dict[str, Any]:
    """Returns the keys of the flow that a foreign trace shows: its start, its data, its pauses.

    Raises:
        TraceError: When the trace has no RTT.
    """
    if not (trace.has("rtt") or trace.has("srtt")):
        raise TraceError(
            f"{trace.name}: no RTT, which tells when the flow began\n  fix: name a trace of its sender"
        )
    keys: dict[str, Any] = {}
    rtt = float(trace.least_rtt[-1])
    begin = _begin(trace, rtt)
    if begin > 0.01:
        keys["start"] = f"{round(begin * 1e3)}ms"
    if not trace.has("delivered"):
        return keys
    delivered = trace.column("delivered")
    moving = np.flatnonzero(np.diff(delivered, prepend=0.0) > 0)
    shortest = max(_PAUSE_RTTS * rtt, _PAUSE_S)
    if not len(moving):
        return keys
    if trace.end - trace.time[moving[-1]] > shortest:
        keys["bytes"] = f"{round(float(delivered[moving[-1]]))}B"
    pauses = _pauses(trace, moving, shortest)
    if pauses:
        keys["app_schedule"] = ", ".join(
            f"{round(begin * 1e3)}ms pause, {round(end * 1e3)}ms unlimited" for begin, end in pauses
        )
    return keys


def _begin(trace: Observed, rtt: float) -> float:
    """Returns the start of a flow: data are in flight a round trip later, and acknowledged after two."""
    for name, rounds in (("inflight", 1.0), ("delivered", 2.0)):
        if trace.has(name):
            values = trace.column(name)
            first = np.flatnonzero(values > 0)
            if len(first):
                return max(float(trace.time[first[0]]) - rounds * rtt, 0.0)
    return 0.0


def _pauses(trace: Observed, moving: Any, shortest: float) -> list[tuple[float, float]]:  # noqa: ANN401
    if not trace.has("inflight"):
        return []
    inflight = trace.column("inflight")
    found = []
    for before, after in pairwise(moving.tolist()):
        begin, end = float(trace.time[before]), float(trace.time[after])
        if end - begin > shortest and float(inflight[before:after].min()) <= 0:
            found.append((begin, end - 2 * float(trace.least_rtt[after])))
    return found
