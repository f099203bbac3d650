"""A malformed table is refused; the error names file, key, value and fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fullpipe.study.reproduce import published
from fullpipe.study.verdicts.judged import Tolerance
from fullpipe.study.verdicts.reader import PublishedError

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
name = "small"
title = "A small table"
source = "none"
seeds = 2
[decoding]
pattern = '(?P<rate>[0-9]+)mbit_(?P<loss>[0-9]+)_(?P<first>[a-z]+)'
flows = ["first"]
[decoding.check]
column = "bdp"
packets = 100
packet_bytes = 1500
rate_mbps = "{rate}"
rtt_ms = 20
[decoding.parts.loss]
"0" = { loss = "0%" }
"1" = { loss = "1%", bytes = "1MB" }
[scenario]
duration = "2s"
send_jitter = "1ms"
[scenario.path]
rate = "{rate}mbit"
rtt = "20ms"
buffer = "100packets"
loss = "{loss}"
[scenario.flow]
bytes = "{bytes}"
[algorithms.reno]
cc = "newreno"
[algorithms.other]
cc = "not-built"
[metrics.rate]
measure = "goodput_mbps"
tolerance = { relative = 0.5 }
[metrics.rtt]
measure = "rtt_mean_ms"
tolerance = { factor = 3 }
report = "a guess"
[[exception]]
cases = ["*_other"]
metrics = ["rtt"]
tolerance = { absolute = 1 }
[[table]]
title = "T"
columns = ["case", "bdp", "rate", "rtt"]
rows = [
  ["10mbit_0_reno", 6.0, 10, 60],
  ["10mbit_1_other", 6.0, 9, 50],
]
"""


def _load(tmp_path: Path, text: str) -> published.Published:
    file = tmp_path / "small.toml"
    file.write_text(text, encoding="utf-8")
    return published.load(file)


