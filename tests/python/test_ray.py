"""A real Ray cluster on this machine gives the same rows, though a worker is killed. `make test-ray` installs Ray."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from polars.testing import assert_frame_equal

import fullpipe as package

if TYPE_CHECKING:
    from collections.abc import Iterator

ray = pytest.importorskip("ray", reason="Ray is not installed; `make test-ray` installs it and runs this")

# Warnings of Ray's own making are none of ours.
pytestmark = pytest.mark.filterwarnings("default")

SCENARIO = """\
# 24 runs of it are some ten seconds of work
duration = "20s"
[path]
rate = "1gbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
[[flow]]
cc = "cubic"
"""
AXES = {"flow.1.cc": ["cubic", "bbr1", "bbr3"]}


@pytest.fixture
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def busy_workers() -> list[int]:
    """The processes that run a task of ours; Ray puts the task's name into their title."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            title = (process / "cmdline").read_bytes()
        except OSError:  # ended meanwhile
            continue
        if title.startswith(b"ray::_task"):
            found.append(int(process.name))
    return found


@pytest.mark.usefixtures("cluster")
def test_every_row_is_there_and_the_same_though_a_worker_is_killed(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not list((tmp_path / "ray").glob("runs/[0-9]*.parquet")):
            time.sleep(0.02)
        while time.monotonic() < deadline and not killed:
            for worker in busy_workers()[:1]:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)

    killer = threading.Thread(target=kill)
    killer.start()
    on_ray = package.sweep(SCENARIO, AXES, repeat=8, engine="ray", trace="off", out=tmp_path / "ray")
    killer.join()
    assert killed, "no worker was seen at work"
    here = package.sweep(SCENARIO, AXES, repeat=8, trace="off", out=tmp_path / "local")
    assert len(here.frame()) == 3 * 8 * 2
    assert_frame_equal(on_ray.frame(), here.frame())
    assert on_ray.about["identity"] == here.about["identity"]
