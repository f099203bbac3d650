"""Draws scenarios from a prior over paths and flows that both the simulator and user-mode Linux support."""

from __future__ import annotations

import json
import math
import random
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.study.repeated import Setup

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKETS = 120_000
"""Most data packets of a scenario over its seeds, for one hour of `--hours`."""
ROUND_TRIPS = 30
"""Least number of round trips after start-up."""
LEAST_SEEDS, MOST_SEEDS = 3, 8
"""Numbers of seeds on the kernel of a scenario that chance decides."""

PRIOR = {
    "rate": "1–500 Mbit/s, log-uniform",
    "RTT": "2–300 ms, log-uniform",
    "buffer": "0.2–16 BDP, log-uniform, at least 4 packets (RED: 30)",
    "queue": "pfifo in half of the scenarios, otherwise bfifo, RED, CoDel, FQ-CoDel, SFQ, PIE or CAKE",
    "loss": "none in half of the scenarios, otherwise 0.01–5 %, log-uniform",
    "flows": "one in 40 % of the scenarios, otherwise 2–6; half of these share one algorithm",
    "algorithms": "cubic, reno, bbr (BBRv1)",
    "starts": "the first flow at once, others within 20 round trips",
    "RTTs": "of several flows, in half of the scenarios each adds 0–100 ms",
    "applications": "bulk 60 %, a transfer of 20 kB or more 20 %, requests with pauses 20 %",
    "stack": "linux-fq, whose sch_fq paces all flows, in half of the scenarios, otherwise linux",
}
"""The prior in words, for the page."""

_RATES, _RTTS, _BUFFERS, _LOSSES = (1e6, 500e6), (2e-3, 300e-3), (0.2, 16.0), (1e-4, 0.05)
QUEUES = ("bfifo", "red", "codel", "fq_codel", "sfq", "pie", "cake")
"""Queues other than pfifo."""
ALGORITHMS = ("cubic", "reno", "bbr")
"""Linux's names of the algorithms."""
_PACKET = 1500
_LEAST_BUFFER, _LEAST_RED = 4, 30
_MOST_EXTRA_S = 0.1
_START_ROUND_TRIPS = 20
_LONGEST_S = 60.0
_INITIAL_WINDOW = 10
_MIB = 2**20

_OURS = {"cubic": "cubic", "reno": "newreno", "bbr": "bbr1"}
"""Our names of the algorithms."""


class DrawnFlow(NamedTuple):
    """A drawn flow, with Linux's name of its algorithm.

    Attributes:
        cc: Its algorithm.
        start_s: Its start.
        extra_s: Its RTT beyond the path's.
        size: Bytes of a transfer, or of each response; 0 for a bulk flow.
        think_s: Pause between two requests; 0 for a flow without requests.
    """

    cc: str
    start_s: float
    extra_s: float
    size: int
    think_s: float

    @property
    def app(self) -> str:
        """Its application: bulk, transfer or requests."""
        if self.think_s:
            return "requests"
        return "transfer" if self.size else "bulk"


class Impossible(NamedTuple):
    """A draw that the budget of packets does not allow, with the reason."""

    name: str
    reason: str


