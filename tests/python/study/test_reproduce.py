"""`fullpipe reproduce`: verdicts, output and saved results."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from conftest import interrupt
from fullpipe.study.repeated import Setup
from fullpipe.study.reproduce import published
from fullpipe.study.reproduce.groups import Point
from fullpipe.study.reproduce.runner import sample
from fullpipe.study.reproduce.study import CaseOutcome, StudyOutcome, study
from fullpipe.study.reproduce.study import judge as judge_samples
from fullpipe.study.reproduce.tables import Case, Cell, Metric
from fullpipe.study.verdicts.judged import Tolerance, Verdict, records
from hand_made import Ran, run_of
from test_published import GOOD

if TYPE_CHECKING:
    from conftest import Fullpipe

_POINT = Point("c", "", Setup("", "small.toml"), 1)


def judge(case: Case, runs: tuple[Ran, ...]) -> CaseOutcome:
    """Judges a case by handmade runs."""
    wanted = {(cell.metric.measure, cell.metric.flow) for cell in case.cells}
    if any(cell.same_winner for cell in case.cells):
        wanted |= {("goodput_mbps", 0), ("goodput_mbps", 1)}
    return judge_samples(case, tuple(sample(run, wanted) for run in runs))


def _case(measure: str, value: float, tolerance: Tolerance, **cell: object) -> Case:
    over = "truncated_mean" if measure == "min_max_score" else "mean"
    metric = Metric("M", measure, 0, tolerance, None, over)
    filled = {"report": None, "same_winner": None, **cell}
    return Case("c", "T", _POINT, ("A",), ("cubic",), (Cell(metric, value, tolerance, **filled),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (34.0, Verdict.MET),
        (33.99, Verdict.MISSED),
        (46.0, Verdict.MET),
        (46.01, Verdict.MISSED),
        (None, Verdict.MISSED),
    ],
)
def test_the_edges_of_a_tolerance_are_inside(ours: float | None, verdict: Verdict) -> None:
    outcome = judge(_case("rtt_mean_ms", 40, Tolerance(absolute=6)), (run_of(1, rtt_ms=ours),))
    assert outcome.cells[0].verdict is verdict
    assert (outcome.cells[0].reason != "") == (outcome.cells[0].verdict is not Verdict.MET)


def test_no_sample_is_null_in_json() -> None:
    case = _case("rtt_mean_ms", 40, Tolerance(absolute=6))
    (record,) = records(StudyOutcome((judge(case, (run_of(1, rtt_ms=None),)),), (), {}).judged)
    assert record["ours"] is None
    assert record["verdict"] == "missed"


def test_zero_losses_stay_few() -> None:
    case = _case("packets_lost", 0, Tolerance(factor=2.5, zero=5))
    assert judge(case, (run_of(1, lost=4),)).cells[0].verdict is Verdict.MET  # plus one random loss
    assert judge(case, (run_of(1, lost=5),)).cells[0].verdict is Verdict.MISSED


def test_what_is_only_reported_is_never_missed() -> None:
    case = _case("goodput_mbps", 10, Tolerance(absolute=1), report="not known")
    outcome = judge(case, (run_of(20),))
    assert (outcome.cells[0].verdict, outcome.cells[0].inside) == (Verdict.REPORT, False)
    assert outcome.cells[0].reason == "not known"


def test_no_runs_are_skipped() -> None:
    case = Case(
        "c",
        "T",
        _POINT,
        ("A",),
        ("not-built",),
        _case("goodput_mbps", 1, Tolerance(absolute=1)).cells,
    )
    outcome = judge(case, ())
    assert (outcome.runs, outcome.jain) == ((), None)
    assert outcome.cells[0].verdict is Verdict.SKIPPED
    assert math.isnan(outcome.cells[0].ours.value)
    assert "not-built" in outcome.cells[0].reason


@pytest.mark.parametrize(
    ("first", "second", "verdict"), [(1, 9, Verdict.MET), (9, 1, Verdict.MISSED)]
)
def test_the_same_flow_has_to_win(first: float, second: float, verdict: Verdict) -> None:
    case = _case("min_max_score", 1, Tolerance(absolute=1), same_winner=(2.0, 16.0))
    assert judge(case, (run_of(first, second),)).cells[0].verdict is verdict


def test_the_score_is_a_truncated_mean_of_ratios() -> None:
    """If the winner changes, the score is lower than the ratio of the mean rates, which is 1 here."""
    case = _case("min_max_score", 8, Tolerance())
    for runs in (
        (run_of(10, 8), run_of(8, 10)),
        (run_of(10, 8), run_of(10, 9.9)),
    ):  # 8.95 is truncated to 8
        assert judge(case, runs).cells[0].verdict is Verdict.MET
    assert judge(case, (run_of(0, 0),)).cells[0].ours == pytest.approx(
        (10, 10, 10, math.nan, math.nan), nan_ok=True
    )


def test_one_row_of_the_microsoft_table() -> None:
    table = published.load(published.find("microsoft"))
    ticks: list[int] = []
    done = study(
        table.only(["30s_40Mbps_4ms_200pkt_0loss_CUBIC"]).with_seeds(2), lambda: ticks.append(1)
    )
    first, second = (each.metrics for each in done.outcomes[0].runs)
    assert len(ticks) == 2
    assert [first["seed"], second["seed"]] == [1, 2]
    assert first["flows"] != second["flows"]
    mbps, rtt, loss = records(done.judged)
    assert list(mbps) == ["case", "metric", "published", "ours", "tolerance", "verdict"]
    assert (mbps["case"], mbps["metric"], mbps["published"]) == (
        "30s_40Mbps_4ms_200pkt_0loss_CUBIC",
        "Mbps",
        37,
    )
    assert mbps["tolerance"] == pytest.approx((32.56, 41.44))
    assert (mbps["verdict"], rtt["verdict"], loss["verdict"]) == ("met", "met", "report")
    assert not math.isnan(mbps["ours"] or math.nan)


def test_the_command_keeps_what_it_found(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(GOOD)
    done = fullpipe("reproduce", "small.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 of 1 judged cells met" in done.stdout
    assert "fullpipe has no not-built yet" in done.stdout
    assert "Report: results/small-001/report.html or overview.png" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 100
    kept = tmp_path / "results" / "small-001"
    assert {path.name for path in kept.iterdir()} == {
        *(
            "overview.png",
            "table.md",
            "SHA256SUMS",
            "made.json",
            "table.json",
            "published.toml",
            "runs.parquet",
            "runs.csv",
            "numbers.csv",
        ),
        *("scenarios", "cases", "report.html"),
    }
    assert [path.name for path in (kept / "cases").glob("*.png")] == ["10mbit_0_reno.png"]
    runs = pl.read_parquet(kept / "runs.parquet")
    assert runs["seed"].to_list() == [1, 2]
    assert runs["goodput_bps"].min() > 8e6  # type: ignore[operator]
    assert "| skipped |" in (kept / "table.md").read_text()


def test_results_are_never_overwritten(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(GOOD)
    assert fullpipe("reproduce", "small.toml", "--seeds", "1").returncode == 0
    again = fullpipe("reproduce", "small.toml", "--seeds", "1")
    assert "results/small-002/" in again.stdout
    named = fullpipe("reproduce", "small.toml", "--out", "results/small-001")
    assert named.returncode == 2
    assert named.stderr.startswith(
        "error: --out results/small-001 exists already; name a new directory"
    )


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_leaves_nothing(
    command: list[str], tmp_path: Path, sent: signal.Signals
) -> None:
    (tmp_path / "small.toml").write_text(
        GOOD.replace('"2s"', '"1000000s"').replace("seeds = 2", "seeds = 9")
    )
    code, said = interrupt([*command, "reproduce", "small.toml"], tmp_path, sent)
    assert (code, said) == (128 + sent, "interrupted after 0 of 9 runs; nothing kept\n")
    assert [file.name for file in tmp_path.iterdir()] == ["small.toml"]


def test_ctrl_c_ends_it_with_polars_loaded(tmp_path: Path) -> None:
    """The signal handler of polars lets a wait continue after a signal."""
    (tmp_path / "small.toml").write_text(GOOD.replace('"2s"', '"1000000s"'))
    start = "import polars, sys; from fullpipe.commands import main; sys.argv = ['', 'reproduce', 'small.toml']; main()"
    code, said = interrupt([sys.executable, "-c", start], tmp_path, signal.SIGINT)
    assert (code, said) == (130, "interrupted after 0 of 2 runs; nothing kept\n")


def test_a_full_disk_is_said(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(GOOD)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*command, "reproduce", "small.toml"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        2,
        "error: standard output: No space left on device\n",
    )


def test_json_is_a_list_of_cells(fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(GOOD)
    done = fullpipe("reproduce", "small.toml", "--seeds", "1", "--json", "--out", "kept")
    cells = json.loads(done.stdout)
    assert [set(cell) for cell in cells] == [
        {"case", "metric", "published", "ours", "tolerance", "verdict"}
    ] * 4
    assert [cell["verdict"] for cell in cells] == ["met", "report", "skipped", "skipped"]
    assert cells[0]["tolerance"] == [5, 15]
    assert cells[2]["ours"] is None
    assert json.loads((tmp_path / "kept" / "table.json").read_text()) == cells


def test_a_missed_cell_is_exit_code_1(fullpipe: Fullpipe, tmp_path: Path) -> None:
    note = '[[exception]]\ncases = ["*"]\nmetrics = ["rate"]\nnote = "who knows"\n[[table]]'
    (tmp_path / "small.toml").write_text(
        GOOD.replace(", 10, 60]", ", 30, 60]").replace("[[table]]", note)
    )
    done = fullpipe("reproduce", "small.toml", "--seeds", "1")
    assert done.returncode == 1
    assert "[1] who knows" in done.stdout
    assert "missed" in done.stdout
    assert "too low" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", "no published table is called 'nothing'"),
        ("nothing.toml", "nothing.toml: No such file or directory"),
        ("bad.toml", "bad.toml: seeds = 0"),
        ("unrunnable.toml", "small"),
    ],
)
def test_a_bad_table_is_exit_code_2(
    fullpipe: Fullpipe, tmp_path: Path, name: str, words: str
) -> None:
    (tmp_path / "bad.toml").write_text(GOOD.replace("seeds = 2", "seeds = 0"))
    (tmp_path / "unrunnable.toml").write_text(GOOD.replace('"100packets"', '"small"'))
    done = fullpipe("reproduce", name)
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "results" / "small-001").exists()


def test_variants_are_counted(fullpipe: Fullpipe, tmp_path: Path) -> None:
    variant = '[[variant]]\nname = "CUBIC instead"\nalgorithms.reno.cc = "cubic"\n'
    (tmp_path / "small.toml").write_text(GOOD + variant)
    done = fullpipe("reproduce", "small.toml", "--seeds", "1", "--variants", "--out", "kept")
    assert "CUBIC instead: 1 of 1 judged cells met" in done.stdout
    cells = json.loads((tmp_path / "kept" / "variants.json").read_text())
    assert {cell["variant"] for cell in cells} == {"CUBIC instead"}


def test_an_overridden_key_is_in_every_scenario_and_in_the_title(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "small.toml").write_text(GOOD)
    words = ("--seeds", "1", "--set", "path.queue=codel", "--out", "kept")
    done = fullpipe("reproduce", "small.toml", *words)
    assert done.returncode in (0, 1), done.stderr
    assert ", with path.queue=codel" in " ".join(done.stdout.split())
    scenarios = list((tmp_path / "kept" / "scenarios").glob("*.toml"))
    assert scenarios
    for file in scenarios:
        assert 'kind = "codel"' in file.read_text()
