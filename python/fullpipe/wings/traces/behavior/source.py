"""Reads the flow of a trace: a file of another program, or a kept run."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fullpipe import _core
from fullpipe.errors import UserError
from fullpipe.results import read_parquet
from fullpipe.results.load import load
from fullpipe.results.save import PROGRAMS
from fullpipe.results.sums import check
from fullpipe.scenario.path_options import STACK
from fullpipe.wings.traces.behavior.observed import Observed
from fullpipe.wings.traces.foreign.flow import COLUMNS, LEAST_BYTES, Flow, ForeignError
from fullpipe.wings.traces.foreign.kinds import read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fullpipe.runs.data import RunData
    from fullpipe.wings.traces.behavior.observed import Values
    from fullpipe.wings.traces.foreign.kinds import Read

_RFC = "rfc"
_QLOGS = {".qlog", ".sqlog"}
_STEP_S = 0.01
"""The time between the rows of a capture."""
_SEGMENT, _QUIC = 1448.0, 1200.0
_SMALLEST, _LARGEST = 1100.0, 1500.0
"""Segments of common MTUs, bytes. The initial window is ten of them (RFC 6928, RFC 9002)."""


class TraceError(UserError):
    """A trace can't be judged; the text has the reason and the fix."""


@dataclass(frozen=True)
class Source:
    """A flow as it was found.

    Attributes:
        observed: Its series.
        kind: What wrote the trace: "qlog", "capture", the name of a runner.
        flow: The flow of a foreign file; None for a kept run.
        scenario: The complete scenario of a kept run; empty for a foreign file.
        of: The flow's name in the scenario; empty for a foreign file.
        stack: `stack` of the sender: that of a kept run's scenario, "rfc" for QUIC, else Linux's.
        warnings: What could not be read.
    """

    observed: Observed
    kind: str
    flow: Flow | None = None
    scenario: str = ""
    of: str = ""
    stack: str = STACK.usual
    warnings: tuple[str, ...] = ()


def open_trace(path: Path, flow: str | None = None) -> Source:
    """Reads the flow of a trace.

    Args:
        path: A file of another program, or the directory of a run.
        flow: The flow's name, or a part of it that no other has; None for that of the only qlog of a run's programs,
            else for the only, the largest or the first one.

    Raises:
        TraceError: When there is no such flow, or it has too few samples.
        ForeignError: When the kind of a file is not known, or it is damaged.
        NoResultsError: When a directory has no run with a trace.
        OSError: When it can't be read.
    """
    return _of_run(path, flow) if path.is_dir() else _of_file(path, flow)


def _of_file(path: Path, name: str | None) -> Source:
    found = read(path, "trace judge", step=_STEP_S, exact=True)
    flows = _long_enough(found.flows)
    if not flows:
        raise TraceError(f"{path}: no flow with two samples\n  fix: name a longer measurement")
    number = _chosen(path, [each.name for each in flows], name) if name else _largest(flows)
    return _of_flow(flows[number], found)


def _long_enough(flows: Sequence[Flow]) -> list[Flow]:
    return [each for each in flows if len(each.rows) > 1]


def _largest(flows: Sequence[Flow]) -> int:
    return max(range(len(flows)), key=lambda number: _delivered(flows[number]))


def _delivered(flow: Flow) -> float:
    return flow.rows[-1].get("delivered") or 0.0


def _of_flow(chosen: Flow, found: Read) -> Source:
    # Rates of single rows are those between two ACKs, which come in bursts.
    columns = {
        column: np.array([_number(row.get(column)) for row in chosen.rows])
        for column in COLUMNS
        if column != "delivery_rate"
    }
    time = np.array([_number(row["time"]) for row in chosen.rows])
    order = np.argsort(time, kind="stable")
    observed = Observed(
        chosen.name,
        time[order],
        {column: values[order] for column, values in columns.items()},
        tuple(chosen.changes),
        chosen.segment
        or _segment(columns["cwnd"][order], _QUIC if found.kind == "qlog" else _SEGMENT),
    )
    stack = _RFC if chosen.is_quic else STACK.usual
    return Source(observed, found.kind, chosen, stack=stack, warnings=tuple(found.warnings))


def _segment(cwnd: Values, usual: float) -> float:
    """Returns the segment of a flow: a tenth of its first window, where that is the usual initial one."""
    known = cwnd[np.isfinite(cwnd)]
    first = float(known[0]) / 10 if len(known) else 0.0
    return first if _SMALLEST <= first <= _LARGEST else usual


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _chosen(path: Path, names: Sequence[str], name: str) -> int:
    fitting = [number for number, each in enumerate(names) if name in (each, each.split()[0])]
    fitting = fitting or [number for number, each in enumerate(names) if name in each]
    if len(fitting) != 1:
        problem = "no flow has this name" if not fitting else f"{len(fitting)} flows have this name"
        raise TraceError(f"{path}: --flow {name}: {problem}\n  fix: name one of {', '.join(names)}")
    return fitting[0]


