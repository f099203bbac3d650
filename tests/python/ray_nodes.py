"""Ray nodes for tests: each is a `ray start` of its own, with its address, core and temporary folder."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_START_S = 120
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}
"""Environment of nodes and drivers, so that the token of a user is neither read nor made."""
RAY = Path(sys.executable).with_name("ray")


class Node:
    """A node, in processes of its own.

    Attributes:
        address: The address of the cluster.
    """

    def __init__(
        self, folder: Path, number: int, address: str = "", env: Mapping[str, str] | None = None
    ) -> None:
        """Starts the head node of a cluster, or another node of the cluster at `address`.

        Args:
            folder: A folder for logs; the temporary folder of Ray has a short name of its own.
            number: The number of the node on this machine, which makes its IP address.
            address: The cluster's address; empty for the head node.
            env: Environment variables besides those of this process.
        """
        self.address = address or f"127.0.0.{number}:{_free_port()}"
        where = (
            ["--address", address]
            if address
            else ["--head", "--port", self.address.rpartition(":")[2], "--include-dashboard=false"]
        )
        self._log = folder / f"node-{number}.log"
        self._ray = Path(f"/tmp/ray-{os.getpid()}-{number}")  # its sockets need a short name
        command = [str(RAY), "start", "--block", *where, "--num-cpus=1"]
        command += [f"--node-ip-address=127.0.0.{number}", f"--temp-dir={self._ray}"]
        command += ["--object-store-memory=100000000", "--disable-usage-stats"]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **TOKEN, **(env or {})}, cwd="/"
            )

    def ready(self) -> Node:
        """Waits until the node has started."""

        def started() -> bool:
            assert self._process.poll() is None, self._log.read_text()
            return "Ray runtime started" in self._log.read_text()

        wait(started, _START_S)
        return self

    def workers(self) -> list[int]:
        """Returns the processes of the node that run a task."""
        return [pid for pid in _tree(self._process.pid) if _title(pid).startswith("ray::fullpipe")]

    def kill_worker(self) -> bool:
        """Kills a process that runs a task. Returns False if no task runs at the moment."""
        for pid in self.workers():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return True
        return False

    def kill(self) -> None:
        """Ends all processes of the node, as a loss of power does."""
        for pid in _tree(self._process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._ray, ignore_errors=True)


def wait(until: Callable[[], object], seconds: float = 300) -> None:
    """Waits until a condition holds: nodes and commands that start at once on two cores take a minute and more."""
    deadline = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:  # it has ended
        return ""


def _tree(root: int) -> list[int]:
    """Returns a process and its descendants."""
    children: dict[int, list[int]] = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(each.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(each.parent.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found