@dataclass(frozen=True)
class Drawn:
    """A drawn scenario.

    Attributes:
        name: Its number, or `a` and its number for one that is compared ACK by ACK.
        rate: Rate of the bottleneck in bit/s.
        rtt_s: RTT of the path.
        bdps: Buffer in BDP, as drawn.
        queue: Queueing discipline.
        loss: Probability of random loss.
        paced: Whether sch_fq paces all flows.
        flows: Its flows.
        duration_s: Its duration.
        seeds: Number of seeds on the kernel.
    """

    name: str
    rate: int
    rtt_s: float
    bdps: float
    queue: str
    loss: float
    paced: bool
    flows: tuple[DrawnFlow, ...]
    duration_s: float = 0.0
    seeds: int = 1

    @property
    def buffer(self) -> int:
        """Buffer in packets."""
        least = _LEAST_RED if self.queue == "red" else _LEAST_BUFFER
        return max(round(self.bdps * self.bdp), least)

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product in packets."""
        return self.rate * self.rtt_s / 8 / _PACKET

    @property
    def least_s(self) -> float:
        """Time until the last flow's start-up has ended, plus the least number of round trips."""
        rtt_s = self.rtt_s + max(flow.extra_s for flow in self.flows)
        doublings = math.ceil(math.log2(max((self.bdp + self.buffer) / _INITIAL_WINDOW, 1)))
        last_s = max(flow.start_s for flow in self.flows)
        return last_s + (doublings + 2 + ROUND_TRIPS) * rtt_s

    @property
    def fingerprint(self) -> str:
        """Hash of all that the kernel's results depend on."""
        return sha256(json.dumps(asdict(self)).encode()).hexdigest()[:16]

    @cached_property
    def setup(self) -> Setup:
        """The scenario for both runners, without a seed."""
        return Setup(self.text(), f"{self.name}.toml")

    @property
    def is_random(self) -> bool:
        """Whether it depends on random numbers."""
        return self.setup.scenario(1).is_random

    def packets(self, duration_s: float) -> int:
        """Returns the most data packets that the bottleneck can send in a time."""
        return math.ceil(self.rate * duration_s / 8 / _PACKET)

    def text(self) -> str:
        """Returns the scenario as TOML."""
        bits = self.buffer * _PACKET
        limits = {"cake": None, "bfifo": f"{bits}B", "red": f"{bits}B"}
        limit = limits.get(self.queue, f"{self.buffer}packets")
        lines = [
            f"# Drawn scenario {self.name}: {self.about}",
            f'duration = "{self.duration_s:g}s"',
            # Flows that start together would stay synchronized.
            *([f'start_jitter = "{_time(self.rtt_s)}"'] if len(self.flows) > 1 else []),
            f'stack = "{self.stack}"',
            "",
            "[path]",
            f'rate = "{self.rate / 1e6:g}mbit"',
            f'rtt = "{_time(self.rtt_s)}"',
            *([f'buffer = "{limit}"'] if limit else []),
            f'queue = "{self.queue}"',
            *([f'loss = "{self.loss * 100:g}%"'] if self.loss else []),
        ]
        for number, flow in enumerate(self.flows, 1):
            lines += ["", *self._flow(number, flow)]
        return "\n".join(lines) + "\n"

    @property
    def stack(self) -> str:
        """The TCP of the hosts."""
        return "linux-fq" if self.paced else "linux"

    @property
    def about(self) -> str:
        """The scenario in a line."""
        names = [flow.cc for flow in self.flows]
        flows = ", ".join(f"{names.count(cc)} {cc}" for cc in dict.fromkeys(names))
        lost = f", {self.loss * 100:g} % loss" if self.loss else ""
        limit = "" if self.queue == "cake" else f" of {self.buffer} packets"
        path = f"{self.rate / 1e6:g} Mbit/s, {_time(self.rtt_s)}, {self.queue}{limit}{lost}"
        return f"{flows}; {path}, stack {self.stack}"

    def _flow(self, number: int, flow: DrawnFlow) -> Iterator[str]:
        data = (self.bdp + self.buffer) * _PACKET + self.rate / 8 * flow.extra_s
        window = math.ceil(max(2 * data, 8 * _MIB) / _MIB) * _MIB
        yield "[[flow]]"
        yield f'name = "{flow.cc}-{number}"'
        yield f'cc = "{_OURS[flow.cc]}"'
        yield f'receive_window = "{window}B"'
        if flow.start_s:
            yield f'start = "{_time(flow.start_s)}"'
        if flow.extra_s:
            yield f'rtt = "+{_time(flow.extra_s)}"'
        if flow.app == "transfer":
            yield f'bytes = "{flow.size}B"'
        if flow.app == "requests":
            yield f'app = "request {flow.size}B think {_time(flow.think_s)}"'


def draw(seed: int, number: int, hours: float) -> Drawn | Impossible:
    """Returns scenario `number` of a seed; each has random numbers of its own."""
    source = random.Random(f"fullpipe {seed} {number}")
    return _timed(_path(source, f"{number:03}"), source, round(PACKETS * hours))