def _of_run(path: Path, name: str | None) -> Source:
    results = load(path)
    scenario = results.scenarios.get("resolved.toml", "")
    if len(results.points) == 1 and (source := _of_program(path, scenario, name)):
        return source
    if not results.series:
        raise TraceError(
            f"{path}: a run without a trace\n  fix: keep it with `fullpipe run … --trace ack --out DIR`"
        )
    if len(results.series) > 1:
        raise TraceError(f"{path}: {len(results.series)} runs\n  fix: name the directory of one")
    series = results.series[0]
    flows = read_parquet(series.files["flows"])
    changes = read_parquet(series.files["transitions"]) if "transitions" in series.files else None
    names = [str(each) for each in flows["flow"].unique(maintain_order=True)]
    number = _chosen(path, names, name) if name else 0
    observed = of_frames(names[number], flows, changes, _mss(scenario, names[number]))
    metrics = results.metrics[0] if results.metrics else None
    kind = metrics["runner"] if metrics else "sim"
    # A scenario that was kept before the key was there is of "rfc"; a kept measurement has none.
    usual = _RFC if scenario or kind == "qlog" else STACK.usual
    stack = str(tomllib.loads(scenario).get(STACK.key, usual))
    return Source(observed, kind, scenario=scenario, of=names[number], stack=stack)


def _of_program(path: Path, scenario: str, name: str | None) -> Source | None:
    """Returns the flow of a program of a run, from the qlog of its sender; None if none has the name.

    Raises:
        TraceError: When several programs have a qlog, or a program several, and the name leaves more than one.
        DamagedError: When a qlog is damaged.
    """
    logs: dict[str, tuple[str, Read, Flow]] = {}
    unread: ForeignError | None = None
    for file in sorted((path / PROGRAMS).rglob("*")):
        if not file.is_file() or not _QLOGS.intersection(file.suffixes):
            continue
        check(file)
        try:
            found = read(file, "trace judge", step=_STEP_S, exact=True)
        except ForeignError as error:
            unread = unread or error
            continue
        flows = _long_enough(found.flows)
        # A receiver's log has the few packets of the request.
        if flows and _delivered(flow := flows[_largest(flows)]) >= LEAST_BYTES:
            inside = file.relative_to(path / PROGRAMS)
            logs[str(inside)] = (inside.parts[0], found, flow)
    fitting = [each for each, (of, *_) in logs.items() if name is None or name in (of, each)]
    if not fitting:
        if unread and not logs and name is None:
            raise unread
        return None
    if len(fitting) > 1:
        raise TraceError(
            f"{path}: {len(fitting)} qlogs of programs: {', '.join(fitting)}\n"
            f"  fix: name one of them, like --flow {fitting[0]}"
        )
    of, found, flow = logs[fitting[0]]
    start = next((each["start"] for each in _flows(scenario) if each.get("name") == of), "0s")
    late = (_core.quantity(str(start)) or (0.0,))[0]
    for row in flow.rows:
        row["time"] = _number(row["time"]) + late
    flow.name, flow.changes = of, [(time + late, state) for time, state in flow.changes]
    return replace(_of_flow(flow, found), scenario=scenario, of=of)


def _flows(scenario: str) -> list[dict[str, Any]]:
    tables = tomllib.loads(scenario)
    return [*tables.get("program", []), *tables.get("flow", [])]


def of_run(run: RunData, number: int = 0) -> Observed:
    """Returns the series of a flow of a finished run."""
    name = str(run.flow_metrics[number]["name"])
    changes = run.trace("transitions") if "transitions" in run.tables else None
    return of_frames(name, run.trace(), changes, _mss(run.scenario.to_toml(), name))


def _mss(scenario: str, name: str) -> float:
    """Returns the segment of a flow of a complete scenario, bytes; of several, their name has a number behind it."""
    fitting = [each for each in _flows(scenario) if name.startswith(str(each.get("name", "")))]
    flow = max(fitting, key=lambda each: len(str(each.get("name", ""))), default={})
    return (_core.quantity(str(flow.get("mss", ""))) or (_SEGMENT,))[0]


def of_frames(
    name: str, flows: pl.DataFrame, changes: pl.DataFrame | None, segment: float = _SEGMENT
) -> Observed:
    """Returns the series of a flow of a run's tables, whose full packets have `segment` bytes.

    Raises:
        TraceError: When it has too few rows.
    """
    rows = flows.filter(pl.col("flow").cast(pl.String) == name)
    if len(rows) < 2:
        raise TraceError(f"{name}: no flow with two samples\n  fix: record a longer trace")
    columns = {
        column: rows[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        for column in COLUMNS
        if column in rows.columns and column != "delivery_rate"
    }
    states: list[tuple[float, str]] = []
    if changes is not None:
        own = changes.filter(pl.col("flow").cast(pl.String) == name)
        for time, before, after in own.select("time", "from", "to").iter_rows():
            if not states:
                states.append((float(rows["time"][0]), str(before)))
            states.append((float(time), str(after)))
    return Observed(name, rows["time"].to_numpy(), columns, tuple(states), segment)
