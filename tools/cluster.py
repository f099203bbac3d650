"""Measures a Ray cluster of this machine: cost of a task, runs a second by nodes, and a sweep through three deaths.

    tools/cluster.py tasks            # cost of an empty task, and of the command's loop, per task and per row
    tools/cluster.py nodes            # runs a second on 1, 2 and 3 nodes of one core each, and on threads
    tools/cluster.py deaths           # 100,000 runs; a worker, a node and the head are killed; resumed; rows compared

Needs Ray (`make setup-all`). Each part starts its own nodes, and ends them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "python"))

from ray_nodes import TOKEN, Node, wait

SCENARIO = """\
# A short run
duration = "{duration}"
[path]
rate = "20mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
"""
NODES = 3
AXES = ["--set", "path.buffer=0.5bdp,1bdp,2bdp,4bdp", "--set", "flow.0.cc=cubic,bbr1"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("tasks", "nodes", "deaths"))
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--duration", default="2s", help="length of each simulated run")
    given = parser.parse_args()
    os.environ.update(TOKEN)
    with tempfile.TemporaryDirectory(prefix="fullpipe-cluster-") as folder, ExitStack() as ending:
        place = Path(folder)
        (place / "short.toml").write_text(SCENARIO.format(duration=given.duration))
        {"tasks": tasks, "nodes": nodes, "deaths": deaths}[given.part](place, ending, given.runs)


def start(place: Path, ending: ExitStack, number: int, address: str = "") -> Node:
    node = Node(place, number, address)
    ending.callback(node.kill)
    return node.ready()


def sweep(runs: int, out: str, engine: str, *more: str) -> list[str]:
    asked = [sys.executable, "-m", "fullpipe", "sweep", "short.toml", "--trace=off", *AXES, *more]
    return [*asked, f"--repeat={runs // 8}", f"--engine={engine}", f"--out={out}"]


def timed(asked: list[str], place: Path, address: str = "") -> tuple[float, float]:
    """Runs a command; returns its duration, and the CPU time of its own process."""
    before, began = os.times(), time.perf_counter()
    env = {**os.environ, "RAY_ADDRESS": address}
    subprocess.run(asked, cwd=place, env=env, check=True, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - began, os.times()
    return took, sum(after[2:4]) - sum(before[2:4])


def nodes(place: Path, ending: ExitStack, runs: int) -> None:
    """The same sweep on threads, and on 1, 2 and 3 nodes."""
    for threads in (1, 2):
        took, cpu = timed(sweep(runs, f"t{threads}", "local", f"--threads={threads}"), place)
        print(
            f"{threads} threads: {runs / took:,.0f} runs/s, {took:.1f} s, {cpu:.1f} CPU s",
            flush=True,
        )
    address = ""
    for number in range(1, NODES + 1):
        node = start(place, ending, 40 + number, address)
        address = address or node.address
        took, cpu = timed(sweep(runs, f"n{number}", "ray"), place, address)
        shards = len(list((place / f"n{number}" / "runs").iterdir()))
        print(
            f"{number} nodes: {runs / took:,.0f} runs/s, {took:.1f} s with the start of the command, "
            f"{cpu:.1f} CPU s of the command, {shards} shards",
            flush=True,
        )


def tasks(place: Path, ending: ExitStack, runs: int) -> None:
    """The throughput of the machine that starts the command, with tasks that cost workers nothing."""
    os.environ["RAY_ADDRESS"] = start(place, ending, 41).address
    import ray

    ray.init(log_to_driver=False)
    resources: Any = ray.cluster_resources
    empty = ray.remote(num_cpus=0.01)(lambda: None)
    ray.get([empty.remote() for _ in range(100)])
    began, number = time.perf_counter(), 2000
    ray.get([empty.remote() for _ in range(number)])
    print(f"empty task: {1e3 * (time.perf_counter() - began) / number:.2f} ms", flush=True)
    began = time.perf_counter()
    for _ in range(100):
        resources()
    print(
        f"ray.cluster_resources(): {1e3 * (time.perf_counter() - began) / 100:.2f} ms", flush=True
    )
    _loop(ray, place, runs)


def _loop(ray: Any, place: Path, runs: int) -> None:
    """The whole loop of the command, from the result of a task to its file, for several sizes of a shard."""
    from fullpipe.study.engine import Shard
    from fullpipe.study.spec import SweepSpec
    from fullpipe.study.sweeps.store import SweepStore

    text = (place / "short.toml").read_text()
    for size in (1, 10, 100, 1000, 10_000):
        count = min(500, runs // size)
        spec = SweepSpec(
            text, "short.toml", given=[("path.buffer", "1bdp,2bdp")], repeat=size * count
        )
        running = spec.plan.start([(0, size)], 2, 1e9)
        while not (made := running.next(0.1)):
            pass
        rows = ray.put(made)
        again = ray.remote(num_cpus=0.01)(lambda each: each)
        store = SweepStore(place / f"loop-{size}", spec, "test", "loop")
        pending, cpu, began, at = (
            [again.remote(rows) for _ in range(count)],
            0.0,
            time.perf_counter(),
            0,
        )
        cpu = time.process_time()
        while pending:
            done, pending = ray.wait(pending, num_returns=len(pending), timeout=0.1)
            for each in done:
                _, _, columns = ray.get(each)
                store.add(Shard(at, at + size, columns))
                at += size
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        print(
            f"shards of {size} runs: {1e3 * took / count:.2f} ms a task by the clock, "
            f"{1e3 * cpu / count:.2f} ms of CPU, {size * count / took:,.0f} runs/s at most",
            flush=True,
        )


def deaths(place: Path, ending: ExitStack, runs: int) -> None:
    """A worker, a node and the head are killed during the sweep; a new cluster continues."""
    head = start(place, ending, 51)
    others = [start(place, ending, number, head.address) for number in (52, 53)]
    shards = place / "kept" / "runs"

    def finished() -> int:
        names = [file.name.split("-") for file in shards.glob("[!.]*.parquet")]
        return sum(int(end) - int(first) for first, end, *_ in names)

    asked = sweep(runs, "kept", "ray")
    env = {**os.environ, "RAY_ADDRESS": head.address}
    began = time.perf_counter()
    with subprocess.Popen(asked, cwd=place, env=env, stderr=subprocess.PIPE, text=True) as running:
        ending.callback(running.kill)
        wait(lambda: finished() > runs // 10, 600)
        wait(others[0].kill_worker)
        print(
            f"{time.perf_counter() - began:.1f} s: a worker is killed, {finished():,} runs",
            flush=True,
        )
        wait(lambda: finished() > runs // 5, 600)
        others[1].kill()
        print(
            f"{time.perf_counter() - began:.1f} s: a node is killed, {finished():,} runs",
            flush=True,
        )
        wait(lambda: finished() > runs * 2 // 5, 600)
        head.kill()
        killed = time.perf_counter()
        print(f"{killed - began:.1f} s: the head is killed, {finished():,} runs", flush=True)
        _, said = running.communicate()
    print(
        f"exit code {running.returncode} after {time.perf_counter() - killed:.1f} s, {finished():,} runs"
    )
    print(said.strip().splitlines()[-2:])
    others[0].kill()
    again = start(place, ending, 54)
    more = start(place, ending, 55, again.address)
    took, _ = timed(asked, place, again.address)
    print(f"a new cluster of two nodes: the rest in {took:.1f} s, {finished():,} runs", flush=True)
    for node in (more, again):
        node.kill()
    took, _ = timed(sweep(runs, "here", "local"), place)
    print(f"on threads: {took:.1f} s", flush=True)
    import fullpipe

    kept, here = (fullpipe.Sweep(place / name).frame() for name in ("kept", "here"))
    print(f"rows equal: {kept.equals(here)}, {len(kept):,} rows, {kept.width} columns")


if __name__ == "__main__":
    main()
