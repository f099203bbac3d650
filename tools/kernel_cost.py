"""Measures what BPF algorithms cost in this machine's TCP, next to the kernel's own.

    sudo .venv/bin/python tools/kernel_cost.py

- Throughput: flows over the loopback, with one algorithm after the other in each round, in random order. An
  algorithm's ratio to `bbr` is that within a round; the interval is of the median ratio.
- ns for an ACK: the kernel's own statistics of BPF programs (kernel.bpf_stats_enabled) in further flows. The kernel
  has none for its own algorithms; `make kernel-guest` counts the instructions of both.
- Trace (--trace ALGORITHM): throughput with a row each 10 ms and a reader, over that without rows, in pairs; and the
  time of processors that the reader takes.

Fewer programs on the machine give narrower intervals.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import re
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

from fullpipe.stats import interval
from fullpipe.wings.bpf import holder, machine
from fullpipe.wings.bpf.program import OBJECTS, objects, program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.queues import Queue

OWN = ("bbr", "cubic", "reno")
"""Linux' algorithms."""
BASE = OWN[0]
_CONTROLS = ("fp_cong_control", "fp_cong_avoid")
_STATS = Path("/proc/sys/kernel/bpf_stats_enabled")
_CHUNK = 1 << 17
_WARM_S = 0.5


def _receive(server: socket.socket, count: int) -> None:
    """Reads `count` connections to their end, each in a process."""
    for _ in range(count - 1):
        if os.fork() == 0:
            break
    peer, _ = server.accept()
    buffer = bytearray(1 << 20)
    while peer.recv_into(buffer):
        pass


def _send(address: tuple[str, int], name: str, seconds: float, back: Queue[float]) -> None:
    """Sends for some time, and reports the throughput after the first half second, Gbit/s."""
    with socket.create_connection(address) as flow:
        flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        chunk = bytes(_CHUNK)
        sent, start = 0, time.monotonic() + _WARM_S
        while time.monotonic() < start:
            flow.sendall(chunk)
        start = time.monotonic()
        while time.monotonic() < start + seconds:
            flow.sendall(chunk)
            sent += _CHUNK
        back.put(sent * 8 / (time.monotonic() - start) / 1e9)


def transfer(name: str, seconds: float, parallel: int = 1) -> float:
    """Runs flows over the loopback, and returns the sum of their throughputs, Gbit/s."""
    fork = multiprocessing.get_context("fork")
    with socket.create_server(("127.0.0.1", 0), backlog=parallel) as server:
        back: Queue[float] = fork.Queue()
        reader = fork.Process(target=_receive, args=[server, parallel])
        reader.start()
        arguments = [server.getsockname(), name, seconds, back]
        senders = [fork.Process(target=_send, args=arguments) for _ in range(parallel)]
        for each in senders:
            each.start()
        total = sum(back.get(timeout=seconds + 60) for _ in senders)
        for each in (*senders, reader):
            each.join()
    return total


