"""Declarations of environments: scenarios, observations, actions, rewards, and the end of an episode."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from gymnasium.spaces import Box

from fullpipe import _core
from fullpipe.algorithms.resolve import described_in
from fullpipe.base import toml
from fullpipe.errors import refusal
from fullpipe.runners import refuse_kind
from fullpipe.runs.given import given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gymnasium.spaces import Space
    from numpy.typing import NDArray

    from fullpipe.algorithms.classes import Controllers
    from fullpipe.runs.given import ScenarioLike

AGENT = _core.gym_agent()
"""Name of the algorithm of a steered flow."""


class Feature(NamedTuple):
    """A number about a monitor interval.

    Attributes:
        name: Its name in `observation`.
        unit: Its unit; may be empty.
        least: Smallest value; smaller ones are clipped.
        most: Largest value; larger ones are clipped.
        meaning: Its definition.
    """

    name: str
    unit: str
    least: float
    most: float
    meaning: str


def features() -> list[Feature]:
    """Returns the features of an interval that an observation may have."""
    return [Feature(*each) for each in _core.gym_features()]


@dataclass(frozen=True)
class Action:
    """The meaning of an action, which is one number.

    Attributes:
        quantity: `rate`, the pacing rate, or `window`, the congestion window.
        form: `double`: the quantity is multiplied by 2 to the power of action times scale. `delta`, Aurora's: it is
            multiplied by 1 + action x scale, or divided by 1 - action x scale if the action is negative.
        scale: Factor of the action.
        actions: Smallest and largest action; others are clipped.
        limits: Smallest and largest rate, like `100kbit`, or window in packets.
    """

    quantity: str = "rate"
    form: str = "double"
    scale: float = 1.0
    actions: tuple[float, float] = (-1.0, 1.0)
    limits: tuple[str | float, str | float] = ("100kbit", "10gbit")

    @property
    def numbers(self) -> tuple[float, float]:
        """The limits in bit/s or packets.

        Raises:
            ScenarioError: When a limit has another unit.
        """
        least, most = (self._number(limit) for limit in self.limits)
        return least, most

    def _number(self, limit: str | float) -> float:
        if isinstance(limit, int | float):
            return float(limit)
        unit = {"rate": "bit/s", "window": ""}.get(self.quantity)
        found = _core.quantity(limit)
        if unit is None:  # the core refuses the quantity
            return math.nan
        if found is None or found[1] != unit:
            fix = 'write a rate, like "100kbit"' if unit else "write a number of packets"
            raise refusal(f"not a {self.quantity}", fix, key="action.limits", value=repr(limit))
        return found[0]


_SCENARIO = {
    "duration": "60min",
    "path": {"rate": "10mbit", "rtt": "40ms", "buffer": "2bdp"},
    "flow": [{"name": "agent", "cc": AGENT}],
}

_OTHERS = {
    "path.rate": "4mbit..50mbit log",
    "path.rtt": "10ms..100ms log",
    "path.buffer": "1bdp..8bdp log",
    "path.loss": ("0%", "0.1%", "1%"),
}


@dataclass(frozen=True)
class Declaration:
    """An environment.

    Attributes:
        scenario: The scenario, in any form that :func:`fullpipe.run` takes. Flows with `cc = "agent"` are steered;
            others are cross traffic.
        prior: Keys of the scenario, each with a value, several values, or a range to draw from in each episode:
            `"4mbit..50mbit log"`, as `fullpipe sweep --sample` takes them.
        observation: Names of features of an interval (:func:`features`), then columns of the trace: `flows.cwnd` for
            the agent's flow, `flows.cwnd@NAME` for another, `links.queue_bytes` for the bottleneck,
            `links.queue_bytes@NAME` for another link. A null is -1.
        history: Number of intervals in an observation, the oldest first.
        action: The meaning of an action.
        reward: `power`: the binary logarithm of throughput over mean RTT, relative to the empty path's rate and RTT.
            `aurora`: that of Aurora's environment. Or weights of a sum: `throughput` in packets per second, `latency`
            for the mean RTT in seconds, `loss` for the loss ratio; the latter two are subtracted.
        interval: Length of an interval in mean RTTs of the interval before it.
        warm_up: Length of the first interval in RTTs of the handshake; the first observation ends with it.
        max_steps: Number of steps after which an episode is truncated; None for the scenario's duration.
        start: Rate with which the agent begins as a share of the bottleneck's, like `0.5` or `"0.3..1.5"`; None for
            the initial window, or the rate that sends it in one RTT.
        controllers: Algorithms in Python of the cross traffic, by name.
    """

    scenario: ScenarioLike = field(default_factory=lambda: _SCENARIO)
    prior: Mapping[str, object] = field(default_factory=dict)
    observation: Sequence[str] = ("latency-inflation", "latency-ratio", "send-ratio", "loss-ratio")
    history: int = 1
    action: Action = field(default_factory=Action)
    reward: str | Mapping[str, float] = "power"
    interval: float = 1.0
    warm_up: float = 1.0
    max_steps: int | None = 400
    start: str | float | None = None
    controllers: Controllers | None = None

    def but(self, **changes: Any) -> Declaration:  # noqa: ANN401  (checked by dataclasses)
        """Returns a copy with other values.

        Raises:
            ScenarioError: When there is no such value.
        """
        unknown = [name for name in changes if name not in self.__dataclass_fields__]
        if unknown:
            fix = f"use some of {', '.join(self.__dataclass_fields__)}"
            raise refusal("no option of an environment", fix, place=unknown[0])
        return replace(self, **changes)

    @property
    def features(self) -> list[str]:
        """The observed features of intervals."""
        return [name for name in self.observation if "." not in name]

    @property
    def columns(self) -> list[str]:
        """The observed columns of the trace."""
        return [name for name in self.observation if "." in name]

    def batch(self, count: int, threads: int, *, restarts: bool) -> _core.GymBatch:
        """Creates environments.

        Args:
            count: Number of environments.
            threads: Number of threads that step them.
            restarts: Whether the step after the end of an episode begins the next one.

        Raises:
            ScenarioError: When a scenario of the prior, or an option, has an error.
        """
        it = given(self.scenario, controllers=self.controllers)
        prior = [*it.pairs, *((key, _of_prior(value)) for key, value in self.prior.items())]
        for name in _core.algorithm_names(it.text, prior):
            if name not in it.controllers:
                refuse_kind(name, "gym", f'cc = "{name}"')
        return _core.GymBatch.make(
            it.text,
            it.file,
            prior=prior,
            features=self.features,
            history=self.history,
            columns=self.columns,
            action=(
                self.action.quantity,
                self.action.form,
                self.action.scale,
                self.action.actions,
                self.action.numbers,
            ),
            interval=self.interval,
            warm_up=self.warm_up,
            reward=self._weights(),
            max_steps=self.max_steps,
            start=None if self.start is None else str(self.start),
            count=count,
            threads=threads,
            restarts=restarts,
            controllers=described_in(it.text, prior, it.controllers),
        )

    def _weights(self) -> tuple[float, float, float] | None:
        if self.reward == "power":
            return None
        if self.reward == "aurora":
            return _AURORA_REWARD
        names = ("throughput", "latency", "loss")
        if isinstance(self.reward, str) or set(self.reward) - set(names):
            fix = 'write "power", "aurora", or weights of throughput, latency and loss'
            raise refusal("not a reward", fix, key="reward", value=repr(self.reward))
        throughput, latency, loss = (float(self.reward.get(name, 0.0)) for name in names)
        return throughput, latency, loss

    def observation_space(self) -> Space[NDArray[np.float32]]:
        """Returns the space of one agent's observation."""
        known = {each.name: each for each in features()}
        rows = [known[name] for name in self.features]
        columns = len(self.columns)
        most = float(np.finfo(np.float32).max)
        low = [each.least for each in rows] * self.history + [-1.0] * columns
        high = [each.most for each in rows] * self.history + [most] * columns
        bounds = np.array(low, np.float32), np.array(high, np.float32)
        return cast("Space[NDArray[np.float32]]", Box(*bounds, dtype=np.float32))

    def action_space(self) -> Space[NDArray[np.float32]]:
        """Returns the space of one agent's action."""
        low, high = self.action.actions
        return cast("Space[NDArray[np.float32]]", Box(low, high, (1,), np.float32))


