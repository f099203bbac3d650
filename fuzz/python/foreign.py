"""Measurements of other programs: sound flows that can be kept, or an error with a fix."""

from __future__ import annotations

import atheris
from _common import VALUES, folder, fuzz, instrumented, places

with instrumented("fullpipe.wings.traces.foreign"):
    from fullpipe.wings.traces.foreign import (  # noqa: F401  (instrumented)
        capture,
        connections,
        flent,
        formats,
        iperf3,
        kinds,
        qlog,
        ss,
    )
    from fullpipe.wings.traces.foreign.flow import COLUMNS, Flow, ForeignError, unlike
    from fullpipe.wings.traces.foreign.kept import table_of

import copy
import json
import math
import random

from fullpipe.base.metrics import UNTOLD, FlowMetrics
from fullpipe.results.form import mismatch

FILE = folder() / "it"


def check(data: bytes) -> None:
    FILE.write_bytes(data)
    try:
        found = kinds.read(FILE, "trace import")
    except ForeignError as error:
        assert "\n  fix: " in str(error), error
        return
    assert found.kind in formats.FORMATS
    assert found.flows
    flows = unlike(found.flows)
    assert len({flow.name for flow in flows}) == len(flows)
    for flow in flows:
        sound(flow)
    table_of(flows)


def sound(flow: Flow) -> None:
    for row in flow.rows:
        time = row["time"]
        assert time is not None and math.isfinite(time) and time >= 0, row
        for name in COLUMNS:
            value = row.get(name)
            assert value is None or (math.isfinite(value) and value >= 0), (name, row)
    metrics = flow.metrics()
    text = json.dumps(metrics, allow_nan=False)
    told = {
        key: 0 if value is None and key in UNTOLD else value
        for key, value in json.loads(text).items()
    }
    assert mismatch(told, FlowMetrics) is None, text


def mutate(data: bytes, longest: int, seed: int) -> bytes:
    """Changes entries of JSON, which bytes alone would seldom leave whole; otherwise bytes."""
    drawn = random.Random(seed)
    lines = data.split(b"\n")
    at = drawn.randrange(len(lines))
    try:
        value = json.loads(lines[at].strip(b"\x1e"))
        if drawn.random() < 0.2 or not (there := places(value)):
            raise ValueError
    except (ValueError, RecursionError):
        return atheris.Mutate(data, longest)
    container, key = drawn.choice(there)
    match drawn.randrange(4):
        case 0 if isinstance(container, dict):
            del container[key]
        case 1:
            container[key] = copy.deepcopy(drawn.choice(drawn.choice(there)[:1]))
        case 2:
            container[key] = drawn.choice((drawn.random() * 10, drawn.randrange(1 << 40), "7"))
        case _:
            container[key] = copy.deepcopy(drawn.choice(VALUES))
    try:
        lines[at] = (b"\x1e" if lines[at][:1] == b"\x1e" else b"") + json.dumps(value).encode()
    except (ValueError, RecursionError):
        return data
    changed = b"\n".join(lines)
    return changed if len(changed) <= longest else data


if __name__ == "__main__":
    fuzz(check, custom_mutator=mutate)
