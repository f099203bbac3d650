"""Loads and unloads BPF algorithms while flows start and end at random, and looks for leaks.

    sudo .venv/bin/python tools/kernel_soak.py --seconds 1800

A step loads an algorithm, lets flows on the loopback use it, and unloads it while some of them are open: by the end of
its holder, by SIGTERM or by SIGKILL. At the end, when all flows are closed, the kernel must have freed each BPF map,
program and link of these loads, and must have logged no warning. The exit code is 1 otherwise.

The kernel's memory changes with every program of the machine. Hence the tool runs in a control group of its own
(version 1 of the memory controller): the kernel charges allocations for these processes to it, BPF objects included.
The rest after reclaim is the tool's. `--control` does the same with flows of `cubic` and without
loads.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import platform
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fullpipe.wings.bpf import holder, machine
from fullpipe.wings.bpf.program import Object, objects, program

if TYPE_CHECKING:
    from collections.abc import Iterator

_BPF = {"x86_64": 321}.get(platform.machine(), 280)
_NEXT = {"map": 12, "prog": 11, "link": 31}
"""The commands BPF_…_GET_NEXT_ID of bpf(2), by the word of /proc/PID/fdinfo."""
_WARNING = 4
"""The lowest level of kernel messages that count."""
_OF_OTHERS = re.compile("ip_local_port_range|Mount too revealing")
"""Messages about programs that set up namespaces meanwhile."""
_MEMORY = ("SUnreclaim", "VmallocUsed", "Percpu", "KernelStack")
_MEMORY_GROUPS = Path("/sys/fs/cgroup/memory")
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_SETTLE_S = 30.0
"""Time that the kernel has to free the last program: it does so after grace periods of RCU."""
_FLOWS = 8


def memory() -> dict[str, int]:
    """Returns the kernel's memory by kind, in KiB."""
    text = Path("/proc/meminfo").read_text(encoding="ascii")
    return {name: int(kib) for name, kib in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.M)}


def present() -> dict[str, set[int]]:
    """Returns the numbers of the kernel's BPF maps, programs and links."""
    return {word: set(_numbers(command)) for word, command in _NEXT.items()}


def _numbers(command: int) -> Iterator[int]:
    libc = ctypes.CDLL(None, use_errno=True)
    last = 0
    while True:
        attributes = ctypes.create_string_buffer(struct.pack("=III", last, 0, 0), 16)
        if libc.syscall(_BPF, command, attributes, 16) != 0:
            if ctypes.get_errno() == errno.ENOENT:
                return
            raise OSError(ctypes.get_errno(), "bpf(2)")
        last = struct.unpack_from("=II", attributes)[1]
        yield last


def of_process(process: int) -> dict[str, set[int]]:
    """Returns the numbers of the maps, programs and links that a process has open; the kernel gives none twice."""
    texts = []
    for file in Path(f"/proc/{process}/fdinfo").iterdir():
        with suppress(FileNotFoundError):
            texts.append(file.read_text(encoding="ascii"))
    text = "\n".join(texts)
    return {
        word: {int(number) for number in re.findall(rf"^{word}_id:\s*(\d+)$", text, re.M)}
        for word in _NEXT
    }


class Log:
    """The kernel's messages from now on."""

    def __init__(self) -> None:
        self._file = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self._file, 0, os.SEEK_END)

    def lines(self) -> list[str]:
        """Returns the warnings and errors since the last call."""
        found: list[str] = []
        while True:
            try:
                line = os.read(self._file, 8192).decode(errors="replace").strip()
            except BlockingIOError:
                return found
            except BrokenPipeError:
                continue
            if int(line.partition(",")[0]) % 8 <= _WARNING and not _OF_OTHERS.search(line):
                found.append(line)


