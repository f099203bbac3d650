"""The kernel's figures: every oracle scenario has a row, and states are measured as for the kernel."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fullpipe
from depth import DEEP
from fullpipe.study.reproduce import published
from fullpipe.study.reproduce.measures import MEASURES
from fullpipe.study.reproduce.pictures.draw import draw
from fullpipe.study.verdicts.reader import PublishedError

if TYPE_CHECKING:
    from conftest import Fullpipe

ROOT = Path(__file__).parents[3]
FILE = ROOT / "published/kernel-2026.toml"


def test_every_scenario_of_the_oracle_is_compared() -> None:
    kernel = published.load(FILE)
    rows = {case.name.partition(" ")[0] for case in kernel.cases}
    assert {file.stem for file in (ROOT / "scenarios/oracle").glob("*.toml")} == rows
    assert not any(cell.report for case in kernel.cases for cell in case.cells), (
        "every cell is judged"
    )


def test_states_are_counted_over_the_whole_run() -> None:
    run = fullpipe.run(ROOT / "scenarios/oracle/b_bbr3.toml", duration="12s", trace="1s")
    entered = [
        row["time"] for row in run.trace("transitions").to_dicts() if row["to"] == "probe_rtt"
    ]
    assert MEASURES["probe_rtts"](run, 0) == len(entered) == 2
    assert MEASURES["probe_rtt_first_s"](run, 0) == entered[0]
    assert MEASURES["probe_rtt_last_s"](run, 0) == entered[1]
    assert 0.7 < MEASURES["up_interval_s"](run, 0) < 1.4, "the kernel's is 1.15 s"


def test_stays_are_as_long_as_the_kernels_without_sch_fq() -> None:
    run = fullpipe.run(ROOT / "scenarios/oracle/b_bbr3_nofq.toml", duration="12s", trace="1s")
    kernel = {
        "startup_end_ms": 234,
        "drain_ms": 35,
        "longest_up_ms": 82,
        "longest_down_ms": 196,
        "cruise_ms": 593,
        "refill_ms": 22,
        "probe_rtt_ms": 214,
    }
    for measure, theirs in kernel.items():
        assert MEASURES[measure](run, 0) == pytest.approx(theirs, rel=0.05), measure


def test_what_never_happened_has_no_time() -> None:
    run = fullpipe.run(ROOT / "scenarios/oracle/b_bbr3.toml", duration="3s", trace="1s")
    assert MEASURES["probe_rtts"](run, 0) == 0
    assert math.isnan(MEASURES["probe_rtt_first_s"](run, 0))
    assert math.isnan(MEASURES["probe_rtt_last_s"](run, 0))


def test_a_run_is_drawn_over_the_sources_series() -> None:
    for picture in published.load(FILE).pictures:
        panels = draw(picture, {}).axes
        assert [line.get_label() for line in panels[0].get_lines()] == [
            "kernel",
            "fullpipe, seed 1",
        ]
        # States are drawn if the source has them.
        assert len(panels) == (3 if picture.case == "a_bbr3" else 2)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'series = "kernel-2026/a_bbr3.csv.gz"',
            "",
            ["picture[0].series", "give over_series the source's file"],
        ),
        (
            "kernel-2026/a_bbr3.csv.gz",
            "kernel-2026/b_bbr3.csv.gz",
            ["picture[0].series", "does not exist", "fix: name"],
        ),
    ],
)
def test_a_picture_without_its_series_is_refused(
    tmp_path: Path, old: str, new: str, words: list[str]
) -> None:
    text = (
        FILE.read_text(encoding="utf-8")
        .replace("../scenarios", str(ROOT / "scenarios"))
        .replace(old, new)
    )
    (tmp_path / "kernel.toml").write_text(text, encoding="utf-8")
    with pytest.raises(PublishedError) as refused:
        published.load(tmp_path / "kernel.toml")
    assert all(word in str(refused.value) for word in words)


def test_what_the_pages_quote_is_what_the_command_gives(fullpipe: Fullpipe, tmp_path: Path) -> None:
    """A release runs the command; a change compares the pages with each other, and the parts with their sum."""
    pages = [
        ROOT / name for name in ("README.md", "docs/evidence/index.md", "docs/evidence/kernel.md")
    ]
    cells = sum(len(case.cells) for case in published.load(FILE).cases)
    texts = [page.read_text(encoding="utf-8") for page in pages]
    totals = {re.findall(rf"(\d+) of {cells}\b", text)[0] for text in texts[1:]}
    assert len(totals) == 1, "each page has the same"
    paced, default = re.findall(
        r"; (\d+ of \d+) with fq at the sender, (\d+ of \d+) without", texts[1]
    )[0]
    for text in texts:
        assert paced in text
        assert default in text
    parts = [[int(each) for each in part.split(" of ")] for part in (paced, default)]
    assert [sum(each) for each in zip(*parts, strict=True)] == [int(*totals), cells]
    for page in pages[2:]:
        rows = re.findall(
            r"^\|[^|]+\| (\d+) of (\d+) \|", page.read_text(encoding="utf-8"), re.MULTILINE
        )
        assert sum(int(met) for met, _ in rows) == int(*totals)
        assert sum(int(of) for _, of in rows) == cells
    if not DEEP:
        return
    made = fullpipe("reproduce", "kernel", "--json", "--out", str(tmp_path / "out"))
    verdicts = Counter(cell["verdict"] for cell in json.loads(made.stdout))
    assert (verdicts["met"], verdicts.total()) == (int(*totals), cells)
