"""Measures what an algorithm costs in Linux' TCP: BPF algorithms next to the kernel's own.

    sudo .venv/bin/python tools/kernel_cost.py

One flow runs over the loopback, with one algorithm after the other in each round, in random order.

- Throughput: an algorithm's ratio to `bbr` is that within a round; the interval is of the mean ratio.
- Time for an ACK: perf samples the processors' clock. The time of an algorithm is that of all samples with its function
  for an ACK among the callers, which for BPF includes the kernel's trampoline, divided by the ACKs that the
  sender received. These flows run in a network namespace whose loopback has packets of 1500 bytes and no offload,
  which gives an ACK for two packets.
- Trace (--trace ALGORITHM): throughput with a row each 10 ms and a reader, over that without rows, in pairs.

It needs perf. Fewer programs on the machine give narrower intervals.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from fullpipe.bpf import holder, machine
from fullpipe.bpf.program import objects, program
from fullpipe.stats import interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

OWN = {"bbr": "bbr_main", "cubic": "cubictcp_cong_avoid", "reno": "tcp_reno_cong_avoid"}
"""Linux' algorithms, with their functions for an ACK."""
BASE = "bbr"
_CALLER = "tcp_ack"
_HZ = 19_997
_CHUNK = 1 << 17
_MAX_PACING_RATE = 47
_MOST = 50_000_000
_WARM_S = 0.5
_SEGS_IN = 140
"""Offset of tcpi_segs_in in struct tcp_info."""


class Flow(NamedTuple):
    """A transfer.

    Attributes:
        gbit: Its throughput, Gbit/s.
        acks: The segments that the sender received.
    """

    gbit: float
    acks: int


def _receive(server: socket.socket, count: int) -> None:
    """Reads `count` connections to their end, each in a process."""
    for _ in range(count - 1):
        if os.fork() == 0:
            break
    peer, _ = server.accept()
    buffer = bytearray(1 << 20)
    while peer.recv_into(buffer):
        pass


def _send(
    address: tuple[str, int], name: str, seconds: float, most: int, back: object
) -> None:
    """Sends for some time, and reports the transfer after the first half second."""
    with socket.create_connection(address) as flow:
        flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        if most:
            flow.setsockopt(socket.SOL_SOCKET, _MAX_PACING_RATE, struct.pack("=Q", most))
        chunk = bytes(_CHUNK)
        sent, start = 0, time.monotonic() + _WARM_S
        while time.monotonic() < start:
            flow.sendall(chunk)
        first, start = _segs_in(flow), time.monotonic()
        while time.monotonic() < start + seconds:
            flow.sendall(chunk)
            sent += _CHUNK
        took = time.monotonic() - start
        back.put(Flow(sent * 8 / took / 1e9, _segs_in(flow) - first))  # type: ignore[attr-defined]


def _segs_in(flow: socket.socket) -> int:
    info = flow.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return int(struct.unpack_from("=I", info, _SEGS_IN)[0])


def transfer(name: str, seconds: float, parallel: int = 1, most: int = 0) -> Flow:
    """Runs flows over the loopback, and returns their sums."""
    fork = multiprocessing.get_context("fork")
    with socket.create_server(("127.0.0.1", 0), backlog=parallel) as server:
        back = fork.Queue()
        reader = fork.Process(target=_receive, args=[server, parallel])
        reader.start()
        arguments = [server.getsockname(), name, seconds, most, back]
        senders = [fork.Process(target=_send, args=arguments) for _ in range(parallel)]
        for each in senders:
            each.start()
        found = [back.get(timeout=seconds + 30) for _ in senders]
        for each in (*senders, reader):
            each.join()
    return Flow(sum(each.gbit for each in found), sum(each.acks for each in found))


