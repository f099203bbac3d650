"""What the tests share: a short scenario, and a way to call the command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Protocol

import pytest

from fake_runners import write_own_runners

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCENARIO = """\
# Two flows, two seconds
duration = "2s"
seed = 7
start_jitter = "20ms"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
[[flow]]
cc = "bbr1"
"""

LONG = SCENARIO.replace('"2s"', '"5000s"').replace("10mbit", "10gbit")


def _heedful() -> None:
    """Signals as a terminal leaves them: under nohup or in the background the tests themselves would ignore some."""
    for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sent, signal.SIG_DFL)


def interrupt(command: list[str], directory: Path, *signals: signal.Signals) -> tuple[int, str]:
    """Starts a command and, once it has made its directory aside, sends signals; its exit code and standard error."""
    process = subprocess.Popen(
        command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=_heedful
    )
    with process:
        deadline = time.monotonic() + 30
        while not list(directory.rglob(".*.????????")) and time.monotonic() < deadline:
            time.sleep(0.02)
        try:
            for sent in signals:
                time.sleep(0.3)
                assert process.poll() is None
                process.send_signal(sent)
            _, said = process.communicate(timeout=10)
        finally:
            process.kill()
    return process.returncode, said


class Fullpipe(Protocol):
    """Calls the command with arguments, in the test's own directory."""

    def __call__(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Runs it to its end."""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A short scenario as a file."""
    path = tmp_path / "short.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def command() -> list[str]:
    """What starts the command in a process of its own."""
    return [sys.executable, "-m", "fullpipe"]


@pytest.fixture
def fullpipe(command: list[str], tmp_path: Path) -> Fullpipe:
    """The command."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}

    def call(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *args], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    return call


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with runners of somebody's own, in which the test is."""
    write_own_runners(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("own_runners", None)
