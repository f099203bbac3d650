"""The first process inside user-mode Linux: sets up each run's path, starts the agents, and powers off.

It runs on the host's Python through hostfs, with the standard library and fullpipe's compiled core, which has the
agents and the emulator. Its argument is a directory with `batch.json`, and one directory per run. A file `done` there
means that the run's records are complete; a file `failed` has the error.

The files of the host are there, read-only, but for the run's own directory. /tmp, /run and /dev are empty ones of this
kernel: what programs write there has dates of the simulated clock.
"""

import ctypes
import fcntl
import importlib.util
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

_CLONE_NEWNET = 0x40000000
_REBOOT_POWER_OFF = 0x4321FEDC
# MS_RDONLY
_READ_ONLY = 1
_SIOCETHTOOL = 0x8946
# tso, gso, gro are off, so that a router queues packets as they are on the wire.
_OFFLOADS = (0x1F, 0x24, 0x2C)
# Large enough that neither end's buffers limit a flow.
_SYSCTLS = {
    "tcp_rmem": "4096 131072 67108864",
    "tcp_wmem": "4096 65536 67108864",
    "tcp_no_metrics_save": "1",
    "ip_forward": "1",
}
# Pages that all TCP sockets may use. With the default a few full buffers cause memory pressure,
# which shrinks receive windows.
_TCP_MEMORY = "400000 400000 400000"
# Time for an agent to get ready: simulated time, which costs nothing.
_READY_S = 0.1
# No flow starts earlier after the boot. The kernel's clock starts there, and some of its algorithms take a time of 0
# for a recent event: fq_codel's drops in the first 1.6 s have effects that no host's have. Simulated time, too.
_UPTIME_S = 60
_TRACING = Path("/sys/kernel/tracing")
# Room for half a million rows.
_PROBE_KB = "131072"
# Time between two updates of a run's progress, simulated too.
_STEP_S = 0.25

_libc = ctypes.CDLL(None, use_errno=True)


def main(work: Path) -> None:
    """Runs the batch."""
    batch = json.loads((work / "batch.json").read_text())
    for kind, place in (
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("tmpfs", "/run"),
        ("tmpfs", "/tmp"),
    ):
        _mount(kind, place)
    for place in (*batch["shown"], str(work)):
        Path(place).mkdir(parents=True, exist_ok=True)
    for place in batch["shown"]:
        _mount("hostfs", place, place, _READ_ONLY)
    # The only directory of the host that can be written to.
    _mount("hostfs", str(work), str(work))
    os.environ["PATH"] = batch["path"]
    os.chdir(batch["here"])
    Path("/proc/sys/net/ipv4/tcp_mem").write_text(_TCP_MEMORY)
    spec = importlib.util.spec_from_file_location("_core", batch["core"])
    assert spec and spec.loader
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    time.sleep(_UPTIME_S - time.clock_gettime(time.CLOCK_BOOTTIME))
    for run in batch["runs"]:
        directory = work / run["directory"]
        try:
            if "inside" in run:
                _run_inside(core, run["inside"], directory)
            else:
                _run(core, run, directory)
            (directory / "done").write_text("")
        except Exception:
            (directory / "failed").write_text(traceback.format_exc())
        # The last run's nodes end with this kernel.
        if "topology" in run and run is not batch["runs"][-1]:
            for node in run["topology"]["nodes"]:
                subprocess.run(["ip", "netns", "delete", node], check=False)


def _run_inside(core: ModuleType, run: dict[str, Any], directory: Path) -> None:
    """Runs a scenario behind the emulator; the programs work in memory, and their files are copied at the end."""
    settings = [(key, value) for key, value in run["settings"]]
    scenario = core.Scenario.parse(run["source"], run["file"], settings)
    programs, places = [], {}
    for each in run["programs"]:
        place = Path("/tmp/programs") / each["name"]
        place.mkdir(parents=True)
        places[each["name"]] = place
        programs.append((each["index"], each["server"], each["client"], each["cc"], place))
    try:
        core.simulate(
            scenario,
            run["trace"],
            programs,
            directory,
            lambda seconds: (directory / "elapsed").write_text(str(seconds)),
        )
    except (core.MachineError, core.ScenarioError) as error:
        fix = getattr(error, "fix", "")
        (directory / "trouble.json").write_text(
            json.dumps({"problem": getattr(error, "problem", str(error)), "fix": fix})
        )
    finally:
        for name, place in places.items():
            shutil.copytree(place, directory / "programs" / name)
        shutil.rmtree("/tmp/programs", ignore_errors=True)


def _run(core: ModuleType, run: dict[str, Any], directory: Path) -> None:
    nodes: list[str] = run["topology"]["nodes"]
    plan = directory / "plan.json"
    _join(run["topology"])
    for node in nodes:
        _batch("tc", [" ".join(words) for at, words in run["topology"]["tc"] if at == node], node)

    def start(node: str, *words: str, out: str) -> _Agent:
        return _Agent(core, node, [*words, str(directory / out)])

    receiver = start("receiver", "receive", str(plan), out="receive")
    # The tap behind the router's queue sees a packet when the queue has released it.
    taps = [
        start("sender", "tap", "east", out="tap-sender"),
        start("router", "tap", "west", out="tap-in"),
        start("router", "tap", "east", out="tap-out"),
    ]
    if "ack-loss" in nodes:
        taps.append(start("ack-loss", "tap", "east", out="tap-acks"))
    time.sleep(_READY_S)
    if run["probe"]:
        _probe(run["topology"]["first_port"])
    sender = start("sender", "send", str(plan), out="send")
    sender.wait(lambda elapsed: (directory / "elapsed").write_text(str(elapsed)))
    receiver.wait()
    if run["probe"]:
        _save_probe(directory / "probe")
    for tap in taps:
        os.kill(tap.process, signal.SIGTERM)
        tap.wait()
    with (directory / "tc").open("wb") as out:
        for node in nodes:
            subprocess.run(["tc", "-netns", node, "-s", "qdisc"], stdout=out, check=False)


