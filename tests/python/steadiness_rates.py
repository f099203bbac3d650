"""Measures how often steady results are called drifting, and how often transient ones are found.

`python tests/python/steadiness_rates.py` prints the tables of docs/reference/statistics.md.

Each row has an algorithm alone, or two flows of it. A run lasts until 200 s and is measured from 150 s on, when
nothing is left of its start. A result is one run, or ten or thirty runs with consecutive seeds.
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

import fullpipe
from fullpipe import _core
from fullpipe.results.rows import rows_of
from fullpipe.stats.steady import judged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RATE, RTT = "20mbit", "40ms"
BUFFERS = ("1bdp", "4bdp")
JITTER = {"start_jitter": RTT, "send_jitter": "600us"}
STEADY = ("150s", "200s")
TRANSIENT = ("30s", "60s")
SEEDS, MANY = 10, 30
MODELS = {
    "exponential, mean 30 kB": 'model = "cdf"\nsource = "exponential.cdf"',
    "bounded Pareto, shape 1.2": 'model = "bounded_pareto shape 1.2 min 1kB max 20MB"',
    "bounded Pareto, shape 1.5": 'model = "bounded_pareto shape 1.5 min 2kB max 200kB"',
    "lognormal, sigma 2": 'model = "lognormal median 10kB sigma 2 max 20MB"',
}
WORKLOAD = """duration = "60s"
measure_from = "10s"
[path]
rate = "50mbit"
rtt = "40ms"
buffer = "1bdp"
[[link]]
name = "uplink"
rate = "{uplink}"
buffer = "60packets"
[[workload]]
name = "web"
cc = "cubic"
load = {load}
reverse_route = ["uplink"]
{model}
"""
PAIRS = (
    ["newreno", "cubic"],
    ["cubic", "bbr1"],
    ["cubic", "bbr2"],
    ["cubic", "bbr3"],
    ["bbr1", "bbr3"],
)


class Rates(NamedTuple):
    """Shares of results that are called drifting.

    Attributes:
        single: Runs that drift, and all runs.
        sets: Sets of ten seeds that drift, and all sets.
        large: The same of thirty seeds.
    """

    single: tuple[int, int]
    sets: tuple[int, int]
    large: tuple[int, int]


def algorithms() -> list[str]:
    """Returns the algorithms that can run alone."""
    return [each["name"] for each in _core.algorithms() if each["name"] != "lia"]


def rates(
    names: list[str],
    buffers: Sequence[str],
    window: tuple[str, str],
    stack: str,
    sets: int,
) -> Rates:
    """Runs flows of these algorithms together, with each buffer and `10 * sets` seeds."""

    def run(buffer: str, seed: int) -> pl.DataFrame:
        made = fullpipe.run(
            names,
            rate=RATE,
            rtt=RTT,
            buffer=buffer,
            duration=window[1],
            stack=stack,
            set={**JITTER, "measure_from": window[0]},
            seed=seed,
        )
        return rows_of(made.metrics)

    found = [_counted(partial(run, buffer), sets, _drifts) for buffer in buffers]
    return Rates(*(tuple(map(sum, zip(*each, strict=True))) for each in zip(*found, strict=True)))  # type: ignore[arg-type]


def workload(model: str, load: float, uplink: str, sets: int) -> Rates:
    """Returns how often the number of active flows of a workload is called drifting, with `10 * sets` seeds.

    Args:
        model: A key of `MODELS`.
        load: The load of the link of 50 Mbit/s.
        uplink: The rate of the link of ACKs.
        sets: Sets of ten seeds.
    """
    with TemporaryDirectory() as folder:
        file = Path(folder) / "workload.toml"
        shares = range(1, 201)
        sizes = [f"{round(-30_000 * math.log(1 - (each - 0.5) / 200))} {each / 200}\n" for each in shares]  # fmt: skip
        (file.parent / "exponential.cdf").write_text("".join(sizes))
        file.write_text(WORKLOAD.format(model=MODELS[model], load=load, uplink=uplink))

        def run(seed: int) -> pl.DataFrame:
            return rows_of(fullpipe.run(file, seed=seed).metrics)

        def drifts(rows: pl.DataFrame) -> bool:
            return judged(rows).of(["concurrent"]).verdict == "drifts"

        return _counted(run, sets, drifts)


def _counted(
    run: Callable[[int], pl.DataFrame], sets: int, drifts: Callable[[pl.DataFrame], bool]
) -> Rates:
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(run, range(1, SEEDS * sets + 1)))
    found = []
    for size in (1, SEEDS, MANY):
        starts = range(0, len(rows) - size + 1, size)
        parts = [pl.concat(rows[at : at + size], how="diagonal_relaxed") for at in starts]
        found.append((sum(map(drifts, parts)), len(parts)))
    return Rates(*found)


def _drifts(rows: pl.DataFrame) -> bool:
    return judged(rows).verdict == "drifts"


def steady(name: str, flows: int, sets: int) -> Rates:
    """Returns the rates of an algorithm with 1 and 4 BDP of buffer, which should be small."""
    return rates([name] * flows, BUFFERS, STEADY, "linux", sets)


def transient(duration: str, stack: str, sets: int, since: str = "10s") -> Rates:
    """Returns the rates of CUBIC next to BBRv3 with 4 BDP; measured from 10 s on, they should be near 100 %."""
    return rates(["cubic", "bbr3"], BUFFERS[1:], (since, duration), stack, sets)


def warm_up(names: list[str], bdps: int) -> tuple[float, float]:
    """Returns the median end of the flows' warm-ups by MSER, and that of nine in ten, over ten seeds.

    Both are in RTTs with full buffers; runs have 400 of them, and 60 s or more.
    """
    full_s = 0.040 * (1 + bdps)
    duration = f"{max(60, 400 * full_s):g}s"
    ends = []
    for seed in range(1, SEEDS + 1):
        made = fullpipe.run(
            names,
            rate=RATE,
            rtt=RTT,
            buffer=f"{bdps}bdp",
            duration=duration,
            seed=seed,
            set={**JITTER, "measure_from": "0s"},
        )
        drifts = [flow.get("drift", {}).get("goodput_bps") for flow in made.metrics["flows"]]
        ends += [each.get("warm_up_s", 0.0) / full_s for each in drifts if each]
    ends.sort()
    return ends[len(ends) // 2], ends[len(ends) * 9 // 10]


def cells(found: Sequence[tuple[int, int]]) -> str:
    """Returns two cells of a table."""
    return " | ".join(
        f"{count} of {all_} ({100 * count / all_:.0f} %)" if all_ else "–" for count, all_ in found
    )


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=10, help="sets of ten seeds")
    parser.add_argument("--workloads", action="store_true", help="print the table of workloads")
    asked = parser.parse_args()
    sets = asked.sets
    if asked.workloads:
        print(
            "| Workload | Load | Single runs called drifting | Sets of ten seeds called drifting |"
        )
        print("|---|--:|--:|--:|")
        for model in MODELS:
            for load in (0.1, 0.5, 0.9):
                found = workload(model, load, "50mbit", sets)
                print(f"| {model} | {load} | {cells(found[:2])} |", flush=True)
        found = workload("bounded Pareto, shape 1.2", 0.3, "250kbit", sets)
        print(f"| bounded Pareto, shape 1.2, ACKs on 0.25 Mbit/s | 0.3 | {cells(found[:2])} |")
        return
    of = "called drifting"
    print(f"| Steady: flows | Single runs {of} | Sets of ten seeds {of} | Of thirty |")
    print("|---|--:|--:|--:|")
    for flows in (1, 2):
        for name in algorithms():
            words = name if flows == 1 else f"two {name}"
            print(f"| {words} | {cells(steady(name, flows, max(3 * sets // 10, 1)))} |", flush=True)
    late = rates(["cubic", "bbr3"], BUFFERS[1:], STEADY, "rfc", sets)
    print(f"| cubic and bbr3, 4 BDP, rfc | {cells(late)} |")
    print()
    head = "| Transient: cubic and bbr3, 4 BDP | Single runs found | Sets of ten seeds found"
    print(f"{head} | Of thirty |")
    print("|---|--:|--:|--:|")
    for stack in ("rfc", "linux"):
        for since in ("10s", "auto"):
            for duration in TRANSIENT:
                found = transient(duration, stack, sets, since)
                print(f"| `{stack}`, {since} to {duration} | {cells(found)} |", flush=True)
    print()
    print("| Warm-up: flows | Buffer | Median | Nine in ten |")
    print("|---|--:|--:|--:|")
    for names in PAIRS:
        for bdps in (1, 4, 16):
            half, most = warm_up(names, bdps)
            words = " and ".join(names)
            print(f"| {words} | {bdps} BDP | {half:.0f} | {most:.0f} |", flush=True)


if __name__ == "__main__":
    main()
