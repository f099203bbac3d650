"""qlog of traces with any values: strict JSON, with the events in order of time and one flow's after the other."""

from __future__ import annotations

import math

import atheris
from _common import folder, fuzz, instrumented

with instrumented("fullpipe"):
    from fullpipe.results import kept, qlog

import json
from dataclasses import replace

import polars as pl

import fullpipe
from fullpipe.errors import UserError

SCENARIO = """\
# A title
duration = "0.3s"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "5packets"
[[flow]]
cc = "newreno"
[[flow]]
cc = "newreno"
"""
FILE = folder() / "it.qlog"
_WHOLE = qlog.of_run(fullpipe.run(SCENARIO, trace="20ms"))
# Columns that qlog names, those that the rows are computed from, and some others, for speed.
_OTHERS = ("time", "flow", "delivered", "lost", "state", "limited_by", "pacing_gain", "ecn")
_KEPT = {*_OTHERS, *(column for column, *_ in qlog._NAMED)}
RUN = replace(
    _WHOLE,
    flows=_WHOLE.flows.select(name for name in _WHOLE.flows.columns if name in _KEPT),
    resolved="[[flow]]\ncount = 1\nparams.beta = 0.5\n[[flow]]\ncount = 1\n",
)
NAMES = [flow["name"] for flow in RUN.metrics["flows"]]
COLUMNS = [name for name in RUN.flows.columns if name not in ("time", "flow")]
NUMBERS = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e300, -1e300, 5e-324, 2.0**64, -1.0)


def changed(drawn: atheris.FuzzedDataProvider) -> qlog.QlogRun:
    """Returns the run with other texts, and other values in its rows."""
    flows, transitions = RUN.flows, RUN.transitions
    flows = flows.head(drawn.PickValueInList([1, 3, flows.height]))
    made = {}
    for _ in range(drawn.ConsumeIntInRange(0, 3)):
        name = drawn.PickValueInList(COLUMNS)
        kind, at = flows.schema[name], drawn.ConsumeIntInRange(0, flows.height - 1)
        value: float | int | None
        if kind.is_float():
            value = drawn.PickValueInList([*NUMBERS, drawn.ConsumeFloat()])
        elif kind.is_integer():
            value = drawn.ConsumeIntInRange(0, 2 ** (63 if kind == pl.Int64 else 31))
        else:
            continue
        value = None if drawn.ConsumeBool() and drawn.ConsumeBool() else value
        place = pl.int_range(pl.len()) == at
        made[name] = pl.when(place).then(pl.lit(value, dtype=kind)).otherwise(pl.col(name))
    flows = flows.with_columns(**made)
    if drawn.ConsumeBool():
        transitions = transitions.head(drawn.ConsumeIntInRange(0, transitions.height))
    metrics = {**RUN.metrics, "seed": drawn.ConsumeInt(8)}
    title = drawn.ConsumeUnicodeNoSurrogates(40)
    return replace(RUN, metrics=metrics, flows=flows, transitions=transitions, title=title)


def strict(text: str) -> object:
    def refuse(constant: str) -> object:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def check(data: bytes) -> None:
    drawn = atheris.FuzzedDataProvider(data)
    form = drawn.PickValueInList(["json", "json-seq"])
    flow = drawn.PickValueInList([None, *NAMES])
    source = changed(drawn)
    try:
        with kept.computing(FILE):  # as the command does: a value may be of no run
            qlog.write_into(FILE, source, form, flow)
    except UserError as error:
        assert "\n  fix: " in str(error) or isinstance(error, qlog.QlogError), error
        return
    text = FILE.read_text(encoding="utf-8")
    if form == "json":
        whole = strict(text)
        parts = [trace["events"] for trace in whole["traces"]]
    else:
        _header, *events = [strict(part) for part in text.split("\x1e")[1:]]
        parts = [events]
    for events in parts:
        times = [event["time"] for event in events]
        assert times == sorted(times), "events are in order of time"
        assert events[0]["name"] == "recovery:parameters_set"
    count = sum(len(events) for events in parts)
    assert count <= 2 * source.flows.height + source.transitions.height + len(NAMES)


if __name__ == "__main__":
    fuzz(check)