def _probe(port: int) -> None:
    """Lets the kernel record tcp_probe for each segment that the first flow's sender receives."""
    if not (_TRACING / "events").exists():
        _mount("tracefs", str(_TRACING))
    for name, value in (
        ("buffer_size_kb", _PROBE_KB),
        ("trace_clock", "mono"),
        ("trace", ""),
        ("events/tcp/tcp_probe/filter", f"dport == {port}"),
        ("events/tcp/tcp_probe/enable", "1"),
    ):
        (_TRACING / name).write_text(value)


def _save_probe(file: Path) -> None:
    (_TRACING / "events/tcp/tcp_probe/enable").write_text("0")
    with (_TRACING / "trace").open("rb") as trace, file.open("wb") as out:
        shutil.copyfileobj(trace, out)


class _Agent:
    """A process of fullpipe on a node; its messages go into a file next to its records."""

    def __init__(self, core: ModuleType, node: str, words: list[str]) -> None:
        self.said = Path(f"{words[-1]}.said")
        self.process = os.fork()
        if self.process == 0:
            code = 1
            try:
                out = os.open(self.said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
                os.dup2(out, 1)
                os.dup2(out, 2)
                _enter(node)
                code = core.agent(words)
            finally:
                os._exit(code)

    def wait(self, meanwhile: Callable[[float], object] = lambda _: None) -> None:
        """Waits for its end; from time to time calls `meanwhile` with the seconds waited, of this kernel's time.

        Raises:
            RuntimeError: When its exit code is not 0.
        """
        ended, began = os.pidfd_open(self.process), time.monotonic()
        while not select.select([ended], [], [], _STEP_S)[0]:
            meanwhile(time.monotonic() - began)
        os.close(ended)
        code = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        if code:
            raise RuntimeError(
                f"{self.said.stem} ended with {code}: {self.said.read_text(errors='replace').strip()}"
            )


def _join(topology: dict[str, Any]) -> None:
    """Makes namespaces in a row, each joined to the next: `east` leads to the receiver, `west` to the sender."""
    nodes: list[str] = topology["nodes"]
    receiver, mtu = topology["receiver"], topology["mtu"]
    first, own = [], {node: ["link set lo up"] for node in nodes}
    for number, (west, east) in enumerate(pairwise(nodes)):
        first.append(
            f"link add e{number} mtu {mtu} address {_mac(number, 1)} "
            f"type veth peer w{number} mtu {mtu} address {_mac(number, 2)}"
        )
        for node, device, host in ((west, "east", 1), (east, "west", 2)):
            own[node] += [
                f"address add 10.0.{number}.{host}/24 dev {device}",
                f"link set {device} up",
            ]
            # Without ARP the first packet leaves at once.
            other = 3 - host
            own[node].append(
                f"neighbor add 10.0.{number}.{other} lladdr {_mac(number, other)} dev {device}"
            )
    own[nodes[-1]].append(f"address add {receiver}/32 dev lo")
    for number, node in enumerate(nodes[:-1]):
        window = f" initcwnd {topology['initial_window']}" if node == "sender" else ""
        own[node].append(f"route add {receiver} via 10.0.{number}.2{window}")
    for number, node in enumerate(nodes[2:], 1):
        own[node].append(f"route add 10.0.0.0/24 via 10.0.{number}.1")
    _batch("ip", [*(f"netns add {node}" for node in nodes), *first])
    # Both ends are made here, where their offloads can be switched off, and then moved.
    given = []
    for number, (west, east) in enumerate(pairwise(nodes)):
        _no_offloads(f"e{number}")
        _no_offloads(f"w{number}")
        given += [
            f"link set e{number} netns {west} name east",
            f"link set w{number} netns {east} name west",
        ]
    _batch("ip", given)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    for node in nodes:
        _batch("ip", own[node], node)
        _enter(node)
        for name, value in _SYSCTLS.items():
            (Path("/proc/sys/net/ipv4") / name).write_text(value)
    _setns(home)
    os.close(home)


def _mac(link: int, end: int) -> str:
    return f"02:00:00:00:{link:02x}:{end:02x}"


def _no_offloads(device: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in _OFFLOADS:
            off = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP", device.encode(), ctypes.addressof(off))
            fcntl.ioctl(any_socket, _SIOCETHTOOL, request)


def _enter(node: str) -> None:
    descriptor = os.open(f"/run/netns/{node}", os.O_RDONLY)
    _setns(descriptor)
    os.close(descriptor)


def _setns(descriptor: int) -> None:
    if _libc.setns(descriptor, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def _batch(program: str, lines: list[str], node: str = "") -> None:
    """Calls ip or tc once with many lines; none of them has text from a user."""
    where = ["-netns", node] if node else []
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        [program, *where, "-batch", "-"], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{program} at {node or 'home'}: {done.stderr.strip()}\n{text}")


def _mount(kind: str, place: str, options: str = "", flags: int = 0) -> None:
    if _libc.mount(kind.encode(), place.encode(), kind.encode(), flags, options.encode()):
        raise OSError(ctypes.get_errno(), f"mount {kind} {place}")


if __name__ == "__main__":
    try:
        os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
        main(Path(sys.argv[1]))
    except BaseException:
        traceback.print_exc()
    _libc.reboot(_REBOOT_POWER_OFF)
