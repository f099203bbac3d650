"""`fullpipe compare`: algorithms alone and together, without a scenario file."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from polars.testing import assert_frame_equal

import fullpipe as package
from fullpipe.results.load import load
from fullpipe.results.model import Point, Series
from fullpipe.study.comparison.picture import _rates, picture

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

QUICK = ("--rate", "10mbit", "--rtt", "20ms", "--buffer", "4bdp", "--duration", "12s")


def test_each_alone_then_together_in_a_table_words_and_a_picture(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    done = fullpipe("compare", "cubic", "bbr1", *QUICK, "--repeat", "6", "--out", "kept")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "cubic, bbr1: each alone, then together"
    assert lines[1].startswith("10mbit, RTT 20ms, pfifo with 4bdp; 12s")
    words = [line.split() for line in lines]
    assert [
        line[0] for line in words if line[:2] in (["alone", "cubic"], ["together", "cubic"])
    ] == [
        "alone",
        "together",
    ]
    assert sum(line.split()[:1] == ["bbr1"] and "[" in line for line in lines) == 2
    assert "means of 6 seeds [95 % interval]" in lines
    # CUBIC fills the four BDP, BBR does not.
    assert any(
        line.startswith("– alone: bbr1 has") and "lower p95 queueing delay than cubic" in line
        for line in lines
    )
    assert all(len(line) <= 80 for line in lines if not line.startswith("kept in"))
    assert (tmp_path / "kept" / "picture.png").stat().st_size > 10_000
    # All intervals are within the axes, and the legend hides no point.
    figure = picture(load(tmp_path / "kept"))
    figure.draw_without_rendering()
    assert len(figure.legends) == 1
    assert figure.axes[-1].get_title().endswith("measured from 6 s (dashed)")
    legend = figure.legends[0].get_window_extent()
    for axis in figure.axes:
        assert not axis.get_window_extent().overlaps(legend)
        for bars in (
            each.lines[2] for each in axis.containers if isinstance(each, ErrorbarContainer)
        ):
            for path in (path for bar in bars for path in bar.get_paths()):
                (left, right), (low, high) = sorted(axis.get_xlim()), axis.get_ylim()
                for x, y in np.asarray(path.vertices):
                    assert left <= x <= right
                    assert low <= y <= high
    # A panel has the competition, and its title names each line.
    for key, said in (("cwnd", "Congestion window and data in flight"), ("share", "stacked")):
        done_ = fullpipe("report", "kept", "--panel", key, "--out", f"{key}.svg")
        assert done_.returncode == 0, done_.stderr
        drawn_ = (tmp_path / f"{key}.svg").read_text(encoding="utf-8")
        assert said in drawn_
        assert "2 of 3 not shown: cubic alone, seed 1, bbr1 alone, seed 1." in " ".join(
            re.findall(r"<text[^>]*>([^<]*)", drawn_)
        )
    # The page corrects for the same comparisons, so that it says the same.
    assert fullpipe("report", "kept", "--format", "md", "--out", "page").returncode == 0
    page = (tmp_path / "page/report.md").read_text(encoding="utf-8")
    told = done.stdout[done.stdout.index("\n– ") : done.stdout.index("comparisons, paired")]
    *sentences, counted = " ".join(told.split()).split("– ")[1:]
    *last, count = counted.split()
    assert f"{count} comparisons of means over" in page
    for sentence in [*sentences, " ".join(last)]:
        assert f"- {sentence.strip()}" in page
    # The same command runs nothing again; more repetitions are added to the finished ones.
    again = fullpipe("compare", "cubic", "bbr1", *QUICK, "--repeat", "6", "--out", "kept")
    assert "nothing to run" in again.stdout
    more = fullpipe("compare", "cubic", "bbr1", *QUICK, "--repeat", "7", "--out", "kept")
    assert "\n3 runs," in more.stdout
    other = fullpipe("compare", "cubic", "bbr3", *QUICK, "--repeat", "6", "--out", "kept")
    assert other.returncode == 2
    assert "of a different scenario or different points" in other.stderr


def test_its_report_opens_and_its_numbers_are_those_of_the_runs(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    done = fullpipe(
        "compare", "cubic", "newreno", *QUICK, "--repeat", "2", "--out", "kept", "--json"
    )
    told = json.loads(done.stdout)
    assert [(row["where"], row["algorithm"]) for row in told["rows"]] == [
        ("alone", "cubic"),
        ("alone", "newreno"),
        ("together", "cubic"),
        ("together", "newreno"),
    ]
    rows = pl.read_parquet(tmp_path / "kept" / "together" / "runs" / "*.parquet")
    cubic = rows.filter(flow="cubic")["goodput_bps"].mean()
    assert told["rows"][2]["goodput_bps"]["mean"] == pytest.approx(cubic)
    assert fullpipe("report", "kept").returncode == 0
    page = (tmp_path / "kept" / "report.html").read_text()
    assert "together" in page
    assert "fullpipe run kept/alone --point 1 --seed 1" in page
    replayed = json.loads(
        fullpipe("run", "kept/alone", "--point", "1", "--seed", "1", "--json").stdout
    )
    alone = pl.read_parquet(tmp_path / "kept" / "alone" / "runs" / "*.parquet").filter(
        point=1, seed=1
    )
    assert alone["goodput_bps"].to_list() == [replayed["flows"][0]["goodput_bps"]]


def test_one_run_has_no_intervals_and_says_so(fullpipe: Fullpipe) -> None:
    done = fullpipe("compare", "cubic", "bbr1", *QUICK, "--repeat", "1", "--out", "kept")
    assert "of one run: no intervals" in done.stdout
    assert (
        "one run of each can't show significant differences: use --repeat 10 or more" in done.stdout
    )
    assert "[" not in done.stdout


def test_a_profile_and_any_key_make_the_path(fullpipe: Fullpipe) -> None:
    done = fullpipe(
        "compare", "cubic", "bbr3", "--profile", "dsl", "--queue", "fq_codel", "--set", "path.rtt=10ms",
        "--duration", "11s", "--repeat", "2", "--out", "kept",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "RTT 10ms, fq_codel" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cubic",), "a comparison needs two or more algorithms"),
        (("cubic", "cubic"), "cubic is named twice"),
        (("cubic", "bbr9"), "bbr9: not an algorithm\n  fix: did you mean bbr1 or bbr2 or bbr3?"),
        (("cubic", "bbr1", "--rate", "100"), "a rate needs a unit"),
        (("cubic", "bbr1", "--set", "path.bufer=1bdp"), "did you mean path.buffer?"),
    ],
)
def test_what_is_wrong_is_refused_before_any_run(
    fullpipe: Fullpipe, arguments: tuple[str, ...], said: str
) -> None:
    done = fullpipe("compare", *arguments, "--out", "kept")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_without_out_the_directory_has_the_name_of_what_is_compared(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    for loss in ("1%", "10%"):
        done = fullpipe("compare", "cubic", "bbr1", *QUICK, "--loss", loss, "--repeat", "1")
        assert done.returncode == 0, done.stderr
    assert sorted(each.name for each in (tmp_path / "results").iterdir()) == [
        "compare-cubic-bbr1-10mbit-20ms-4bdp-10pct-12s",
        "compare-cubic-bbr1-10mbit-20ms-4bdp-1pct-12s",
    ]


def test_transfers_have_a_length_and_an_end(fullpipe: Fullpipe, tmp_path: Path) -> None:
    path = ("--rate", "20mbit", "--rtt", "20ms", "--bytes", "2MB", "--repeat", "2")
    done = fullpipe("compare", "cubic", "bbr1", *path, "--out", "kept")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout.splitlines()[1]
        == "20mbit, RTT 20ms, pfifo with 1bdp; 2MB each, for 600s at most; stack linux"
    )
    assert "done" in done.stdout
    rows = pl.read_parquet(tmp_path / "kept" / "alone" / "runs" / "*.parquet")
    assert rows["completion_s"].is_between(0.8, 3.0).all(), "2 MB take 0.8 s at 20 Mbit/s"
    wrong = fullpipe("compare", "cubic", "bbr1", "--bytes", "many")
    assert wrong.returncode == 2
    assert 'flow.0.bytes = "many"' in wrong.stderr


def test_a_transfer_of_one_sample_has_no_line_and_the_picture_is_drawn(tmp_path: Path) -> None:
    flows = tmp_path / "flows.parquet"
    rows = {"time": [1.0, 0.6, 1.0], "flow": ["a", "b", "b"], "delivered": [10, 10, 20]}
    pl.DataFrame(rows).write_parquet(flows)
    panel = Figure().subplots()
    _rates(panel, Series(Point(0, "", {}, (1,), ""), 1, {"flows": flows}), {}, 1e6)
    assert len(panel.lines) == 1


# The command with shards of a few runs and a slow disk, so that there is time to kill it.
SLOWLY = """\
import time
import fullpipe.study.sweeps.execute
from fullpipe.commands import main
from fullpipe.study.sweeps.store import SweepStore
fullpipe.study.sweeps.execute.SHARD_S = 0.01
add = SweepStore.add
SweepStore.add = lambda *given, **named: (add(*given, **named), time.sleep(0.3))
main()
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_what_is_interrupted_resumes_and_has_the_rows_of_one_that_was_not(
    fullpipe: Fullpipe, tmp_path: Path, how: signal.Signals
) -> None:
    call = ["compare", "cubic", "newreno", *QUICK, "--repeat", "6", "--out"]
    command = [sys.executable, "-c", SLOWLY, *call, "kept"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("kept/*/runs/[0-9]*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(how)
        _, said = process.communicate(timeout=20)
    assert process.returncode == (130 if how == signal.SIGINT else -how)
    assert how == signal.SIGKILL or "the same command resumes there" in said
    finished = {file: file.stat().st_mtime_ns for file in tmp_path.glob("kept/*/runs/[0-9]*")}
    assert 0 < sum(pl.read_parquet(file)["flow"].len() for file in finished) < 24
    shown = fullpipe("report", "kept")
    assert shown.returncode == 2
    assert shown.stderr.startswith("error: kept: an interrupted comparison, without runs ")
    assert "\n  fix: continue it: fullpipe compare cubic newreno " in shown.stderr
    again = fullpipe(*call, "kept")
    assert again.returncode == 0, again.stderr
    assert finished == {file: file.stat().st_mtime_ns for file in finished}, (
        "it makes the rest only"
    )
    fullpipe(*call, "whole")
    for part in ("alone", "together"):
        kept, whole = (package.Sweep(tmp_path / name / part).frame() for name in ("kept", "whole"))
        assert_frame_equal(kept, whole)


def test_a_key_of_flow_0_is_that_of_each_algorithm_alone_and_together(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    path = ["--rate", "5mbit", "--rtt", "20ms", "--duration", "2s", "--repeat", "2"]
    profile = "flow.0.params.profile=linux"
    done = fullpipe("compare", "cubic", "bbr3", *path, "--set", profile, "--out", "kept")
    assert done.returncode == 0, done.stderr
    texts = {
        part: [
            package.Sweep(tmp_path / "kept" / part).scenario(number)
            for number in range(2 if part == "alone" else 1)
        ]
        for part in ("alone", "together")
    }
    assert [text.count('profile = "linux"') for text in texts["alone"]] == [1, 1]
    assert [text.count('profile = "linux"') for text in texts["together"]] == [2]
    done = fullpipe("compare", "cubic", "bbr3", *path, "--set", "flow.1.ecn=ect0")
    assert done.returncode == 2
    assert "flow.1.ecn = ect0: no such flow\n  fix: write flow.0.ecn" in done.stderr


def test_seeds_without_a_metric_are_named(fullpipe: Fullpipe, tmp_path: Path) -> None:
    """A transfer that is not complete at the end has no completion time."""
    path = (
        "--rate",
        "10mbit",
        "--rtt",
        "40ms",
        "--loss",
        "2%",
        "--duration",
        "2s",
        "--stack",
        "rfc",
    )
    words = ("compare", "cubic", "bbr3", "--bytes", "2MB", *path, "--repeat", "6", "--out", "kept")
    done = fullpipe(*words)
    assert done.returncode == 0, done.stderr
    rows = json.loads(fullpipe(*words[:-2], "--out", "kept", "--json").stdout)["rows"]
    assert {row["runs"] for row in rows} == {6}
    assert "means of 5 to 6 seeds" in done.stdout
    assert "without completion time: alone, bbr3, seed 3" in done.stdout.splitlines()
    scenario = """stack = "rfc"
duration = "2s"
path = { rate = "10mbit", rtt = "40ms", buffer = "1bdp", loss = "2%" }
[[flow]]
cc = "bbr3"
bytes = "2MB"
"""
    (tmp_path / "one.toml").write_text(scenario)
    swept = fullpipe("sweep", "one.toml", "--set", "flow.0.cc=bbr3,cubic", "--repeat", "6")
    assert "without completion time: seed 3 of point 0 (bbr3)" in swept.stdout.splitlines()
