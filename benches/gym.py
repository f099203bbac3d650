"""Steps per second of environments, with set-up: python benches/gym.py [--steps N] [--threads N].

`small` has 35 packets in a step, and actions that keep the RTT near 1.2 times its minimum, with noise, as a policy in
training does. `aurora` has the paths of Aurora's environment, and random actions.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import fullpipe.gym

ENVIRONMENTS = 64
SMALL = fullpipe.gym.RATE.but(
    prior={
        "path.rate": "4mbit..40mbit log",
        "path.rtt": "10ms..60ms log",
        "path.buffer": "1bdp..4bdp log",
        "path.loss": "0%..1%",
    },
    history=10,
    start="0.5..1",
)


def measure(name: str, declaration: fullpipe.gym.Declaration, steps: int, threads: int) -> None:
    """Prints the steps per second of one environment."""
    ratio = declaration.features.index("latency-ratio") - len(declaration.features)
    random = np.random.default_rng(1)
    begun, used = time.perf_counter(), time.process_time()
    environments = fullpipe.gym.VectorEnv(ENVIRONMENTS, declaration, threads=threads)
    observations, _ = environments.reset(seed=1)
    packets = 0.0
    for _ in range(steps // ENVIRONMENTS):
        above = observations[:, ratio] - 1.2
        noise = random.uniform(-1, 1, ENVIRONMENTS)
        steered = np.clip(-0.5 * above, -0.3, 0.1) + 0.1 * noise
        actions = noise if declaration.action.form == "delta" else steered
        observations, _, _, _, infos = environments.step(actions[:, None].astype(np.float32))
        packets += infos["packets"].sum()
    begun, used = time.perf_counter() - begun, time.process_time() - used
    steps = steps // ENVIRONMENTS * ENVIRONMENTS
    print(
        f"{name}: {packets / steps:.1f} packets a step, {steps / begun:,.0f} steps/s on {threads} threads, "
        f"{steps / used:,.0f} per CPU second, {packets / used / 1e6:.2f} million packets per CPU second"
    )


def main() -> None:
    """Measures both environments."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=("small", "aurora"))
    parser.add_argument("--steps", type=int, default=64_000)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    for name, declaration in (("small", SMALL), ("aurora", fullpipe.gym.AURORA)):
        if given.only in (None, name):
            measure(name, declaration, given.steps, given.threads)


if __name__ == "__main__":
    main()
