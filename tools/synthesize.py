#!/usr/bin/env python3
"""Writes the traces of scenarios/traces. The numbers are drawn at random, not measured in a network.

cellular.trace: 30 s of a synthetic cellular link, in mahimahi's format. The model is Sprout's (Winstein et al., NSDI
2013): the rate is a Brownian motion of 200 packets/s per root second, from 0 to 1000 packets/s, and delivery
opportunities are a Poisson process with this rate. When the rate reaches zero, it stays there for some time: an outage.

satellite-forward.csv, satellite-reverse.csv: 60 s of synthetic one-way delays over low-orbit satellites, with a step
every 100 ms. Every 15 s the path changes to another satellite, with a delay of 18 to 36 ms that drifts by up to 0.3 ms
per second.
"""

import math
import random
from pathlib import Path

TRACES = Path(__file__).parents[1] / "python/fullpipe/scenarios/traces"
SECONDS, HIGHEST, DEVIATION, ESCAPES = 30, 1000.0, 200.0, 1.0


PASS, PASSES, STEP_MS = 15, 4, 100


def main() -> None:
    """Writes the traces."""
    cellular()
    for direction, seed in (("forward", 1), ("reverse", 2)):
        satellite(direction, random.Random(seed))


def satellite(direction: str, draw: random.Random) -> None:
    """Writes one step per line: a time, and the delay from then on."""
    lines = ["# time, one-way delay\n"]
    for satellite in range(PASSES):
        delay, drift = draw.uniform(18, 36), draw.uniform(-0.3, 0.3)
        for step in range(PASS * 1000 // STEP_MS):
            ms = satellite * PASS * 1000 + step * STEP_MS
            lines.append(f"{ms}ms, {delay + drift * step * STEP_MS / 1000:.2f}ms\n")
    (TRACES / f"satellite-{direction}.csv").write_text("".join(lines), encoding="ascii")


def cellular() -> None:
    """Writes the millisecond of one delivery opportunity per line."""
    draw = random.Random(30)
    rate, times = 500.0, []
    for ms in range(1, SECONDS * 1000 + 1):
        if rate > 0 or draw.random() < ESCAPES / 1000:
            rate = min(HIGHEST, rate + draw.gauss(0, DEVIATION * math.sqrt(0.001)))
            rate = max(rate, 0.0)
        due = draw.expovariate(1)
        while due < rate / 1000:
            times.append(ms)
            due += draw.expovariate(1)
    times.append(SECONDS * 1000)  # the trace's length
    text = "".join(f"{time}\n" for time in times)
    (TRACES / "cellular.trace").write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
