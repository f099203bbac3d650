"""Compares a policy with another algorithm on paths that it was not trained on.

    python examples/policy/evaluate.py power.json

Draws paths from the prior of `fullpipe/Rate-v0` with a seed that the training does not use, and runs each algorithm on
each. The policy wins a path if its power, goodput over mean RTT, is higher than that of `--against`, which is CUBIC if
it is not given.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from scipy.stats import binomtest

import fullpipe
import fullpipe.gym

SEED = 2_000_000_000  # training draws seeds of episodes at random from 2^63


def powers(algorithm, paths, seed):
    """Returns the power of each path, in Mbit/s per second of mean RTT."""
    sweep = fullpipe.sweep(
        algorithm,
        fullpipe.gym.RATE.prior,
        sample=paths,
        seed=seed,
        duration="30s",
        set={"measure_from": "0s"},
    )
    rows = sweep.flows.sort("point")
    return rows["goodput_bps"] / 1e6 / rows["rtt_s.mean"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("policy", type=Path)
    parser.add_argument("--against", default="cubic")
    parser.add_argument("--paths", type=int, default=100)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    other = powers(given.against, given.paths, given.seed)
    policy = powers(f"policy:{given.policy}", given.paths, given.seed)
    wins = int((policy > other).sum())
    share = binomtest(wins, given.paths).proportion_ci(0.95, method="wilson")
    ratio = (policy / other).median()
    print(
        f"{given.policy.stem} has more power than {given.against} on {wins} of {given.paths} paths "
        f"({wins / given.paths:.0%} [{share.low:.0%}–{share.high:.0%}]), in the median {ratio:.2f} times as much"
    )


if __name__ == "__main__":
    main()
