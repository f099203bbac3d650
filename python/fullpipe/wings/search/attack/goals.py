"""Goals of an attack: the number that a search makes as bad as it can, each declared once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fullpipe._core import quantity
from fullpipe.errors import UserError
from fullpipe.study.cells import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fullpipe import _core
    from fullpipe.run import Run

_PAYLOAD = 1448 / 1500
_LEAST_LEFT = 0.6
"""The share of the capacity that unresponsive flows must leave: with less left, they do the harm by their volume."""
RECOVERED = 0.8
"""The share of its fair rate at which a flow counts as recovered."""
CALM_S = 10.0
"""The time at which the last disturbance of a scenario ends, for the time to recover."""
LAST_S = 9.0
"""The latest time at which a disturbance begins then."""
_WINDOW = 10
"""The number of intervals over which the rate is averaged."""


class Measurement:
    """A run with the roles of its flows.

    Attributes:
        run: The run.
        tables: Its scenario, with :data:`HERE` as the attacked algorithm.
    """

    def __init__(self, run: Run, tables: Mapping[str, Any]) -> None:
        self.run, self.tables = run, tables

    def flows(self, role: Literal["own", "others", "bursts"]) -> list[Any]:
        """Returns the metrics of the flows of a role: of the algorithm, of other algorithms, or unresponsive ones."""
        return [
            metrics
            for metrics, each in zip(self.run.flow_metrics, self._roles(), strict=True)
            if each == role
        ]

    def goodput(self, role: Literal["own", "others", "bursts"]) -> float:
        """Returns the goodput of all flows of a role together, in bit/s."""
        return float(sum(each["goodput_bps"] for each in self.flows(role)))

    @property
    def fair_bps(self) -> float | None:
        """The own flows' equal share of the payload that the link carries besides unresponsive flows.

        None if unresponsive flows leave less than three fifths.
        """
        scenario = self.run.scenario
        start_s = self.run.metrics["measure_from_s"]
        capacity = _mean_rate(scenario, start_s) * self._allowed() * _PAYLOAD
        left = capacity - self.goodput("bursts")
        if left < _LEAST_LEFT * capacity:
            return None
        own, others = len(self.flows("own")), len(self.flows("others"))
        return left * own / (own + others)

    def _allowed(self) -> float:
        """Returns the share of the link's rate that a policer and the link's silences let pass."""
        path, share = self.tables["path"], 1.0
        if policer := path.get("policer"):
            share = min(share, _value(policer.split()[0]) / self.run.scenario.rate_bps)
        if suspend := path.get("suspend"):
            hold, _, every = suspend.partition(" every ")
            share *= 1 - _value(hold) / _value(every)
        return share

    def _roles(self) -> Iterator[str]:
        for flow in self.tables["flow"]:
            role = {HERE: "own", "none": "bursts"}.get(flow["cc"], "others")
            yield from [role] * int(flow.get("count", 1))


@dataclass(frozen=True)
class Goal:
    """A goal.

    Attributes:
        name: Its name in options.
        title: The number that it is about.
        unit: The unit of its value, as shown.
        scale: The factor from its value to the shown number.
        worst: Whether less or more is worse.
        span: The difference of values that is large: a search takes a tenth of it as no difference.
        value: Returns the value of a run; None if the run says nothing about it.
        needs: Alternative parts: a scenario must have one of them, unless there is no alternative.
        without: Parts that a scenario must not have.
        flows: The least number of own flows.
        passing: Whether the scenario's disturbances end at :data:`CALM_S`.
        trace: The trace that the value needs.
        compares: Whether the others are compared with the same flows next to their own kind.
    """

    name: str
    title: str
    unit: str
    scale: float
    worst: Literal["less", "more"]
    span: float
    value: Callable[[Measurement], float | None]
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    flows: int = 1
    passing: bool = False
    trace: str = "off"
    compares: bool = False

    def score(self, value: float) -> float:
        """Returns a number that is smaller for a worse value, and 1 for a change by `span`."""
        return (value if self.worst == "less" else -value) / self.span

    def shown(self, value: float) -> str:
        """Writes a value with its unit."""
        from fullpipe.runs.view.table import digits

        return f"{digits(value * self.scale)} {self.unit}".strip()


def goal(name: str) -> Goal:
    """Returns a goal by its name.

    Raises:
        UserError: When the goal is unknown.
    """
    for each in GOALS:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in GOALS)
    raise UserError(f"--goal {name}: no such goal\n  fix: write one of {known}")


def _value(text: str) -> float:
    found = quantity(text)
    assert found is not None, text
    return found[0]


def _mean_rate(scenario: _core.Scenario, start_s: float) -> float:
    steps = [(max(at, start_s), rate) for at, rate in scenario.rate_over_time(200)]
    ends = [*(at for at, _ in steps[1:]), scenario.duration_s]
    whole = sum((end - at) * rate for (at, rate), end in zip(steps, ends, strict=True))
    return whole / (scenario.duration_s - start_s)


def _utilization(of: Measurement) -> float | None:
    fair = of.fair_bps
    return None if fair is None else min(of.goodput("own") / fair, 1.0)


def _delay(of: Measurement, role: Literal["own", "others"]) -> float | None:
    delays = [each["queue_delay_s"]["p50"] for each in of.flows(role)]
    there = [each for each in delays if each is not None]
    return max(there) / of.run.scenario.rtt_s if there else None


def _starvation(of: Measurement) -> float | None:
    rates = [each["goodput_bps"] for each in of.flows("own")]
    mean = sum(rates) / len(rates)
    return min(rates) / mean if mean else None


def _retransmissions(of: Measurement) -> float | None:
    own = of.flows("own")
    sent = sum(each["sent"] for each in own)
    return sum(each["retransmits"] for each in own) / sent if sent else None


def _others_rate(of: Measurement) -> float | None:
    others = of.flows("others")
    return of.goodput("others") / len(others) if others else None


def _recovery(of: Measurement) -> float | None:
    """Returns the time from :data:`CALM_S` until the own flows together have their share for a second."""
    import polars as pl

    fair = of.fair_bps
    if fair is None:
        return None
    names = [each["name"] for each in of.flows("own")]
    flows = of.run.trace("flows").filter(pl.col("flow").cast(pl.String).is_in(names))
    delivered = (
        flows.group_by("time")
        .agg(pl.col("delivered").sum())
        .sort("time")
        .filter(pl.col("time") >= CALM_S)
    )
    times: Sequence[float] = delivered["time"].to_list()
    total: Sequence[float] = delivered["delivered"].to_list()
    for at in range(len(times) - _WINDOW):
        took = times[at + _WINDOW] - times[at]
        if 8 * (total[at + _WINDOW] - total[at]) >= RECOVERED * fair * took:
            return times[at] - CALM_S
    return times[-1] - CALM_S


GOALS: tuple[Goal, ...] = (
    Goal(
        "utilization",
        "goodput, as a share of the rate that others leave",
        "%",
        100,
        "less",
        0.5,
        _utilization,
        without=("pauses", "neighbor"),
    ),
    Goal(
        "delay",
        "median queueing delay of the own packets, in RTTs",
        "RTT",
        1,
        "more",
        2,
        lambda of: _delay(of, "own"),
        without=("rate-step",),
    ),
    Goal(
        "others-delay",
        "median queueing delay of the neighbors' packets, in RTTs",
        "RTT",
        1,
        "more",
        2,
        lambda of: _delay(of, "others"),
        needs=("neighbor",),
        without=("rate-step",),
    ),
    Goal(
        "harm",
        "loss of goodput of the neighbors, compared with neighbors of their own kind",
        "%",
        100,
        "more",
        0.5,
        _others_rate,
        needs=("neighbor",),
        compares=True,
    ),
    Goal(
        "starvation",
        "goodput of the slowest own flow, as a share of their mean",
        "%",
        100,
        "less",
        0.5,
        _starvation,
        without=("pauses",),
        flows=2,
    ),
    Goal(
        "recovery",
        "time until the own flows use the link again after the last disturbance",
        "s",
        1,
        "more",
        4,
        _recovery,
        without=("pauses", "neighbor"),
        passing=True,
        trace="100ms",
    ),
    Goal(
        "retransmissions",
        "share of the own packets that are sent again",
        "%",
        100,
        "more",
        0.1,
        _retransmissions,
    ),
)
