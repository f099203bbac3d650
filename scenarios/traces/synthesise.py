#!/usr/bin/env python3
"""Writes cellular.trace: 30 s of a made-up cellular link, in mahimahi's format.

The model is Sprout's (Winstein et al., NSDI 2013): a rate that is a Brownian motion of 200 packets/s per root second,
from 0 to 1000 packets/s, and opportunities at random (Poisson) with it; at zero it stays for some time: an outage. The
numbers are drawn, not measured: nobody's network is in it.
"""

import math
import random
from pathlib import Path

SECONDS, HIGHEST, DEVIATION, ESCAPES = 30, 1000.0, 200.0, 1.0


def main() -> None:
    """Draws the opportunities of 30 s."""
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
    Path(__file__).with_name("cellular.trace").write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
