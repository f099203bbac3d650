"""Results side by side, metrics of choice, and axes of words, through the command."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

import fullpipe as library
from conftest import SCENARIO
from fullpipe.report.build import build
from fullpipe.report.model import Table, Timeline
from sweep_dir import write_sweep

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

_BOTH = (
    SCENARIO.replace('cc = "bbr1"', 'name = "web"\ncc = "cubic"\napp = "request 20kB think 50ms"')
    .replace('cc = "cubic"\n', 'name = "bulk"\ncc = "cubic"\n', 1)
    .replace('"2s"', '"4s"')
    .replace("1bdp", "2bdp")
)
"""A download and a client."""


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The directories `a` and `b`: two runs that differ in the queue."""
    for name, queue in (("a", "pfifo"), ("b", "fq_codel")):
        library.run(_BOTH, set={"path.queue": queue}, trace="10ms").save(tmp_path / name)
    return tmp_path


def test_two_runs_are_told_apart_by_what_differs(fullpipe: Fullpipe, kept: Path) -> None:
    done = fullpipe("report", "a", "b", "--format", "md")
    assert (done.returncode, done.stdout) == (0, "report-md-a-b\n"), done.stderr
    text = (kept / "report-md-a-b/report.md").read_text(encoding="utf-8")
    differences = text.partition("## Differences")[2].partition("\n## ")[0]
    assert re.search(r"\| bulk \(cubic\) \| Goodput, Mbit/s \| queue fq_codel", differences)
    assert "fullpipe run a/resolved.toml --seed 7" in text
    assert "fullpipe run b/resolved.toml --seed 7" in text


def test_a_page_of_two_runs_says_what_happened_in_each(kept: Path) -> None:
    report = build([kept / "a", kept / "b"])
    told = [finding.text.partition(":")[0] for finding in report.findings]
    assert {"queue pfifo", "queue fq_codel"} <= set(told), report.findings
    assert "One run each: differences may be chance" in report.findings_note


def test_a_page_of_two_runs_begins_with_what_differs_the_largest_first(kept: Path) -> None:
    report = build([kept / "a", kept / "b"])
    first, *more = [finding.text for finding in report.findings]
    spread = {
        name: json.loads((kept / name / "metrics.json").read_text())["flows"][0]["queue_delay_s"]
        for name in ("a", "b")
    }
    found = re.fullmatch(
        r"bulk \(cubic\): queue fq_codel has (\S+) % lower p95 queueing delay than queue pfifo: "
        r"(\S+) against (\S+) ms\.",
        first,
    )
    assert found, first
    percent, one, other = map(float, found.groups())
    assert one == pytest.approx(spread["b"]["p95"] * 1e3, rel=0.05)
    assert other == pytest.approx(spread["a"]["p95"] * 1e3, rel=0.05)
    assert percent == pytest.approx(100 * (1 - spread["b"]["p95"] / spread["a"]["p95"]), rel=0.02)
    between = [text for text in more if " than queue pfifo" in text or "of queue pfifo" in text]
    assert between == more[: len(between)]
    # no interval, no arrow, no claim that it is not chance
    for finding in report.findings:
        assert finding.better == 0
        assert "CI" not in finding.text
        assert "significant" not in finding.text