class Account:
    """The kernel memory that is charged to this process and its children: a memory control group of their own."""

    def __init__(self) -> None:
        found = re.search(r"^\d+:memory:(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
        self._folder: Path | None = None
        if not found:
            return
        self._parent = _MEMORY_GROUPS / found[1].lstrip("/")
        folder = self._parent / f"fullpipe-soak-{os.getpid()}"
        try:
            folder.mkdir()
            (folder / "cgroup.procs").write_text(str(os.getpid()))
        except OSError:
            return
        self._folder = folder

    def charged(self) -> int | None:
        """Returns the memory after reclaim, in KiB; None without a control group."""
        if self._folder is None:
            return None
        with suppress(OSError):
            (self._folder / "memory.force_empty").write_text("0")
        return int((self._folder / "memory.kmem.usage_in_bytes").read_text()) // 1024

    def close(self) -> None:
        """Removes the group."""
        if self._folder is not None:
            (self._parent / "cgroup.procs").write_text(str(os.getpid()))
            with suppress(OSError):
                self._folder.rmdir()


class Flows:
    """Transfers on the loopback, each with an algorithm, which last as long as they are asked to."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._server.getsockname()[1]
        self.begun = self.refused = 0
        self._threads: list[threading.Thread] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=_swallow, args=[peer], daemon=True).start()

    def begin(self, name: str, seconds: float, *, abort: bool) -> None:
        """Begins a flow for a time; it ends with a reset if it is aborted."""
        self._threads = [each for each in self._threads if each.is_alive()]
        thread = threading.Thread(target=self._send, args=[name, seconds, abort], daemon=True)
        self._threads.append(thread)
        thread.start()

    def _send(self, name: str, seconds: float, abort: bool) -> None:
        end = time.monotonic() + seconds
        try:
            with socket.create_connection(("127.0.0.1", self.port)) as flow:
                flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
                self.begun += 1
                while time.monotonic() < end:
                    flow.send(bytes(16_384))
                    time.sleep(0.002)
                if abort:
                    flow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except FileNotFoundError:
            self.refused += 1  # unloaded before the flow could choose it

    def wait(self) -> None:
        """Waits for the end of all flows."""
        for each in self._threads:
            each.join()


def _swallow(peer: socket.socket) -> None:
    with peer:
        try:
            while peer.recv(1 << 16):
                pass
        except ConnectionResetError:
            pass


def begin(draw: random.Random, name: str, flows: Flows) -> None:
    """Lets flows use an algorithm."""
    for _ in range(draw.randrange(_FLOWS)):
        flows.begin(name, draw.expovariate(1 / 0.3), abort=draw.random() < 0.3)
        time.sleep(draw.random() * 0.05)
    time.sleep(draw.random() * 0.3)


def step(draw: random.Random, what: Object, flows: Flows, made: dict[str, set[int]]) -> bool:
    """Loads an algorithm, lets flows use it, and unloads it in one of three ways; False if another program has it."""
    if what.name in _AVAILABLE.read_text(encoding="ascii").split():
        time.sleep(0.5)
        return False
    process = subprocess.Popen(
        [program(), "hold", holder.plan(what, {}, trace_us=draw.choice([0, 1000, 10_000]))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    if not process.stdout.readline():
        process.communicate()
        return False
    for word, numbers in of_process(process.pid).items():
        made[word] |= numbers
    begin(draw, what.name, flows)
    how = draw.choice(["stdin", signal.SIGTERM, signal.SIGKILL])
    if isinstance(how, signal.Signals):
        process.send_signal(how)
    process.communicate()
    while what.name in _AVAILABLE.read_text(encoding="ascii").split():
        time.sleep(0.005)
    return True


def main() -> int:
    """Runs the steps, and prints the differences."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--seconds", type=float, default=1800.0, help="duration (default: 1800)")
    asked.add_argument("--seed", type=int, default=0, help="seed of the steps (default: 0)")
    asked.add_argument("--algorithm", action="append", help="algorithm; repeatable (default: all)")
    asked.add_argument("--control", action="store_true", help="flows of cubic, and no loads")
    given = asked.parse_args()
    if lacks := machine.unmet():
        print(f"error: {lacks}", file=sys.stderr)
        return 2
    account = Account()
    draw, flows, log = random.Random(given.seed), Flows(), Log()
    known = [each for name, each in objects().items() if name in (given.algorithm or objects())]
    made: dict[str, set[int]] = {word: set() for word in _NEXT}
    step(draw, known[0], flows, made)  # caches that the kernel fills once
    flows.wait()
    time.sleep(1.0)
    before, charged = memory(), account.charged()
    steps, end = 0, time.monotonic() + given.seconds
    while time.monotonic() < end:
        if given.control:
            begin(draw, "cubic", flows)
            steps += 1
        else:
            steps += step(draw, draw.choice(known), flows, made)
    flows.wait()
    late = time.monotonic() + _SETTLE_S
    while any(left := _left(made)) and time.monotonic() < late:
        time.sleep(0.5)
    messages = log.lines()
    kind = "steps without a load" if given.control else "loads"
    print(f"{steps} {kind}, {flows.begun} flows, {flows.refused} too late to choose the algorithm")
    for (word, numbers), rest in zip(made.items(), left, strict=True):
        print(f"BPF {word}: {len(numbers)} made, {len(rest)} left")
    after = memory()
    for name in _MEMORY:
        if name in before:
            print(f"{name}: {before[name]} KiB before, {after[name] - before[name]:+} KiB")
    if charged is not None:
        later = account.charged()
        assert later is not None
        print(f"charged to these processes: {charged} KiB before, {later - charged:+} KiB")
    account.close()
    print(f"kernel warnings: {len(messages)}")
    for line in messages[:20]:
        print(f"  {line}")
    return int(any(left) or bool(messages) or not steps)


def _left(made: dict[str, set[int]]) -> list[set[int]]:
    now = present()
    return [numbers & now[word] for word, numbers in made.items()]


if __name__ == "__main__":
    sys.exit(main())
