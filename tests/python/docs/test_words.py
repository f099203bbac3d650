"""Sentences of reports and `compare` about kept results: true names, times by run, and no claim beyond the data."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from rich.console import Console

import fullpipe
from fullpipe.report import why
from fullpipe.report.build import build
from fullpipe.report.model import Report, Table, Timeline
from fullpipe.stats.words import digits, percent_digits, signed
from fullpipe.wings.real.links.show import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

MIXED = """duration = "8s"
measure_from = "{begin}"
[path]
rate = "10mbit"
rtt = "30ms"
buffer = "4bdp"
queue = "{queue}"
[[flow]]
name = "bulk"
cc = "cubic"
[[flow]]
name = "web"
cc = "cubic"
app = "request 50kB think 500ms"
"""


@cache
def _places() -> Mapping[str, Path]:
    """Runs with the queues pfifo and fq_codel, which measure from other times, and two sweeps."""
    home = Path(mkdtemp())
    for name, queue, begin in (("deep", "pfifo", "1s"), ("fair", "fq_codel", "2s")):
        file = home / f"{name}.toml"
        file.write_text(MIXED.format(queue=queue, begin=begin))
        fullpipe.run(file, trace="10ms").save(home / name)
    for name, rate, repeat in (("ten", "10mbit", 4), ("few", "20mbit", 3)):
        fullpipe.sweep(
            ["cubic", "bbr3"],
            {"path.buffer": ["0.5bdp", "2bdp", "8bdp"]},
            rate=rate,
            rtt="20ms",
            duration="4s",
            repeat=repeat,
            out=home / name,
        )
    return {each.name: each for each in home.iterdir()}


def _report(*names: str) -> Report:
    return build([_places()[name] for name in names])


def _told(report: Report) -> list[str]:
    return [each.text for each in report.findings]


def test_each_run_has_its_time_and_its_number_of_runs() -> None:
    report = _report("deep", "fair")
    note = report.findings_note
    assert note.count("unless other times are given") == 1
    assert re.match(r"Times: .*pfifo from 1 s to 8 s; .*fq_codel from 2 s to 8 s, unless", note)
    facts = dict(report.facts)
    assert "Runs" not in facts
    assert all("Runs 1, seed 1" in facts[name] for name in ("deep", "fair"))


def test_runs_of_one_time_have_it_once() -> None:
    note = _report("deep").findings_note
    assert note == "From 1 s to 8 s, unless other times are given."


def test_after_gains_the_largest_loss_is_told() -> None:
    ways = [
        re.match(r"(bulk|web) \(cubic\): .*fq_codel has .* (lower|higher) (goodput|p95)", text)
        for text in _told(_report("deep", "fair"))
    ]
    told = [found.groups() for found in ways if found]
    better = [(way == "higher") == (what == "goodput") for _, way, what in told]
    assert len(better) >= 4
    assert all(better[:3])
    assert not all(better)


def test_a_percentage_follows_from_the_two_numbers_beside_it() -> None:
    checked = 0
    for text in _told(_report("deep", "fair")):
        if found := re.search(r"has (\d+) % (lower|higher) .*: ([\d.,]+) against ([\d.,]+)", text):
            one, other = (float(number.replace(",", "")) for number in found.groups()[2:])
            change = abs(one / other - 1) * 100
            assert digits(change) == found[1], text
            checked += 1
    assert checked >= 3


def test_a_request_flow_is_in_no_fairness() -> None:
    report = _report("deep")
    for block in (each for section in report.sections for each in section.blocks):
        if isinstance(block, Timeline):
            (run,) = block.runs
            assert "jain" not in run.notes
            assert not any("jain" in source.tracks for source in run.read())
    assert not any("equal shares" in text for text in _told(report))


def test_one_run_has_no_means() -> None:
    report = _report("deep", "fair")
    section = next(each for each in report.sections if each.title == "Differences")
    assert section.note == "One run each: nothing is tested."
    (table,) = section.blocks
    assert isinstance(table, Table)
    assert "mean A" not in table.columns
    assert "seeds" not in report.findings_note.partition("A sweep")[0]


def test_the_statistic_and_its_seeds_are_named() -> None:
    report = _report("ten", "few")
    results = next(each for each in report.sections if each.title == "Results")
    (table, *_) = results.blocks
    assert isinstance(table, Table)
    assert table.title == "Medians over 3 to 4 seeds"
    assert "too few seeds for an interval. Sentences and curves are about means" in results.note
    assert "comparisons of means over 3 to 4 seeds" in report.findings_note
    assert "use --repeat 10 or more" in report.findings_note
    assert "Arrows mark differences of 5 % or more" in report.findings_note


def test_sentences_over_settings_have_a_verb_and_sizes() -> None:
    told = _told(_report("ten", "few"))
    assert 0 < len(told) <= 12
    for text in told:
        assert " vs. " not in text
        assert " has " in text
        assert re.search(r"\(95 % CI .*\)| at (both|all \d+|\d+ of \d+) settings", text), text


def test_percentages_have_the_digits_that_matter() -> None:
    assert [digits(value) for value in (9.96, -2.2, 0.0100, 1234.5)] == [
        "10",
        "−2.2",
        "0.010",
        "1,234",
    ]
    assert percent_digits(99.31) == "99.31"
    assert [signed(value) for value in (99.02, -99.02, 2.2e-14, -0.024)] == [
        "+99", "−99.02", "0", "−0.024",
    ]  # fmt: skip


def test_a_kernels_limit_is_told_by_its_measure() -> None:
    run = fullpipe.run(["cubic"], rate="10mbit", rtt="30ms", buffer="2bdp", duration="4s")
    metrics = {**run.metrics, "runner": "kernel"}
    flow = {**run.metrics["flows"][0], "limited_by": {"application": 0.75, "cwnd": 0.25}}
    metrics["flows"] = [flow]
    told = " ".join(why.about(metrics, {}, 0.03))  # type: ignore[arg-type]
    assert "cubic was held by an empty send queue for 75 %" in told
    assert "its application" not in told
    note = why.window_note({"kernel": metrics})  # type: ignore[dict-item]
    assert "between two writes of a sender that always has" in note


def test_a_link_without_a_queue_waits_0_and_lines_have_no_blanks_at_their_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    way = {"rate_bps": 1e6, "packets": 10, "dropped": 0, "marked": 0}
    waits = {"mean": 2e-7, "p95": 0.0, "max": 1.14e-4}
    links = [{"name": name, "queue_delay_s": waits} for name in ("bottleneck", "up")]
    late = {"lateness_p50_s": 0.0, "lateness_p99_s": 0.0, "lateness_max_s": 0.0, "doubts": []}
    report = {
        "links": links, "down": {**way, "links": ["bottleneck"]}, "up": {**way, "links": ["up"]},
        "timeliness": late, "elapsed_s": 1.0, "most_bps": 1e9,
    }  # fmt: skip
    show(report, Console(width=80))
    shown = capsys.readouterr().out
    assert re.search(r"^up .* 0 +0 +0\.114 up$", shown, re.MULTILINE)
    assert all(line == line.rstrip() for line in shown.splitlines())
