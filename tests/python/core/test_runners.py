"""Runners: the registry, and user-defined ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import fullpipe
from conftest import SCENARIO
from fullpipe.errors import RunnerError
from fullpipe.report.build import build
from fullpipe.report.model import Number, Table, Timeline
from fullpipe.runners import chosen, every, names, refuse, runner

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe


def test_the_simulator_is_always_there_and_listed_first() -> None:
    assert names()[0] == "sim"
    assert [each.name for each in every()] == names()
    assert runner("sim").missing() is None


def test_a_run_says_what_it_was_run_on() -> None:
    metrics = fullpipe.run(SCENARIO, on="sim").metrics
    assert (metrics["runner"], metrics["host"], metrics["warnings"]) == ("sim", {}, [])


@pytest.mark.parametrize(
    ("on", "said"),
    [
        ("simm", r"--on simm: no runner has this name\n  fix: did you mean sim\?"),
        ("os", r"--on os: no runner has this name\n  fix: there (is|are) sim"),
        ("", r"--on : no runner has this name\n  fix: there (is|are) sim"),
        (
            "nowhere:Fake",
            r"--on nowhere:Fake: No module named 'nowhere'\n  fix: name a class that can be imported",
        ),
        (
            "own_runners:Absent",
            r"--on own_runners:Absent: it has not been built\n  fix: run make absent",
        ),
        ("own_runners:Nameless", r"its name must be lower-case letters"),
        ("own_runners:Half", r"own_runners:Half: the class has no about"),
    ],
)
@pytest.mark.usefixtures("fake")
def test_a_runner_that_is_not_there_is_refused_with_what_to_do(on: str, said: str) -> None:
    with pytest.raises(RunnerError, match=said):
        fullpipe.run(SCENARIO, on=on)


@pytest.mark.usefixtures("fake")
def test_runners_are_named_once_each() -> None:
    assert [each.name for each in chosen(" own_runners:Fake, sim,")] == ["fake", "sim"]
    for names_, said in (("sim,sim", "sim is named twice"), (",", "no runner is named")):
        with pytest.raises(RunnerError, match=said):
            chosen(names_)


@pytest.mark.usefixtures("fake")
def test_a_runner_of_ones_own_gives_a_run_like_any_other() -> None:
    run = fullpipe.run(SCENARIO, on="own_runners:Fake", trace="100ms")
    assert run.runner == "fake"
    assert repr(run) == "<Run of <text> on fake: 2 flows, 2 s, seed 7>"
    assert run.trace("flows").equals(fullpipe.run(SCENARIO, trace="100ms").trace("flows"))


def test_the_command_shows_runner_and_warnings(fullpipe: Fullpipe, fake: Path) -> None:
    (fake / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    shown = fullpipe("run", "mine.toml", "--on", "own_runners:Fake", "--out", "kept")
    assert shown.returncode == 0, shown.stderr
    assert "\non fake · seed 7 · " in shown.stdout
    assert "\nwarning: the CPU was busy\n" in shown.stdout
    kept = json.loads((fake / "kept" / "metrics.json").read_text(encoding="utf-8"))
    assert (kept["runner"], kept["host"], kept["warnings"]) == (
        "fake",
        {"kernel": "9.9"},
        ["the CPU was busy"],
    )
    page = fullpipe("report", "kept", "--format", "md")
    assert page.returncode == 0, page.stderr
    text = (fake / "kept" / "report-md" / "report.md").read_text(encoding="utf-8")
    for words in ("fake", "kernel 9.9", "the CPU was busy"):
        assert words in text


def test_the_command_refuses_what_is_not_there(fullpipe: Fullpipe, fake: Path) -> None:
    (fake / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    refused = fullpipe("run", "mine.toml", "--on", "own_runners:Absent", "--out", "kept")
    assert refused.returncode == 2
    assert refused.stderr.startswith(
        "error: --on own_runners:Absent: it has not been built\n  fix: run make absent; "
    )
    assert not (fake / "kept").exists()


def test_several_runners_are_shown_side_by_side(fullpipe: Fullpipe, fake: Path) -> None:
    (fake / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    shown = fullpipe("run", "mine.toml", "--on", "sim,own_runners:Other")
    assert shown.returncode == 0, shown.stderr
    starts = [
        line.split()[:3]
        for line in shown.stdout.splitlines()
        if len(line.split()) > 5 and "·" not in line
    ]
    alone = json.loads(fullpipe("run", "mine.toml", "--json").stdout)["flows"]
    assert ["cubic", "sim", f"{alone[0]['goodput_bps'] / 1e6:.2f}"] in starts
    assert [line[:2] for line in starts].count(["bbr1", "sim"]) == 1
    assert [line[0] for line in starts].count("other") == 3, "two flows and a link"
    assert "\non sim · seed 7 · " in shown.stdout
    assert "\non other · seed 7 · " in shown.stdout
    both = json.loads(
        fullpipe("run", "mine.toml", "--on", "sim,own_runners:Other", "--json").stdout
    )
    assert [each["runner"] for each in both] == ["sim", "other"]
    assert both[0]["flows"] == alone
    refused = fullpipe("run", "mine.toml", "--on", "sim,own_runners:Other", "--qlog", "a.qlog")
    assert refused.returncode == 2
    assert "keep the traces with --out" in refused.stderr


def test_several_runners_give_one_report(fullpipe: Fullpipe, fake: Path) -> None:
    (fake / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    made = fullpipe("run", "mine.toml", "--on", "sim,own_runners:Other", "--out", "kept")
    assert made.returncode == 0, made.stderr
    assert "one directory each; for a report of them: fullpipe report kept" in made.stdout
    report = build(fake / "kept")
    assert ("Machine, other", "kernel 9.9, cpu abacus") in report.facts
    beside = next(section for section in report.sections if section.title == "Runners side by side")
    (table,) = beside.blocks
    assert isinstance(table, Table)
    assert table.columns == ("contender", "metric", "sim", "other", "other vs. sim")
    goodput = {
        name: [
            flow["goodput_bps"]
            for flow in json.loads((fake / "kept" / name / "metrics.json").read_text())["flows"]
        ]
        for name in ("sim", "other")
    }
    (row,) = [row for row in table.rows if row[:2] == ("cubic", "Goodput, Mbit/s")]
    numbers = [cell.value for cell in row[2:] if isinstance(cell, Number)]
    ours, theirs = goodput["sim"][0], goodput["other"][0]
    assert numbers == pytest.approx([ours, theirs, theirs / ours - 1])
    written = fake / "kept" / "other" / "metrics.json"
    nudged = json.loads(written.read_text())
    nudged["flows"][0]["goodput_bps"] = ours * (1 + 1e-9)
    written.write_text(json.dumps(nudged))
    (written.parent / "SHA256SUMS").unlink()
    after = next(
        section
        for section in build(fake / "kept").sections
        if section.title == "Runners side by side"
    )
    assert isinstance(after.blocks[0], Table)
    (row,) = [row for row in after.blocks[0].rows if row[:2] == ("cubic", "Goodput, Mbit/s")]
    assert isinstance(row[-1], Number)
    assert row[-1].text == "0 %", "a rounding error is not a difference"
    (timeline,) = next(
        section for section in report.sections if section.title == "Over time"
    ).blocks
    assert isinstance(timeline, Timeline)
    assert [run.label for run in timeline.runs] == [*("sim, seed 7", "other, seed 7")]
    assert timeline.first == (0, 1), "runs of one scenario are laid over each other"
    for run in timeline.runs:
        names = [each.name for each in run.read()]
        in_queue = ["cubic", "bbr1"]
        assert names == ["cubic", "bbr1", "bottleneck", *in_queue, "all flows"]
    again = fullpipe("report", "kept")
    assert again.returncode == 0, again.stderr


def test_runs_without_a_title_are_named_by_their_runners(fullpipe: Fullpipe, fake: Path) -> None:
    untitled = "\n".join(line for line in SCENARIO.splitlines() if not line.startswith("#"))
    (fake / "mine.toml").write_text(untitled, encoding="utf-8")
    made = fullpipe("run", "mine.toml", "--on", "sim,own_runners:Other", "--out", "kept")
    assert made.returncode == 0, made.stderr
    shown = fullpipe("report", "kept")
    assert shown.returncode == 0, shown.stderr
    page = (fake / "kept" / "report.html").read_text(encoding="utf-8")
    for name in ("sim", "other"):
        assert f'"label":"{name}, seed 7"' in page


@pytest.mark.parametrize("name", [each for each in names() if each != "sim"])
@pytest.mark.parametrize(
    ("trace", "problem", "fix"),
    [
        (
            "10ms packets 2s..4s",
            "records no packets, which only sim does",
            "give 10ms, or run it on sim",
        ),
        ("packets", "records no packets, which only sim does", "run it on sim"),
        ("ack packets", "records no packets, which only sim does", "give ack"),
        ("never", "neither a level nor an interval", 'give "off", "ack"'),
        ("10mbit", "neither a level nor an interval", 'give "off", "ack"'),
    ],
)
def test_a_trace_that_only_the_simulator_has_is_refused(
    name: str, trace: str, problem: str, fix: str
) -> None:
    (runner_,) = (each for each in every() if each.name == name)
    with pytest.raises(fullpipe.ScenarioError) as caught:
        refuse(runner_, fullpipe.load(SCENARIO), trace)
    assert (caught.value.key, caught.value.value) == ("trace", trace)
    assert problem in caught.value.problem
    assert fix in caught.value.fix


@pytest.mark.usefixtures("fake")
def test_an_own_runner_gets_no_packets_either(fullpipe: Fullpipe) -> None:
    words = ("cubic", "--rate", "10mbit", "--duration", "1s", "--trace", "10ms packets")
    for command in (("run", *words), ("sweep", *words, "--set", "path.rtt=10ms,20ms")):
        done = fullpipe(*command, "--on", "sim,own_runners:Fake", "--out", command[0])
        assert done.returncode == 2
        assert done.stderr == (
            'error: trace = "10ms packets": --on fake records no packets, which only sim does\n'
            "  fix: give 10ms, or run it on sim\n"
        )