@contextmanager
def held(algorithm: str, trace_us: int = 0) -> Iterator[int]:
    """Loads an algorithm, and yields its holder's process."""
    request = holder.plan(objects()[algorithm], {}, trace_us=trace_us)
    process = subprocess.Popen(
        [program(), "hold", request], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    if not process.stdout.readline():
        raise SystemExit(f"error: {algorithm} can't be loaded\n  fix: fullpipe kernel status")
    try:
        yield process.pid
    finally:
        process.communicate()


def called(name: str) -> str:
    """Returns an algorithm's name in the kernel."""
    return name if name in OWN else objects()[name].name


def spent(process: int) -> tuple[int, int]:
    """Returns the time of a holder's program for ACKs so far, ns, and the number of its calls.

    No other program of the holder takes as much time.
    """
    rows = [(0, 0)]
    for each in Path(f"/proc/{process}/fdinfo").iterdir():
        text = each.read_text(encoding="ascii")
        if found := re.search(r"^run_time_ns:\s*(\d+)\nrun_cnt:\s*(\d+)$", text, re.MULTILINE):
            rows.append((int(found[1]), int(found[2])))
    return max(rows)


def drawn(names: Sequence[str], asked: argparse.Namespace) -> Iterator[str]:
    """Yields the algorithms of all rounds, in a random order in each."""
    draw = random.Random(asked.seed)
    for _ in range(asked.rounds):
        yield from draw.sample(names, len(names))


def compare(chosen: Sequence[str], asked: argparse.Namespace) -> None:
    """Prints the algorithms' throughputs and times."""
    names = [*OWN, *chosen]
    rates: dict[str, list[float]] = {name: [] for name in names}
    times: dict[str, list[float]] = {name: [] for name in chosen}
    with ExitStack() as loaded:
        holders = {name: loaded.enter_context(held(name)) for name in chosen}
        for name in drawn(names, asked):
            rates[name].append(transfer(called(name), asked.seconds, asked.parallel))
        _STATS.write_text("1")
        loaded.callback(_STATS.write_text, "0")
        for name in drawn(chosen, asked):
            before = spent(holders[name])
            transfer(called(name), asked.seconds, asked.parallel)
            took, count = (b - a for a, b in zip(before, spent(holders[name]), strict=True))
            times[name].append(took / max(count, 1))
    print("| | Gbit/s | of bbr's | ns for an ACK |\n|---|--:|--:|--:|")
    for name in names:
        ratio = interval.median([a / b for a, b in zip(rates[name], rates[BASE], strict=True)])
        ns = f"{median(times[name]):.0f} ({min(times[name]):.0f})" if name in times else "–"
        print(
            f"| {called(name)} | {fmean(rates[name]):.1f} | {100 * ratio.value:.0f} % "
            f"[{100 * ratio.low:.0f}, {100 * ratio.high:.0f}] | {ns} |"
        )
    print("ns: the median over rounds, and the least")


def trace(algorithm: str, asked: argparse.Namespace) -> None:
    """Prints the throughput with rows and a reader over that without."""
    draw = random.Random(asked.seed)
    ratios, busy, rows = [], 0.0, 0
    for _ in range(asked.rounds):
        got = {}
        for on in draw.sample([False, True], 2):
            with held(algorithm, trace_us=holder.TRACE_US if on else 0):
                reader = None
                if on:
                    folder = program().parent / OBJECTS
                    reader = subprocess.Popen(
                        [program(), "trace", "0", "0", folder, called(algorithm)],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                    )
                got[on] = transfer(called(algorithm), asked.seconds, asked.parallel)
                if reader:
                    times = Path(f"/proc/{reader.pid}/stat").read_text().rpartition(")")[2].split()
                    busy += (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
                    rows += reader.communicate()[0].count(b"\n")
        ratios.append(got[True] / got[False])
    found, whole = interval.median(ratios), asked.rounds * (asked.seconds + _WARM_S)
    print(
        f"{called(algorithm)}, {asked.parallel} flows, {asked.rounds} pairs, {rows / whole:.0f} rows/s, "
        f"the reader takes {100 * busy / whole:.2f} % of a processor: throughput "
        f"{100 * (found.value - 1):+.2f} % [{100 * (found.low - 1):+.2f}, {100 * (found.high - 1):+.2f}]"
    )


def main() -> int:
    """Measures, and prints the table."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--seconds", type=float, default=2.0, help="of a flow (default: 2)")
    asked.add_argument("--rounds", type=int, default=10, help="(default: 10)")
    asked.add_argument("--parallel", type=int, default=1, help="flows at once (default: 1)")
    asked.add_argument("--seed", type=int, default=0, help="of the order (default: 0)")
    asked.add_argument(
        "--algorithm", action="append", help="BPF algorithm; repeatable (default: all)"
    )
    asked.add_argument("--trace", metavar="ALGORITHM", help="measure the trace of this one instead")
    given = asked.parse_args()
    if lacks := machine.unmet():
        print(f"error: {lacks}", file=sys.stderr)
        return 2
    if given.trace:
        trace(given.trace, given)
    else:
        # prague needs accurate ECN.
        compare(given.algorithm or [name for name in objects() if name != "prague"], given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
