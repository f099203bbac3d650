"""The numbers of one run of a test, from its metrics and its trace."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from fullpipe.loadtest import rpm
from fullpipe.loadtest.voice import voice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from fullpipe.loadtest.plan import Plan
    from fullpipe.metrics import FlowMetrics
    from fullpipe.run_data import RunData

    Times = NDArray[np.float64]

Numbers: TypeAlias = "dict[str, float | str | None]"
"""Values by name, in SI units: `down.goodput_bps`, `idle.p50_s`, `rpm`; words of a run, like `confidence`."""
WAYS = {"down": "download", "up": "upload"}
"""The directions, and the role of the load in each."""
PHASES = ("idle", "load")
_QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


def measure(plan: Plan, run: RunData) -> Numbers:
    """Returns the numbers of a run; None stands for one that it does not have."""
    responses = run.trace("responses").filter(
        [name == "probe" for name in _roles(plan, run.trace("responses")["flow"])]
    )
    found: Numbers = {}
    for way, role in WAYS.items():
        load = [flow for flow in run.flow_metrics if plan.role(flow["name"]) == role]
        found |= {f"{way}.{key}": value for key, value in _load(plan, run, way, load)}
    times = {phase: _times(responses, *span) for phase, span in _spans(plan).items()}
    for phase, taken in times.items():
        found |= {f"{phase}.{key}": value for key, value in _latency(taken)}
    idle, load_p50 = found["idle.p50_s"], found["load.p50_s"]
    known = isinstance(idle, float) and isinstance(load_p50, float)
    found["increase_s"] = load_p50 - idle if known else None  # type: ignore[operator]
    found |= _responsiveness(plan, run, responses)
    if plan.test.calls:
        found |= dict(_calls(plan, run))
    return found


def _spans(plan: Plan) -> dict[str, tuple[float, float]]:
    return {
        "idle": (0.0, plan.idle_s),
        "load": (plan.measured_s, plan.scenario.duration_s),
    }


def _roles(plan: Plan, flows: pl.Series) -> list[str]:
    return [plan.role(str(name)) for name in flows]


def _load(
    plan: Plan, run: RunData, way: str, flows: Sequence[FlowMetrics]
) -> Iterator[tuple[str, float | None]]:
    """Yields the numbers of a direction's load and link."""
    link = next(each for each in run.link_metrics if each["name"] == plan.link(way))
    yield "utilization", link["utilization"]
    yield "queue_mean_s", link["queue_delay_s"]["mean"]
    yield "queue_p95_s", link["queue_delay_s"]["p95"]
    yield "flows", float(len(flows))
    if not flows:
        return
    rates = [float(flow["goodput_bps"]) for flow in flows]
    sent = sum(flow["sent"] for flow in flows)
    squares = sum(rate**2 for rate in rates)
    yield "goodput_bps", sum(rates)
    yield "loss_fraction", sum(flow["retransmits"] for flow in flows) / sent if sent else 0.0
    yield "jain", sum(rates) ** 2 / (len(rates) * squares) if squares else None


def _times(responses: pl.DataFrame, begin_s: float, end_s: float) -> Times:
    """Returns the times of the requests that ended in a span; without those that the handshake began."""
    import polars as pl

    first = pl.col("start") == pl.col("start").min().over("flow")
    kept = responses.filter(~first & pl.col("end").is_between(begin_s, end_s))
    times: Times = (kept["end"] - kept["start"]).to_numpy()
    return times


def _latency(times: Times) -> Iterator[tuple[str, float | None]]:
    import numpy as np

    yield "samples", float(len(times))
    for name, share in _QUANTILES.items():
        yield (
            f"{name}_s",
            float(np.quantile(times, share, method="inverted_cdf")) if len(times) else None,
        )
    yield "max_s", float(times.max()) if len(times) else None


def _responsiveness(plan: Plan, run: RunData, responses: pl.DataFrame) -> Numbers:
    """Returns the responsiveness in the measured time, and the confidence in it."""
    import polars as pl

    begin, end = _spans(plan)["load"]
    rows = run.trace("flows").filter(
        [name in WAYS.values() for name in _roles(plan, run.trace("flows")["flow"])]
    )

    def within(begin_s: float, end_s: float) -> rpm.Responsiveness | None:
        load = rows.filter(pl.col("time").is_between(begin_s, end_s))["rtt"].drop_nulls()
        return rpm.responsiveness(
            _times(responses, begin_s, end_s), load.cast(pl.Float64).to_numpy()
        )

    whole = within(begin, end)
    spans = rpm.moving(begin, end)
    over_time = [each.rpm if (each := within(*span)) else math.nan for span in spans]
    stable = [rpm.is_stable(values) for values in (*_goodputs(plan, rows, spans), over_time)]
    return {
        "rpm": whole.rpm if whole else None,
        "rpm.foreign": whole.foreign if whole else None,
        "rpm.self": whole.own if whole else None,
        "confidence": rpm.confidence(stable),
    }


def _goodputs(
    plan: Plan, rows: pl.DataFrame, spans: Sequence[tuple[float, float]]
) -> Iterator[list[float]]:
    """Yields the mean goodputs of each direction's load in spans, in bytes per second."""
    import numpy as np

    for role in WAYS.values():
        each = [
            (flow["time"].to_numpy(), flow["delivered"].to_numpy().astype(float))
            for flow in rows.partition_by("flow")
            if plan.role(str(flow["flow"][0])) == role
        ]
        if each:
            yield [
                sum(float(np.interp(end, *one) - np.interp(begin, *one)) for one in each)
                / (end - begin)
                for begin, end in spans
            ]


def _calls(plan: Plan, run: RunData) -> Iterator[tuple[str, float | None]]:
    """Yields the quality of the calls' voice in each direction and phase, as means over the calls."""
    import polars as pl

    packets = run.trace("packets")
    for way in WAYS:
        names = [
            flow["name"] for flow in run.flow_metrics if flow["name"].startswith(f"voice-{way}")
        ]
        for phase, (begin, end) in _spans(plan).items():
            streams = [
                found
                for name in names
                if (
                    found := voice(
                        packets.filter(pl.col("flow") == name), begin, min(end, plan.calls_until_s)
                    )
                )
            ]
            for key in ("delay", "p95", "jitter", "loss", "mos"):
                values = [getattr(each, key) for each in streams]
                mean = sum(values) / len(values) if values else math.nan
                yield f"voice.{way}.{phase}.{key}", None if math.isnan(mean) else mean
