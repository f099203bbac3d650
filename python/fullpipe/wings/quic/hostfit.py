"""Fits the simulator's `[host]` to this machine: `python -m fullpipe.wings.quic.hostfit`, after `make quic`.

Real QUIC downloads 300 MB with a fixed window, in batches of several sizes. `fullpipe-quic turns` records the CPU time
of each turn of both programs, and the delay of each wake-up. The model: docs/reference/models/host.md. The fit uses no
goodput.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq, nnls

from fullpipe.wings.quic.runners._quic import PROGRAM, Quic, program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Sides = Mapping[str, Any]

BATCHES = (1, 4, 16, 44)
COSTS = ("call", "ack", "send", "receive")

SCENARIO = """
duration = "60s"
path = {{ kind = "loopback", rate = "40gbit", rtt = "4us", buffer = "16MB" }}
host = {{ batch = {batch} }}
[[flow]]
name = "download"
cc = "cubic"
bytes = "{bytes}"
ack_delay = "1ms"
receive_window = "1MB"
"""


def measure(batch: int) -> Sides:
    """Runs one download in batches of `batch` packets and returns each turn of both ends."""
    text = SCENARIO.format(batch=batch, bytes="300MB" if batch > 1 else "100MB")
    plan = {"scenario": text, "file": "hostfit.toml", "on": "quic"}
    with tempfile.TemporaryDirectory(prefix="fullpipe-hostfit-") as folder:
        (Path(folder) / "plan.json").write_text(json.dumps(plan))
        out = Path(folder) / "turns.json"
        command = [program(), "turns", str(Path(folder) / "plan.json"), str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(
                f"{PROGRAM} could not measure: {done.stderr.strip() or f'exit code {done.returncode}'}"
            )
        sides: Sides = json.loads(out.read_text())
        return sides


def costs(runs: Sequence[Sides]) -> dict[str, float]:
    """Fits CPU times in nanoseconds: non-negative least squares of relative errors, with equal weight for each side.

    Turns that deviate by more than three standard deviations (the process lost its processor) are left out, and the
    fit is repeated.
    """
    parts = [_work(side, name) for run in runs for name, side in run.items()]
    factors = np.vstack([factors for factors, _ in parts])
    took = np.concatenate([took for _, took in parts])
    weight = np.concatenate([np.full(len(took), 1 / math.sqrt(len(took))) for _, took in parts])
    kept = np.ones(len(took), dtype=bool)
    for _ in range(6):
        found, _ = nnls(factors[kept] * (weight / took)[kept, None], weight[kept])
        off = np.abs(factors @ found / took - 1)
        kept = off <= max(3 * 1.4826 * float(np.median(off[kept])), 0.01)
    return dict(zip(COSTS, map(float, found), strict=True))


def wakes(runs: Sequence[Sides]) -> tuple[float, float, float]:
    """Fits least, median and greatest wake-up time, in nanoseconds, of the model's bounded Pareto distribution.

    Median and greatest (the 99.9th percentile) are the measured ones. The least is chosen so that the 99th percentile
    is the measured one, too.
    """
    late = np.concatenate([_late(run[one], run[other]) for run in runs for one, other in _BOTH])
    median, most, greatest = np.percentile(late, [50, 99, 99.9])

    def excess(least: float) -> float:
        return _quantile(0.99, least, median, greatest) - float(most)

    # The model's median is below the geometric mean of its ends.
    low, high = greatest**-1 * median**2 * 1.001, median * 0.99
    least = (
        float(brentq(excess, low, high)) if excess(low) > 0 > excess(high) else float(median) / 2
    )
    return least, float(median), float(greatest)


_BOTH = (("server", "client"), ("client", "server"))


def _columns(side: Sides, *names: str) -> NDArray[np.float64]:
    """Returns columns of the turns, without those of the handshake and the end."""
    return np.array([[turn[name] for name in names] for turn in side["turns"][20:-5]], dtype=float)


def _work(side: Sides, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    began, done, reads, received, bursts, sent = _columns(
        side, "began", "done", "reads", "received", "bursts", "sent"
    ).T
    none = np.zeros(len(began))
    server = name == "server"
    acks = received if server else sent
    factors = [reads + bursts, acks, sent if server else none, none if server else received]
    return np.column_stack(factors), done - began


def _late(side: Sides, other: Sides) -> NDArray[np.float64]:
    """Returns the times from handing data over to the turn that it woke, without turns that a timer began."""
    slept, began = _columns(side, "slept", "began").T
    slept, began = slept[slept > 0], began[slept > 0]
    handed = np.sort(np.array(other["handed_over"], dtype=float))
    first = np.searchsorted(handed, slept)
    there = first < len(handed)
    late: NDArray[np.float64] = began[there] - handed[first[there]]
    return late[late > 0]


def _quantile(u: float, least: float, median: float, greatest: float) -> float:
    def above(shape: float) -> float:
        return (1 - math.pow(least / median, shape)) / (1 - math.pow(least / greatest, shape)) - 0.5

    shape: float = brentq(above, 1e-6, 1e4)
    ends = 1 - math.pow(least / greatest, shape)
    return float(least * math.pow(1 - u * ends, -1 / shape))


def main() -> None:
    """Prints the table [host], ready for a scenario."""
    if missing := Quic("quic", "", real_time=True).missing():
        sys.exit(f"{missing.problem}; {missing.fix}")
    runs = [measure(batch) for batch in BATCHES]
    print("[host]")
    for name, value in costs(runs).items():
        print(f'{name} = "{value / 1000:.3g}us"')
    for name, value in zip(("wake_min", "wake_median", "wake_max"), wakes(runs), strict=True):
        print(f'{name} = "{value / 1000:.3g}us"')


if __name__ == "__main__":
    main()