def test_another_table_costs_one_file(tmp_path: Path) -> None:
    table = _load(tmp_path, GOOD)
    first, second = table.cases
    assert (table.name, first.point.seeds, first.ccs, second.ccs) == (
        "small",
        2,
        ("newreno",),
        ("not-built",),
    )
    assert 'bytes = "1MB"' in second.point.setup.text
    assert "bytes" not in first.point.setup.text
    assert [cell.report for cell in first.cells] == [None, "a guess"]
    assert [cell.report for cell in second.cells] == [None, None]
    assert second.cells[1].tolerance == Tolerance(absolute=1)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "small"\n', "", ["name: is missing", 'fix: write name = "…"']),
        (
            'title = "A small table"',
            "titel = 1",
            ["titel: unknown key", "fix: use one of name, title"],
        ),
        ("seeds = 2", 'seeds = "two"', ['seeds = "two"', "whole number of 1 or more"]),
        ("seeds = 2", "seeds = 0", ["seeds = 0"]),
        (
            "(?P<rate>[0-9]+)",
            "(?P<rate>[0-9]+",
            ["decoding.pattern", "fix: write a regular expression"],
        ),
        (
            'flows = ["first"]',
            'flows = ["second"]',
            ['decoding.flows[0] = "second"', "rate, loss, first"],
        ),
        (
            "[decoding.parts.loss]",
            "[decoding.parts.los]",
            ["decoding.parts.los: is not a group of decoding.pattern"],
        ),
        (
            '"1" = {',
            '"2" = {',
            ['table[0].rows[1] = "10mbit_1_other"', 'fix: add "1" to [decoding.parts.loss]'],
        ),
        (
            '"{rate}mbit"',
            '"{speed}mbit"',
            [
                'scenario.path.rate = "{speed}mbit"',
                "{speed} is not a known part",
                "fix: use one of",
            ],
        ),
        (
            "[algorithms.other]",
            "[algorithms.others]",
            ["unknown algorithm other", "fix: add [algorithms.other]"],
        ),
        ('cc = "newreno"', "", ["algorithms.reno.cc: is missing"]),
        (
            '"goodput_mbps"',
            '"goodput"',
            ['metrics.rate.measure = "goodput"', "fix: use one of goodput_mbps"],
        ),
        (
            "{ relative = 0.5 }",
            "{ relative = -1 }",
            ["metrics.rate.tolerance.relative = -1", "a number of 0 or more"],
        ),
        (
            "{ relative = 0.5 }",
            "{ zero = 1 }",
            ["metrics.rate.tolerance", "fix: give absolute, relative or both"],
        ),
        (
            "{ factor = 3 }",
            "{ factor = 0.5 }",
            ["metrics.rtt.tolerance.factor = 0.5", "must be 1 or more"],
        ),
        (
            "{ factor = 3 }",
            "{ faktor = 3 }",
            ["metrics.rtt.tolerance.faktor: unknown key"],
        ),
        (
            "{ factor = 3 }\n",
            "{ factor = 3 }\nflow = 2\n",
            ["metrics.rtt.flow = 2", "has no such flow"],
        ),
        ('cases = ["*_other"]', 'cases = ["*_nobody"]', ["exception[0].cases", "matches no cell"]),
        (
            "tolerance = { absolute = 1 }",
            "",
            ["exception[0]: must have exactly one of report, tolerance and note"],
        ),
        (
            '"rate", "rtt"]',
            '"rate", "rtts"]',
            ['table[0].columns = "rtts"', "add [metrics.…] for a new column"],
        ),
        (
            ", 10, 60]",
            ", 10]",
            ["table[0].rows[0]", "does not have 4 columns", "fix: write case, bdp, rate, rtt"],
        ),
        (", 10, 60]", ', "10", 60]', ["table[0].rows[0] 10mbit_0_reno rate", "without quotes"]),
        (", 10, 60]", ", nan, 60]", ["table[0].rows[0] 10mbit_0_reno rate"]),
        ("10mbit_0_reno", "10mbit-0-reno", ["does not match decoding.pattern"]),
        ("10mbit_1_other", "10mbit_0_reno", ["table[0].rows[1]", "occurs twice"]),
        (
            '"10mbit_0_reno", 6.0',
            '"10mbit_0_reno", 6.02',
            ["10mbit_0_reno bdp = 6.02", "the name gives 6"],
        ),
        ("seeds = 2", "seeds = ", ["Invalid value", "fix: write valid TOML"]),
    ],
)
def test_a_malformed_table_is_refused(tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    assert old in GOOD
    with pytest.raises(PublishedError) as caught:
        _load(tmp_path, GOOD.replace(old, new, 1))
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'small.toml'}: ")
    assert "\n  fix: " in message
    for word in words:
        assert word in message


def test_a_note_changes_nothing_else(tmp_path: Path) -> None:
    note = '[[exception]]\ncases = ["*"]\nmetrics = ["rate", "rtt"]\nnote = "who knows"\n'
    with_note, without = (
        _load(tmp_path, text).cases
        for text in (GOOD.replace("[[table]]", note + "[[table]]"), GOOD)
    )
    for case, other in zip(with_note, without, strict=True):
        assert {cell.note for cell in case.cells} == {"who knows"}
        assert [cell.tolerance for cell in case.cells] == [cell.tolerance for cell in other.cells]
        assert [cell.report for cell in case.cells] == [cell.report for cell in other.cells]


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_bytes(b"name = '\xff'")
    with pytest.raises(
        PublishedError, match=r"not a text file in UTF-8.*\n  fix: save it as UTF-8"
    ):
        published.load(file)


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(PublishedError, match=r"no published table is called 'micro'.*microsoft"):
        published.find("micro")


@pytest.mark.parametrize(
    ("tolerance", "value", "interval"),
    [
        (Tolerance(absolute=2, relative=0.12), 3, (1, 5)),
        (Tolerance(absolute=2, relative=0.12), 50, (44, 56)),
        (Tolerance(absolute=3), 0, (-3, 3)),
        (Tolerance(factor=2.5, zero=5), 100, (40, 250)),
        (Tolerance(factor=2.5, zero=5), 0, (0, 5)),
    ],
)
def test_tolerances(tolerance: Tolerance, value: float, interval: tuple[float, float]) -> None:
    assert tolerance.interval(value) == pytest.approx(interval)
