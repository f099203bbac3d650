"""Progress where standard error is no terminal: a line a minute, and nothing for shorter work."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

import served
from fullpipe.base import progress

if TYPE_CHECKING:
    from pathlib import Path

SOON = "0.02"
LONG = ("cubic", "--duration=60s", "--rate=1gbit")


def _told(directory: Path, *words: str, period: str = SOON) -> tuple[int, list[str]]:
    """Runs a command with a line after each period, and returns its exit code and the lines of standard error."""
    environment = {**os.environ, progress.PERIOD: period}
    done = served.command(*words, directory=directory, environment=environment)
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", *LONG), r"simulating, (at [\d.]+ of 60 s|while the run began), 0:\d\d so far"),
        (
            ("sweep", *LONG, "--set=path.loss=0%,1%", "--repeat=6"),
            r"running, after \d+ of 12 runs, 0:\d\d so far",
        ),
        (
            ("compare", "cubic", "bbr3", "--duration=20s", "--repeat=4"),
            r"(\w+, )?after \d+ of \d+ runs, 0:\d\d so far",
        ),
        (("check", "short.toml", "--repeat=9"), r"running, after \d+ of 9 runs, 0:\d\d so far"),
        (
            ("test", "upload", "--rate=300mbit"),
            r"simulating, (at [\d.]+ of 60 s|while the run began), 0:\d\d so far",
        ),
        (
            ("evaluate", "cubic", "--criterion=fairness", "--seeds=3"),
            r"1/1 fairness, after \d+ of 81 runs, 0:\d\d so far",
        ),
        (
            ("score", "cubic", "--budget=2s", "--json"),
            r".*, after \d+ of \d+ runs, 0:\d\d so far",
        ),
        (
            ("attack", "search", "cubic", "--budget=1s", "--json"),
            r".+, after \d+ of \d+ s of CPU time, 0:\d\d so far",
        ),
        (
            ("validate", "--cell=cubic-*", "--seeds=2"),
            r"simulating, after \d+( of \d+)?, 0:\d\d so far",
        ),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)
def test_a_long_command_says_how_far_it_is(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    scenario = """duration = "60s"
expect = ["jain >= 0"]
[path]
rate = "100mbit"
rtt = "50ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
"""
    (tmp_path / "short.toml").write_text(scenario)
    code, lines = _told(tmp_path, *words)
    assert code in (0, 1), lines
    assert any(re.fullmatch(said, line) for line in lines), lines


def test_short_work_is_silent(tmp_path: Path) -> None:
    assert _told(tmp_path, "run", "cubic", "--duration=1s", period="60") == (0, [])
    short = ("sweep", "cubic", "--duration=1s", "--repeat=2")
    assert not [line for line in _told(tmp_path, *short, period="60")[1] if "so far" in line]


@pytest.mark.parametrize("text", ["x", "0", "-1", "nan", ""])
def test_a_period_that_is_no_time_is_refused(text: str, tmp_path: Path) -> None:
    code, lines = _told(tmp_path, "run", "cubic", "--duration=1s", period=text)
    assert code == 2
    assert lines[0] == f"error: {progress.PERIOD} = {text}: not a number of seconds"
    assert lines[1].startswith("  fix: ")
