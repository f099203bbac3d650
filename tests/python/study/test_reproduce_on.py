"""Published results on other runners: supported cells, and the bounds that judge them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from fullpipe.results.sums import in_name
from fullpipe.runners import runner
from fullpipe.study.reproduce.published import find, load, of_a_wing
from fullpipe.study.reproduce.study import study
from fullpipe.study.verdicts.judged import Verdict
from fullpipe.study.verdicts.reader import PublishedError

if TYPE_CHECKING:
    from conftest import Fullpipe

PUBLISHED = Path(__file__).parents[3] / "published"
SMALL = """\
name = "small"
title = "A small table"
source = "none"
seeds = 2
[decoding]
pattern = '(?P<rate>[0-9]+)mbit_(?P<first>[a-z0-9]+)'
flows = ["first"]
[scenario]
duration = "2s"
send_jitter = "1ms"
[scenario.path]
rate = "{rate}mbit"
rtt = "20ms"
buffer = "100packets"
[scenario.flow]
[algorithms.reno]
cc = "newreno"
params = { abc_limit = 2 }
[algorithms.bbr3]
cc = "bbr3"
[metrics.rate]
measure = "goodput_mbps"
tolerance = { relative = 0.01 }
[[table]]
title = "T"
columns = ["case", "rate"]
rows = [["10mbit_reno", 7], ["10mbit_bbr3", 9]]
[runs.one.scenario]
duration = "2s"
measure_from = "1s"
send_jitter = "1ms"
path = { rate = "10mbit", rtt = "20ms", buffer = "1bdp" }
flow = [{ cc = "newreno" }]
[runs.two]
like = "one"
[runs.two.scenario]
flow = [{ cc = "bbr3" }]
[[claim]]
case = "C1"
metric = "utilization"
published = 0.5
measure = "utilization"
of = ["one"]
within = [0.49, 0.51]
why = "as printed"
real = { within = [0.5, 1], why = "a real clock" }
[[claim]]
case = "C2"
metric = "utilization, one over the other"
published = 1
measure = "utilization"
compare = "ratio"
of = ["one", "two"]
within = [0.5, 2]
why = "about one"
[real.algorithms.reno]
cc = "newreno"
[real.metrics.rate]
tolerance = { factor = 2 }
"""


@pytest.fixture
def small(fake: Path) -> Path:
    (fake / "small.toml").write_text(SMALL, encoding="utf-8")
    return fake / "small.toml"


def test_what_a_runner_refuses_is_skipped_with_its_reason(small: Path) -> None:
    done = study(load(small, real=True), runner=runner("own_runners:Choosy"))
    reno, bbr3 = done.outcomes
    assert ([cell.verdict for cell in reno.cells], len(reno.runs)) == ([Verdict.MET], 2)
    (cell,) = bbr3.cells
    assert (cell.verdict, cell.reason) == (Verdict.SKIPPED, "the kernel has no bbr3")
    alone, both = done.claims
    assert alone.verdict == Verdict.MET
    assert (both.verdict, both.reason) == (Verdict.SKIPPED, "the kernel has no bbr3")
    assert {run.metrics["runner"] for run in reno.runs} == {"choosy"}


def test_bounds_and_settings_for_real_stacks_hold_there_alone(small: Path) -> None:
    simulated, real = load(small), load(small, real=True)
    assert "abc_limit" in simulated.cases[0].point.setup.text
    assert "abc_limit" not in real.cases[0].point.setup.text
    assert simulated.cases[0].cells[0].tolerance.interval(7) == pytest.approx((6.93, 7.07))
    assert real.cases[0].cells[0].tolerance.interval(7) == (3.5, 14)
    assert (simulated.claims[0].within, real.claims[0].within) == ((0.49, 0.51), (0.5, 1))
    assert (simulated.claims[1].within, real.claims[1].within) == ((0.5, 2), (0.5, 2))
    assert Verdict.MISSED in study(simulated.only(["*reno", "C1"])).verdicts


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[real.metrics.rate]", "[real.metrics.rat]", "real.metrics.rat is unknown"),
        ("[real.algorithms.reno]", "[real.algorithm.reno]", "real.algorithm is unknown"),
        ("real = { within", "real = { withing", "claim[0].real.withing is unknown"),
    ],
)
def test_a_mistake_in_it_is_refused(small: Path, old: str, new: str, said: str) -> None:
    small.write_text(SMALL.replace(old, new), encoding="utf-8")
    with pytest.raises(PublishedError) as refused:
        load(small, real=True)
    assert said.split()[0] in str(refused.value)


@pytest.mark.parametrize(
    "file",
    [each for each in sorted(PUBLISHED.glob("*.toml")) if not of_a_wing(each)],
    ids=lambda file: file.stem,
)
def test_every_published_file_can_be_read_for_real_stacks(file: Path) -> None:
    simulated, real = load(file), load(file, real=True)
    assert [case.name for case in real.cases] == [case.name for case in simulated.cases]
    assert [claim.case for claim in real.claims] == [claim.case for claim in simulated.claims]


def test_the_lab_of_microsoft_is_judged_more_widely_there() -> None:
    cells = {
        (case.name, cell.metric.name): cell
        for case in load(PUBLISHED / "microsoft-wan-2021.toml", real=True).cases
        for cell in case.cells
    }
    alone, shared = (
        "30s_40Mbps_40ms_200pkt_0loss_CUBIC",
        "share_30s_20Mbps_20ms_400pkt_0loss_CUBIC_CUBIC",
    )
    intervals = {key: cell.tolerance.interval(cell.published) for key, cell in cells.items()}
    assert intervals[alone, "Mbps"] == pytest.approx((29.6, 44.4))
    assert intervals[alone, "RttMs"] == pytest.approx((65.6, 98.4))
    assert intervals[shared, "Fairness"] == (4, 16)
    assert cells["share_30s_20Mbps_20ms_400pkt_0loss_BBR2_CUBIC", "Fairness"].same_winner == (1, 16)


PICTURES = """
[[picture]]
case = "C1"
file = "sorted"
title = "Each alone"
draw = "sorted"
of = ["one"]
measure = "utilization"
[[picture]]
case = "C1"
file = "median"
title = "The median run"
draw = "rate_rtt_state"
of = ["one"]
[[picture]]
case = "C1"
file = "long"
title = "Every run again"
draw = "queue_cdf"
of = ["one"]
[[picture]]
case = "C2"
file = "refused"
title = "Both"
draw = "rate_rtt_state"
of = ["two"]
"""


def test_pictures_that_take_no_long_runs_are_drawn_on_other_runners(
    fullpipe: Fullpipe, small: Path
) -> None:
    small.write_text(SMALL + PICTURES, encoding="utf-8")
    told = fullpipe("reproduce", small.name, "--on", "own_runners:Choosy", "--out", "kept")
    assert told.returncode == 0, told.stderr
    assert sorted(file.name for file in (small.parent / "kept" / "pictures").iterdir()) == [
        "SHA256SUMS",
        "median.png",
        "sorted.png",
    ]
    assert "Report: kept/report.html or pictures/" in told.stdout


def test_a_study_set_up_for_a_runner_is_what_its_name_means_there(fake: Path) -> None:
    (fake / "published").mkdir()
    for name in ("small", "small-choosy"):
        text = SMALL.replace('name = "small"', f'name = "{name}"')
        (fake / "published" / f"{name}.toml").write_text(text, encoding="utf-8")
    assert find("small").stem == "small"
    assert find("small", "choosy").stem == "small-choosy"
    assert find("small", "other").stem == "small"
    assert find("huitema", "quic").stem == "huitema-quic"


def test_the_command_runs_what_can_be_run(fullpipe: Fullpipe, small: Path) -> None:
    told = fullpipe("reproduce", small.name, "--on", "own_runners:Choosy", "--out", "kept")
    assert told.returncode == 0, told.stderr
    assert "Skipped: the kernel has no bbr3" in told.stdout
    assert "2 of 2 judged cells met, 0 missed; 2 skipped" in told.stdout
    records = json.loads((small.parent / "kept" / "table.json").read_text(encoding="utf-8"))
    assert [each["verdict"] for each in records] == ["met", "skipped", "met", "skipped"]
    assert not (small.parent / "kept" / "cases").exists()
    timed = fullpipe("reproduce", small.name, "--on", "own_runners:Timed", "--json")
    assert timed.returncode == 0, timed.stderr
    assert [each["verdict"] for each in json.loads(timed.stdout)] == ["met", "met", "met", "met"]


def _stopped(call: list[str], small: Path, runs: Path, number: signal.Signals) -> tuple[int, str]:
    """Starts a study and sends it a signal after some runs; returns its exit code and standard error."""
    slow = {**os.environ, "PAUSE_S": "0.4"}
    with subprocess.Popen(
        call, cwd=small.parent, env=slow, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 60
        while (
            not (runs.exists() and runs.read_text().count("\n") >= 3)
            and time.monotonic() < deadline
        ):
            time.sleep(0.02)
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
    if (small.parent / "busy").exists():
        (small.parent / "busy").rmdir()  # a real runner would clean this up
    return process.returncode, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("out", [None, "kept"])
def test_a_study_goes_on_where_it_was_stopped(
    command: list[str], small: Path, number: signal.Signals, out: str | None
) -> None:
    target = Path(out or "results/small-timed-001")
    call = [
        *command,
        "reproduce",
        small.name,
        "--on",
        "own_runners:Timed",
        *(["--out", out] if out else []),
    ]
    unfinished = small.parent / f"{target}.unfinished"
    code, said = _stopped(call, small, unfinished / "runs.jsonl", number)
    assert code == (130 if number == signal.SIGINT else -signal.SIGKILL)
    if number == signal.SIGINT:
        kept = f"finished runs are kept in {target}.unfinished; the same command resumes there\n"
        assert said.endswith(f"of 8 runs; {kept}")
    first = (unfinished / "runs.jsonl").read_text()
    assert 3 <= first.count("\n") < 8
    # A changed number in a stored run shows whether the run is reused or repeated.
    lines = first.splitlines()
    taken = json.loads(lines[0].partition(" ")[2])
    taken["metrics"]["jain"] = 0.25  # with a truncated last line, and a damaged one
    about = json.loads((unfinished / "study.json").read_text())["study"]
    changed = json.dumps(taken)
    digest = in_name(f"{json.dumps(about)}\n{changed}".encode())
    damaged = lines[1].replace('"jain": ', '"jain": 0')
    (unfinished / "runs.jsonl").write_text(
        "\n".join([f"{digest} {changed}", damaged, *lines[2:], lines[0][:50]])
    )
    (unfinished / "study.json").write_text("{}")  # damaged, too: the runs show which study it is
    done = subprocess.run(
        call, cwd=small.parent, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not unfinished.exists()
    runs = pl.read_parquet(small.parent / target / "runs.parquet")
    assert runs.height == 8
    assert runs.filter(jain=0.25).select("case", "seed").rows() == [
        (taken["key"][1], taken["key"][3])
    ]


def test_what_was_begun_otherwise_is_not_mixed(
    fullpipe: Fullpipe, command: list[str], small: Path
) -> None:
    call = [*command, "reproduce", small.name, "--on", "own_runners:Timed", "--out", "kept"]
    runs = small.parent / "kept.unfinished" / "runs.jsonl"
    _stopped(call, small, runs, signal.SIGKILL)
    before = runs.read_text()
    for changed, said in (
        (("--seeds", "1"), "--seeds was the file's, not 1"),
        (("--case", "C1"), "--case was all, not C1"),
        (("--on", "own_runners:Choosy"), "--on was timed, not choosy"),
    ):
        refused = fullpipe(*call[len(command) :], *changed)
        assert refused.returncode == 2
        assert (
            f"--out kept: kept.unfinished has finished parts of different work: {said}"
            in refused.stderr
        )
    small.write_text(small.read_text().replace("published = 0.5", "published = 0.6"))
    refused = fullpipe(*call[len(command) :])
    assert refused.returncode == 2
    assert "the file was small, " in refused.stderr
    assert runs.read_text() == before
