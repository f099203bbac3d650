"""`fullpipe run --on kernel` on a terminal: a line per second and flow while it runs."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from links import needed
from terminals import on_a_terminal

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it needs Linux")

SCENARIO = """duration = "3s"
[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
[[flow]]
cc = "cubic"
name = "other"
"""
_LINE = re.compile(r" *([\d.]+)-([\d.]+) +s +([\d.]+) Mbit/s +([\d,]+) +([\d,]+) kB  (\w+)")


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    needed()
    (tmp_path / "a.toml").write_text(SCENARIO)
    return [sys.executable, "-m", "fullpipe", "run", str(tmp_path / "a.toml"), "--on", "kernel"]


def test_each_second_has_a_line_per_flow(command: list[str]) -> None:
    printed = on_a_terminal(90, *command)
    lines = [found for line in printed if (found := _LINE.match(line))]
    of = {name: [each for each in lines if each[6] == name] for name in ("cubic", "other")}
    assert all(len(each) >= 2 for each in of.values()), printed
    for each in of.values():
        assert float(each[0][1]) == 0
        assert all(before[2] == after[1] for before, after in itertools.pairwise(each))
    # Both together have what the link carries.
    assert 7 < sum(float(each[1][3]) for each in of.values()) < 11, printed


def test_without_a_terminal_and_with_json_there_are_none(command: list[str]) -> None:
    command += ["--set", "duration=2s"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not any(_LINE.match(line) for line in (done.stdout + done.stderr).splitlines())
    assert not any(_LINE.match(line) for line in on_a_terminal(90, *command, "--json"))
