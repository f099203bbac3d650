"""Reads, judges and keeps a trace: the work of `fullpipe trace judge`."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from fullpipe.base.progress import counting
from fullpipe.results import disk, fresh_directory, save_run
from fullpipe.runs.view.path import path_line
from fullpipe.runs.view.table import short
from fullpipe.wings.traces.behavior.conditions.loss import loss_rate, lost_packets
from fullpipe.wings.traces.behavior.judge import judge
from fullpipe.wings.traces.behavior.model import model_of
from fullpipe.wings.traces.behavior.rules import Rules
from fullpipe.wings.traces.behavior.show import Judgment, as_json, markdown
from fullpipe.wings.traces.behavior.source import of_run, open_trace
from fullpipe.wings.traces.foreign.flow import Flow
from fullpipe.wings.traces.foreign.kept import save as save_flows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fullpipe.run import Run
    from fullpipe.wings.traces.behavior.observed import Observed
    from fullpipe.wings.traces.behavior.source import Source


def judge_trace(
    trace: Path,
    algorithm: str,
    params: Mapping[str, str],
    *,
    path: Sequence[tuple[str, str]],
    scenario: Path | None = None,
    flow: str | None = None,
    seeds: int = 5,
    out: Path | None = None,
) -> Judgment:
    """Judges a flow, and keeps the page with both runs in `out`.

    Raises:
        SubjectError: When there is no such algorithm or parameter.
        TraceError: When the trace can't be judged, or its path is not known.
        UserError: When the trace can't be read.
        ScenarioError: When the scenario has an error.
        FileExistsError: When `out` holds something already.
        OSError: When a file can't be read or written.
    """
    rules = Rules(algorithm, params)
    source = open_trace(trace, flow)
    model = model_of(source, rules, path, scenario)
    rules = rules.under(model.stack)
    with fresh_directory(out, called=f"--out {out}") if out else nullcontext() as aside:
        ours = model.run()
        observed = of_run(ours)
        with counting() as bar:
            runs = [
                of_run(model.run(seed))
                for seed in bar.track(range(1, seeds + 1), description="simulating")
            ]
        losses = [loss_rate(algorithm, runs)]
        judged = Judgment(
            f"{trace.name}, {source.observed.name}",
            rules.title,
            path_line(ours.scenario.to_toml()),
            judge(source.observed, rules, losses),
            judge(observed, rules, losses),
            _metrics(source.observed, observed),
            source.warnings,
        )
        if out and aside:
            command = f"fullpipe trace judge {shlex.quote(str(trace))} --as {algorithm}"
            _save(aside, judged, source, ours, (command, out))
    return judged


def _metrics(trace: Observed, model: Observed) -> list[tuple[str, str, str]]:
    rows = []
    for name, value in (("goodput", _goodput), ("mean RTT", _mean_rtt), ("packets lost", _lost)):
        rows.append((name, value(trace), value(model)))
    return rows


def _goodput(trace: Observed) -> str:
    if not trace.has("delivered"):
        return "–"
    times, delivered = trace.samples("delivered")
    span = float(times[-1] - times[0])
    rate = 8 * float(delivered[-1] - delivered[0]) / span if span > 0 else 0.0
    return f"{short(rate / 1e6)} Mbit/s"


def _mean_rtt(trace: Observed) -> str:
    if not (trace.has("rtt") or trace.has("srtt")):
        return "–"
    _, rtts = trace.samples("rtt" if trace.has("rtt") else "srtt")
    return f"{short(float(np.mean(rtts)) * 1e3)} ms"


def _lost(trace: Observed) -> str:
    return f"{float(lost_packets(trace)[-1]):.0f}" if trace.has("loss") else "–"


def _save(
    aside: Path, judged: Judgment, source: Source, ours: Run, called: tuple[str, Path]
) -> None:
    from fullpipe.wings.traces.behavior.page import MODEL, TRACE, write

    disk.make_folder(aside / TRACE)
    disk.make_folder(aside / MODEL)
    save_flows(
        aside / TRACE,
        [_flow(source)],
        runner=source.kind,
        title=judged.title,
        command=called[0],
        warnings=source.warnings,
    )
    save_run(ours, aside / MODEL, picture=False)
    disk.write(aside / "judge.md", markdown(judged))
    disk.write(aside / "judge.json", as_json(judged) + "\n")
    write(aside, judged, called[1])


def _flow(source: Source) -> Flow:
    """Returns the judged flow as one of a file, so that the page has it in the form of a measurement."""
    if source.flow is not None:
        return source.flow
    trace = source.observed
    rows: list[dict[str, float | None]] = []
    for number, time in enumerate(trace.time.tolist()):
        row: dict[str, float | None] = {"time": time}
        for name, values in trace.columns.items():
            row[name] = float(values[number]) if np.isfinite(values[number]) else None
        rows.append(row)
    return Flow(trace.name, rows=rows, changes=list(trace.changes))
