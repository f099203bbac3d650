"""Searches the coefficients of small.py with CMA-ES, and asks the hold-out at the end.

    pip install cmaes
    python examples/evolve/evolve.py --generations 20 --population 8

Each generation is a race: candidates that can't win stop early, and their scores are over fewer cells. Results are kept
by content, so that the same command goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
from cmaes import CMA

HERE = Path(__file__).parent
LIMITS = {"gain": (0.05, 8.0), "target": (0.01, 3.0), "slope": (0.01, 1.0), "cut": (0.3, 0.95)}
START = {"gain": 1.0, "target": 0.3, "slope": 0.5, "cut": 0.7}


def inside(values):
    """Returns parameters for a point of the search, which has the logarithms of the coefficients."""
    found = {}
    for (name, (low, high)), value in zip(LIMITS.items(), values, strict=True):
        found[name] = round(min(max(math.exp(value), low), high), 4)
    return found


def score(sets, given, *words):
    """Returns the result of `fullpipe score` for sets of parameters."""
    file = given.out / "sets.jsonl"
    small = str(HERE / "small.py") + ":Small"
    lines = [
        json.dumps({"candidate": small, "params": each, "name": str(number)})
        for number, each in enumerate(sets)
    ]
    file.write_text("\n".join(lines))
    suite = ["--suite", given.suite] if given.suite else []
    command = [sys.executable, "-m", "fullpipe", "score", "--candidates", str(file), *suite]
    done = subprocess.run(
        [*command, "--json", "--cache", str(given.out / "cache"), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--generations", type=int, default=20)
    parser.add_argument("--population", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--suite")
    parser.add_argument("--out", type=Path, default=Path("evolved"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    start = np.log(list(START.values()))
    search = CMA(start, 0.4, population_size=given.population, seed=given.seed)
    best = (-math.inf, START)
    for generation in range(given.generations):
        points = [search.ask() for _ in range(given.population)]
        sets = [inside(each) for each in points]
        result = score(sets, given, "--no-holdout")
        scores = {int(each["name"]): each.get("score", -4.0) for each in result["candidates"]}
        # Two points may have the same set, whose result is there once.
        first = [sets.index(each) for each in sets]
        search.tell([(each, -scores[number]) for each, number in zip(points, first, strict=True)])
        winner = result["candidates"][0]
        if winner["stopped"] is None and winner.get("score", -4.0) > best[0]:
            best = winner["score"], winner["params"]
        print(
            f"generation {generation}: {winner['score']:+.3f}, best so far {best[0]:+.3f}",
            flush=True,
        )
    result = score([best[1]], given)
    [only], alarm = result["candidates"], result["holdout"]["alarm"]
    low, high = only["interval"]
    print(f"{json.dumps(only['params'])}: {only['score']:+.3f} [{low:+.3f}, {high:+.3f}]")
    print("the hold-out " + ("raises an alarm" if alarm else "agrees"))
    (given.out / "best.json").write_text(json.dumps(only, indent=1))


if __name__ == "__main__":
    main()