def test_runs_that_do_not_differ_much_say_so(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        jitter = {"send_jitter": "10us"}
        library.run(SCENARIO, set=jitter, seed=seed, trace="10ms").save(tmp_path / name)
    first = build([tmp_path / "a", tmp_path / "b"]).findings[0].text
    assert first.startswith("The runs differ by less than 5 %") or " against " in first


def test_a_sentence_over_several_settings_names_them(tmp_path: Path) -> None:
    """Three queues and two algorithms: `at 1 of 1 settings` would say nothing."""
    one_flow = SCENARIO.partition("[[flow]]")[0] + '[[flow]]\ncc = "cubic"\n'
    sweep = write_sweep(
        tmp_path / "sweep",
        one_flow,
        {"path.queue": ["pfifo", "fq_codel", "codel"], "flow.0.cc": ["cubic", "bbr3"]},
        list(range(1, 7)),
    )
    report = build(sweep)
    texts = [finding.text for finding in report.findings]
    assert len(texts) > 5
    for text in texts:
        assert "1 of 1" not in text
        assert not re.search(r"(\d+) of \1 settings", text)
        if found := re.search(r"at (\d) of 3 settings \((.*?)\)", text):
            assert len(found[2].split("; ")) == int(found[1])
        # of one queue against another there is the algorithm, and of the whole run both settings
        if text.count("queue ") >= 2 and " vs. queue " in text and "utilization" not in text:
            assert text.startswith(("cubic: ", "bbr3: ")), text
    table = next(
        block
        for each in report.sections
        for block in each.blocks
        if isinstance(block, Table) and block.title == "Contenders compared"
    )
    places = [(row[0], row[1], row[2], row[4]) for row in table.rows]
    assert len({*places}) == len(places), "each row of the table tells its setting"


def test_the_start_of_measuring_is_drawn_for_each_run(tmp_path: Path) -> None:
    for start in ("0.5s", "1s"):
        library.run(SCENARIO, set={"measure_from": start}, trace="10ms").save(tmp_path / start)
    blocks = [
        block
        for each in build([tmp_path / "0.5s", tmp_path / "1s"]).sections
        for block in each.blocks
    ]
    timeline = next(block for block in blocks if isinstance(block, Timeline))
    assert [run.measure_from_s for run in timeline.runs] == [0.5, 1.0]


def test_metrics_of_a_whole_run_have_no_contender(kept: Path) -> None:
    tables = build([kept / "a", kept / "b"]).sections[0].blocks
    runs = next(each for each in tables if isinstance(each, Table) and each.title == "Whole runs")
    flows = next(each for each in tables if isinstance(each, Table))
    assert runs.columns[0] == "queue"
    assert "contender" not in runs.columns
    assert len(runs.rows) == 2
    assert not any("Utilization" in column for column in flows.columns)


def test_a_client_is_compared_with_itself_alone(kept: Path) -> None:
    report = build([kept / "a", kept / "b"])
    (table,) = next(each for each in report.sections if each.title == "Differences").blocks
    assert isinstance(table, Table)
    assert {str(row[0]) for row in table.rows} == {"bulk (cubic)", "web (cubic)", ""}
    pair = [table.columns.index(name) for name in ("A", "B")]
    assert {tuple(str(row[at]) for at in pair) for row in table.rows} == {
        ("queue fq_codel", "queue pfifo")
    }


def test_compare_prints_stored_results(fullpipe: Fullpipe, kept: Path) -> None:
    done = fullpipe("compare", "a", "b")
    assert done.returncode == 0, done.stderr
    assert "queue pfifo" in done.stdout
    assert "queue fq_codel" in done.stdout
    assert "one run of each can't show significant differences" in " ".join(done.stdout.split())
    assert "fullpipe report a b" in done.stdout
    assert sorted(each.name for each in kept.iterdir()) == ["a", "b"]


@pytest.mark.usefixtures("kept")
def test_what_can_not_be_put_side_by_side_is_refused(fullpipe: Fullpipe) -> None:
    for words, problem in (
        (("report", "a", "a"), "named twice"),
        (("report", "a", "none"), "none: no such directory"),
        (("compare", "a", "none"), "none"),
    ):
        done = fullpipe(*words)
        assert done.returncode == 2
        assert problem in done.stderr
        assert "  fix: " in done.stderr
        assert "Traceback" not in done.stderr


def test_the_values_of_an_axis_of_words_are_compared_for_each_flow(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(_BOTH, encoding="utf-8")
    axis = "path.queue=pfifo,fq_codel"
    done = fullpipe("sweep", "s.toml", "--set", axis, "--repeat", "6", "--out", "swept")
    assert done.returncode == 0, done.stderr
    assert "response" in done.stdout, "the scenario has a client"
    report = build(tmp_path / "swept")
    texts = [each.text for each in report.findings]
    assert texts
    for text in texts:
        assert "queue fq_codel has" in text or "queue pfifo has" in text, text
        assert not ("bulk" in text and "web" in text), text


def test_the_metrics_of_a_report_and_a_sweep_can_be_chosen(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(_BOTH, encoding="utf-8")
    axis = ("--set", "path.buffer=1bdp,4bdp", "--repeat", "1")
    done = fullpipe("sweep", "s.toml", *axis, "--out", "swept", "--show", "jain,goodput")
    assert done.returncode == 0, done.stderr
    assert "Jain" in done.stdout or "jain" in done.stdout
    assert "queue" not in done.stdout.partition("median")[0].replace("path.queue", "")
    done = fullpipe("report", "swept", "--format", "md", "--show", "response.p95")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "swept/report-md/report.md").read_text(encoding="utf-8")
    assert "P95 response time" in text
    assert "Goodput, Mbit/s |" not in text
    done = fullpipe("report", "swept", "--show", "goodputt")
    assert done.returncode == 2
    assert "did you mean goodput" in done.stderr