def _of_prior(value: object) -> str:
    """Returns a value of the prior as `--set` takes it."""
    if isinstance(value, list | tuple):
        return ",".join(toml.as_set(each) for each in value)
    return toml.as_set(value)


_AURORA_REWARD = (0.01, 1.0, 2.0)
"""Weights in PCC-RL's `network_sim.py`: 10, 1000 and 2000, times a scale of 0.001."""

AURORA = Declaration(
    prior={
        "path.rate": "1.2mbit..6mbit",
        "path.rtt": "100ms..1s",
        "path.buffer": "2packets..2982packets log",
        "path.loss": "0%..5%",
    },
    observation=("latency-inflation", "latency-ratio", "send-ratio"),
    history=10,
    action=Action(form="delta", scale=0.025, actions=(-1e12, 1e12), limits=("480kbit", "12mbit")),
    reward="aurora",
    interval=0.5,
    warm_up=3.0,
    start="0.3..1.5",
)
"""The spaces, the reward and the paths of Aurora's environment."""

RATE = Declaration(
    prior=_OTHERS,
    observation=("latency-inflation", "latency-ratio", "send-ratio", "loss-ratio", "excess"),
    history=3,
)
"""One step per RTT; an action at most doubles or halves the pacing rate."""

WINDOW = RATE.but(action=Action(quantity="window", limits=(2, 100_000)))
"""One step per RTT; an action at most doubles or halves the congestion window."""


def cores() -> int:
    """Returns the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


INFO = _core.gym_info()
"""Names of the numbers about the last interval in `info`."""
