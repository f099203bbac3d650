"""Captures of TCP, judged and identified: data in flight with SACK, and flows of our own through the commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import fullpipe
from fullpipe.commands import app
from fullpipe.errors import UNEVALUATED
from fullpipe.wings.traces.foreign.scoreboard import Ranges, Scoreboard

if TYPE_CHECKING:
    from pathlib import Path

SEGMENT = 1000


def _sent(count: int) -> Scoreboard:
    board = Scoreboard(0)
    for number in range(count):
        assert board.send((number + 1) * SEGMENT, SEGMENT, number / 100)
    return board


def test_data_that_sack_reports_are_delivered_and_holes_below_them_are_lost() -> None:
    board = _sent(10)
    board.acknowledge(2000, [])
    assert (board.delivered, board.inflight) == (2000, 8000)
    # Two segments above a hole may be reordered (RFC 6675, section 4); three are not.
    assert board.acknowledge(2000, [(3000, 5000)]) == (True, 0.04)
    assert (board.delivered, board.inflight) == (4000, 6000)
    board.acknowledge(2000, [(3000, 6000)])
    assert (board.delivered, board.inflight) == (5000, 4000)
    # Sent again, the lost segment is in flight; its ACK has no RTT (Karn), and those above it had theirs.
    assert not board.send(3000, SEGMENT, 0.2)
    assert board.inflight == 5000
    assert board.acknowledge(6000, []) == (True, None)
    assert (board.delivered, board.inflight) == (6000, 4000)
    assert board.acknowledge(7000, []) == (True, 0.06)
    assert board.acknowledge(7000, [(1000, 2000)]) == (False, None), "a duplicate (RFC 2883)"


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)), max_size=30), st.integers(0, 70))
def test_parts_of_a_line_are_those_of_a_set(parts: list[tuple[int, int]], cut: int) -> None:
    ranges, known = Ranges(), set[int]()
    for begin, size in parts:
        new = set(range(begin, begin + size)) - known
        pieces = ranges.add(begin, begin + size)
        assert {each for piece in pieces for each in range(*piece)} == new
        known |= new
    assert ranges.within(10, 40) == len(known & set(range(10, 40)))
    ranges.cut(cut)
    known -= set(range(cut))
    assert ranges.total == len(known)
    assert ranges.ends == sorted(ranges.ends) and ranges.begins == sorted(ranges.begins)


def _captured(algorithm: str, path: dict[str, str], folder: Path, seed: int = 1) -> Path:
    scenario: dict[str, Any] = {"duration": "25s", "path": path, "flow": [{"cc": algorithm}]}
    fullpipe.run(scenario, trace="ack packets", seed=seed).save(folder / "run")
    done = CliRunner().invoke(
        app, ["trace", "packets", str(folder / "run"), str(folder / "x.pcapng")]
    )
    assert done.exit_code == 0, done.output
    return folder / "x.pcapng"


def _judged(trace: Path, algorithm: str, path: dict[str, str]) -> dict[str, Any]:
    options = [word for key, value in path.items() for word in (f"--{key}", value)]
    words = ["trace", "judge", str(trace), "--as", algorithm, *options, "--seeds", "3", "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code in (0, 1, UNEVALUATED), done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


SHALLOW = {"rate": "20mbit", "rtt": "40ms", "buffer": "1bdp"}


@pytest.mark.parametrize(
    ("algorithm", "path", "rules"),
    [
        ("cubic", SHALLOW, {"beta"}),
        ("newreno", SHALLOW, {"halving", "reno-growth"}),
        ("bbr3", SHALLOW, {"window-cap", "probe-rtt"}),
        # Data in flight have a dip at the end of the recovery from Startup's losses, which is no ProbeRTT.
        (
            "bbr2",
            {"rate": "49.7mbit", "rtt": "89ms", "buffer": "1.89bdp"},
            {"window-cap", "probe-rtt"},
        ),
    ],
)
def test_a_capture_of_our_own_flow_is_judged_as_its_kept_run_is(
    algorithm: str, path: dict[str, str], rules: set[str], tmp_path: Path
) -> None:
    capture = _captured(algorithm, path, tmp_path, seed=2)
    found, kept = _judged(capture, algorithm, path), _judged(tmp_path / "run", algorithm, path)
    verdicts = {each["condition"]: each["verdict"] for each in found["conditions"]}
    rules = {*rules, "loss-rate"}
    assert {name for name, verdict in verdicts.items() if verdict != "not evaluated"} == rules
    assert not found["first_difference"] and not kept["first_difference"]


def test_a_capture_of_another_algorithm_breaks_a_rule(tmp_path: Path) -> None:
    capture = _captured("newreno", SHALLOW, tmp_path)
    found = _judged(capture, "cubic", SHALLOW)
    assert not found["met"] and found["first_difference"]["condition"] == "beta"
