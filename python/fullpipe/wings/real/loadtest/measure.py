"""The numbers of one run of a test, from its metrics and its trace."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from fullpipe.stats import jain
from fullpipe.wings.real.loadtest import rpm
from fullpipe.wings.real.loadtest.voice import voice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from fullpipe.base.metrics import FlowMetrics
    from fullpipe.runs.data import RunData
    from fullpipe.wings.real.loadtest.plan import Plan

    Times = NDArray[np.float64]

Numbers: TypeAlias = "dict[str, float | str | None]"
"""Values by name, in SI units: `down.goodput_bps`, `idle.p50_s`, `rpm`; words of a run, like `confidence`."""
WAYS = {"down": "download", "up": "upload"}
"""The directions, and the role of the load in each."""
PHASES = ("idle", "load")
_QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


def measure(plan: Plan, run: RunData) -> Numbers:
    """Returns the numbers of a run; None stands for one that it does not have."""
    import polars as pl

    begin, end = plan.measured_s, plan.scenario.duration_s
    spans = {"idle": (0.0, plan.idle_s), "load": (begin, end)}
    found: Numbers = {}
    for way, role in WAYS.items():
        load = [flow for flow in run.flow_metrics if plan.role(flow["name"]) == role]
        found |= {f"{way}.{key}": value for key, value in _load(plan, run, way, load)}
    ways = {flow["name"]: plan.role(flow["name"]) for flow in run.flow_metrics}
    probes = [name for name, role in ways.items() if role == "probe"]
    responses = run.trace("responses").filter(pl.col("flow").cast(pl.String).is_in(probes))
    found |= latencies(responses, spans)
    found |= responsiveness(run.trace("flows"), ways, responses, begin, end)
    if plan.test.calls:
        found |= dict(_calls(plan, run, spans))
    return found


def latencies(responses: pl.DataFrame, spans: Mapping[str, tuple[float, float]]) -> Numbers:
    """Returns the latency of the requests in the spans of both phases, and the increase of their medians.

    Args:
        responses: Start and end of each response in seconds, and its flow.
        spans: Beginning and end of each phase.
    """
    found: Numbers = {}
    for phase, span in spans.items():
        found |= {f"{phase}.{key}": value for key, value in _latency(_times(responses, *span))}
    idle, load = found["idle.p50_s"], found["load.p50_s"]
    known = isinstance(idle, float) and isinstance(load, float)
    found["increase_s"] = load - idle if known else None  # type: ignore[operator]
    return found


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
    yield "goodput_bps", sum(rates)
    yield "loss_fraction", sum(flow["retransmits"] for flow in flows) / sent if sent else 0.0
    yield "jain", jain(rates)


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


def responsiveness(
    flows: pl.DataFrame,
    roles: Mapping[str, str],
    responses: pl.DataFrame,
    begin_s: float,
    end_s: float,
) -> Numbers:
    """Returns the responsiveness in the measured time, and the confidence in it.

    Args:
        flows: Samples of the flows: time, flow, rtt in seconds, delivered bytes.
        roles: The roles of the flows.
        responses: The responses, as for :func:`latencies`.
        begin_s: Start of the measured time.
        end_s: Its end.
    """
    import polars as pl

    load = [name for name, role in roles.items() if role in WAYS.values()]
    rows = flows.filter(pl.col("flow").cast(pl.String).is_in(load))

    def within(begin_s: float, end_s: float) -> rpm.Responsiveness | None:
        rtts = rows.filter(pl.col("time").is_between(begin_s, end_s))["rtt"].drop_nulls()
        return rpm.responsiveness(
            _times(responses, begin_s, end_s), rtts.cast(pl.Float64).to_numpy()
        )

    whole = within(begin_s, end_s)
    spans = rpm.moving(begin_s, end_s)
    over_time = [each.rpm if (each := within(*span)) else math.nan for span in spans]
    stable = [rpm.is_stable(values) for values in (*_goodputs(rows, roles, spans), over_time)]
    return {
        "rpm": whole.rpm if whole else None,
        "rpm.foreign": whole.foreign if whole else None,
        "rpm.self": whole.own if whole else None,
        "confidence": rpm.confidence(stable),
    }


def _goodputs(
    rows: pl.DataFrame, roles: Mapping[str, str], spans: Sequence[tuple[float, float]]
) -> Iterator[list[float]]:
    """Yields the mean goodputs of each direction's load in spans, in bytes per second."""
    flows = rows.partition_by("flow")
    for role in WAYS.values():
        those = [each for each in flows if roles[str(each["flow"][0])] == role]
        if those:
            yield [sum(goodput(each, *span) for each in those) for span in spans]


def goodput(flow: pl.DataFrame, begin_s: float, end_s: float) -> float:
    """Returns the mean rate of a flow in a span, in bytes per second, from its samples of delivered bytes."""
    import numpy as np

    ends = np.interp(
        (begin_s, end_s), flow["time"].to_numpy(), flow["delivered"].to_numpy().astype(float)
    )
    return float(ends[1] - ends[0]) / (end_s - begin_s)


def _calls(
    plan: Plan, run: RunData, spans: Mapping[str, tuple[float, float]]
) -> Iterator[tuple[str, float | None]]:
    """Yields the quality of the calls' voice in each direction and phase, as means over the calls."""
    import polars as pl

    packets = run.trace("packets")
    for way in WAYS:
        names = [
            flow["name"] for flow in run.flow_metrics if flow["name"].startswith(f"voice-{way}")
        ]
        for phase, (begin, end) in spans.items():
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