def draw_for_acks(seed: int, number: int, hours: float) -> Drawn:
    """Returns a scenario with one flow and without chance, from the same prior.

    It has no transfer: Linux has no tracepoint for ACKs of a connection that its program has closed.
    """
    source = random.Random(f"fullpipe {seed} acks {number}")
    while True:
        found = _path(source, f"a{number:02}")
        # One seed needs no more packets than that of a scenario with several.
        timed = _timed(found, source, round(PACKETS * hours / LEAST_SEEDS))
        if isinstance(timed, Impossible) or timed.is_random:
            continue
        if len(timed.flows) == 1 and timed.flows[0].app != "transfer":
            return timed


def _path(source: random.Random, name: str) -> Drawn:
    rate = round(_log_uniform(source, *_RATES), -4)
    rtt_s = _digits(_log_uniform(source, *_RTTS))
    bdps = _digits(_log_uniform(source, *_BUFFERS))
    queue = source.choice(QUEUES) if source.random() < 0.5 else "pfifo"
    loss = _digits(_log_uniform(source, *_LOSSES)) if source.random() < 0.5 else 0.0
    paced = source.random() < 0.5
    count = source.randint(2, 6) if source.random() < 0.6 else 1
    one, same = source.choice(ALGORITHMS), source.random() < 0.5
    differ = count > 1 and source.random() < 0.5
    flows = tuple(
        DrawnFlow(
            one if same or number == 0 else source.choice(ALGORITHMS),
            _digits(source.uniform(0, _START_ROUND_TRIPS) * rtt_s) if number else 0.0,
            _digits(source.uniform(0, _MOST_EXTRA_S)) if differ else 0.0,
            *_application(source, rate / count),
        )
        for number in range(count)
    )
    return Drawn(name, int(rate), rtt_s, bdps, queue, loss, paced, flows)


def _application(source: random.Random, fair: float) -> tuple[int, float]:
    """Draws the size of a transfer or a response, and the pause; up to three seconds' or one second's fair share."""
    kind = source.random()
    if kind < 0.6:
        return 0, 0.0
    if kind < 0.8:
        return round(_log_uniform(source, 20e3, max(fair / 8 * 3, 40e3))), 0.0
    size = round(_log_uniform(source, 5e3, max(fair / 8, 20e3)))
    return size, _digits(_log_uniform(source, 0.02, 2.0))


def _timed(drawn: Drawn, source: random.Random, budget: int) -> Drawn | Impossible:
    """Draws the duration, and gives the kernel as many seeds as the budget allows."""
    shortest = replace(drawn, duration_s=_up(drawn.least_s))
    packets = shortest.packets(shortest.duration_s)
    needed = LEAST_SEEDS if shortest.is_random else 1
    if packets * needed > budget:
        seeds = f" with {needed} seeds" if needed > 1 else ""
        reason = f"{packets * needed:,} packets for {ROUND_TRIPS} round trips{seeds}: {drawn.about}"
        return Impossible(drawn.name, reason)
    affordable = min(MOST_SEEDS, budget // packets) if shortest.is_random else 1
    longest_s = min(budget / affordable * _PACKET * 8 / drawn.rate, _LONGEST_S)
    if longest_s <= shortest.duration_s:
        return replace(shortest, seeds=affordable)
    duration_s = math.floor(_log_uniform(source, shortest.duration_s, longest_s) * 10) / 10
    return replace(drawn, duration_s=max(duration_s, shortest.duration_s), seeds=affordable)


def _log_uniform(source: random.Random, low: float, high: float) -> float:
    return math.exp(source.uniform(math.log(low), math.log(high)))


def _digits(value: float) -> float:
    """Rounds to three significant digits."""
    return float(f"{value:.3g}")


def _up(seconds: float) -> float:
    """Rounds up to a tenth of a second."""
    return math.ceil(seconds * 10) / 10


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:g}us" if seconds < 1e-3 else f"{seconds * 1e3:g}ms"