@contextmanager
def held(algorithm: str, trace_us: int = 0) -> Iterator[int]:
    """Loads an algorithm, and yields its holder's process."""
    request = holder.plan(objects()[algorithm], {}, trace_us=trace_us)
    process = subprocess.Popen(
        [program(), "hold", request], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    if not process.stdout.readline():
        raise SystemExit(f"error: {algorithm} can't be loaded")
    try:
        yield process.pid
    finally:
        process.communicate()


def called(name: str) -> str:
    """Returns an algorithm's name in the kernel."""
    return name if name in OWN else objects()[name].name


class Spent(NamedTuple):
    """Time for an ACK, ns.

    Attributes:
        control: That of the algorithm's function.
        ack: That of tcp_ack, which calls it.
    """

    control: float
    ack: float


def sampled(name: str, seconds: float) -> Spent:
    """Measures a flow by samples."""
    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/perf.data"
        words = ["perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", str(_HZ), "-o", data]
        perf = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        start = time.monotonic()
        flow = transfer(called(name), seconds, most=_MOST)
        took = time.monotonic() - start
        perf.send_signal(signal.SIGINT)
        perf.wait()
        asked = ["perf", "script", "-i", data, "-F", "ip,sym"]
        text = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    control = ack = 0
    for stack in text.split("\n\n"):
        names = [line.split()[1].partition("+")[0] for line in stack.splitlines() if len(line.split()) > 1]
        if _CALLER not in names:
            continue
        ack += 1
        control += any(map(_is_of(name), names[: names.index(_CALLER)]))
    # The flow's first half second has ACKs, too, in proportion.
    acks = flow.acks * (seconds + _WARM_S) / seconds
    return Spent(*(samples / _HZ / acks * 1e9 for samples in (control, ack)))


def _is_of(name: str) -> Callable[[str], bool]:
    if name in OWN:
        return OWN[name].__eq__
    return lambda symbol: symbol.startswith(("bpf_trampoline_", "bpf_prog_"))


def alone(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs this program in a network namespace whose loopback carries packets of 1500 bytes."""
    script = f"ip link set lo mtu 1500 gso_max_segs 1 up && exec {shlex.join(words)}"
    return subprocess.run(
        ["unshare", "--net", "sh", "-c", script], stdout=subprocess.PIPE, text=True, check=True
    )


def spent(names: Sequence[str], asked: argparse.Namespace) -> dict[str, list[Spent]]:
    """Returns the times of each algorithm, in each round."""
    words = [sys.executable, __file__, "--inside", *names]
    words += ["--seconds", str(asked.seconds), "--rounds", str(asked.rounds), "--seed", str(asked.seed)]
    rows = json.loads(alone(words).stdout)
    return {name: [Spent(*each) for each in rows[name]] for name in names}


def drawn(names: Sequence[str], asked: argparse.Namespace) -> Iterator[str]:
    """Yields the algorithms of all rounds, in a random order in each."""
    draw = random.Random(asked.seed)
    for _ in range(asked.rounds):
        yield from draw.sample(names, len(names))


def trace(algorithm: str, asked: argparse.Namespace) -> None:
    """Prints the throughput with rows and a reader over that without."""
    draw = random.Random(asked.seed)
    ratios, rows = [], 0
    for _ in range(asked.rounds):
        got = {}
        for on in draw.sample([False, True], 2):
            with held(algorithm, trace_us=10_000 if on else 0):
                reader = None
                if on:
                    reader = subprocess.Popen(
                        [sys.executable, "-m", "fullpipe", "kernel", "trace", algorithm],
                        stdout=subprocess.PIPE,
                    )
                    time.sleep(1.0)
                got[on] = transfer(called(algorithm), asked.seconds, asked.parallel).gbit
                if reader:
                    reader.send_signal(signal.SIGINT)
                    rows += reader.communicate()[0].count(b"\n")
        ratios.append(got[True] / got[False])
    mean = interval.mean(ratios)
    print(
        f"trace of {algorithm}, {asked.parallel} flows, {asked.rounds} pairs, "
        f"{rows / asked.rounds / (asked.seconds + _WARM_S):.0f} rows/s: throughput "
        f"{100 * (mean.value - 1):+.2f} % [{100 * (mean.low - 1):+.2f}, {100 * (mean.high - 1):+.2f}]"
    )


def main() -> int:
    """Measures, and prints the tables."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--seconds", type=float, default=2.0, help="of a flow (default: 2)")
    asked.add_argument("--rounds", type=int, default=10, help="(default: 10)")
    asked.add_argument("--parallel", type=int, default=1, help="flows at once (default: 1)")
    asked.add_argument("--seed", type=int, default=0, help="of the order (default: 0)")
    asked.add_argument("--algorithm", action="append", help="BPF algorithm; repeatable (default: all)")
    asked.add_argument("--only", choices=["times", "throughput"], help="(default: both)")
    asked.add_argument("--trace", metavar="ALGORITHM", help="measure the trace of this one instead")
    asked.add_argument("--inside", nargs="+", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if lacks := machine.unmet():
        print(f"error: {lacks}", file=sys.stderr)
        return 2
    if given.trace:
        trace(given.trace, given)
        return 0
    if given.inside:
        rows: dict[str, list[Spent]] = {name: [] for name in given.inside}
        for name in drawn(given.inside, given):
            rows[name].append(sampled(name, given.seconds))
        print(json.dumps(rows))
        return 0
    chosen = given.algorithm or [each for each in objects() if each != "prague"]  # needs AccECN
    names = [*OWN, *chosen]
    rates: dict[str, list[float]] = {name: [] for name in names}
    with ExitStack() as loaded:
        for name in chosen:
            loaded.enter_context(held(name))
        if given.only != "throughput":
            show_times(spent(names, given))
        if given.only != "times":
            for name in drawn(names, given):
                rates[name].append(transfer(called(name), given.seconds, given.parallel).gbit)
            show_rates(rates)
    return 0


def show_times(found: dict[str, list[Spent]]) -> None:
    """Prints the table of times."""
    print("| | its function, ns | tcp_ack, ns |\n|---|--:|--:|")
    for name, rows in found.items():
        both = (interval.mean([each[which] for each in rows]) for which in (0, 1))
        cells = " | ".join(f"{one.value:.0f} [{one.low:.0f}, {one.high:.0f}]" for one in both)
        print(f"| {called(name)} | {cells} |", flush=True)


def show_rates(rates: dict[str, list[float]]) -> None:
    """Prints the table of throughputs."""
    print("\n| | Gbit/s | of bbr's |\n|---|--:|--:|")
    for name, mine in rates.items():
        ratio = interval.mean([a / b for a, b in zip(mine, rates[BASE], strict=True)])
        print(
            f"| {called(name)} | {fmean(mine):.1f} | {100 * ratio.value:.1f} % "
            f"[{100 * ratio.low:.1f}, {100 * ratio.high:.1f}] |"
        )


if __name__ == "__main__":
    sys.exit(main())
