"""The Microsoft table equals that of the slides, and each name decodes into the right scenario."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

import fullpipe
from fullpipe.study.reproduce import published

if TYPE_CHECKING:
    from fullpipe.study.reproduce.tables import Case

# The slides' rows as printed, except for whitespace.
SLIDES = """\
30s_20Mbps_20ms_400pkt_0loss_BBR2 Buf/BDP 12.00 Mbps 18 RttMs 29 LossPkt 0
30s_20Mbps_20ms_400pkt_0loss_CUBIC Buf/BDP 12.00 Mbps 18 RttMs 211 LossPkt 66
30s_40Mbps_120ms_400pkt_0loss_BBR2 Buf/BDP 1.00 Mbps 33 RttMs 124 LossPkt 204
30s_40Mbps_120ms_400pkt_0loss_CUBIC Buf/BDP 1.00 Mbps 36 RttMs 198 LossPkt 338
30s_40Mbps_40ms_200pkt_0loss_BBR2 Buf/BDP 1.50 Mbps 35 RttMs 45 LossPkt 15
30s_40Mbps_40ms_200pkt_0loss_CUBIC Buf/BDP 1.50 Mbps 37 RttMs 82 LossPkt 330
30s_40Mbps_40ms_200pkt_100loss_BBR2 Buf/BDP 1.50 Mbps 7 RttMs 40 LossPkt 271
30s_40Mbps_40ms_200pkt_100loss_CUBIC Buf/BDP 1.50 Mbps 3 RttMs 40 LossPkt 130
30s_40Mbps_4ms_200pkt_0loss_BBR2 Buf/BDP 15.00 Mbps 37 RttMs 6 LossPkt 0
30s_40Mbps_4ms_200pkt_0loss_CUBIC Buf/BDP 15.00 Mbps 37 RttMs 52 LossPkt 184
30s_40Mbps_80ms_30pkt_0loss_BBR2 Buf/BDP 0.11 Mbps 17 RttMs 80 LossPkt 419
30s_40Mbps_80ms_30pkt_0loss_CUBIC Buf/BDP 0.11 Mbps 14 RttMs 80 LossPkt 61
3MB_20Mbps_20ms_400pkt_0loss_BBR2 Buf/BDP 12.00 Mbps 17 RttMs 25 LossPkt 0
3MB_20Mbps_20ms_400pkt_0loss_CUBIC Buf/BDP 12.00 Mbps 15 RttMs 163 LossPkt 30
3MB_40Mbps_120ms_400pkt_0loss_BBR2 Buf/BDP 1.00 Mbps 17 RttMs 129 LossPkt 0
3MB_40Mbps_120ms_400pkt_0loss_CUBIC Buf/BDP 1.00 Mbps 14 RttMs 144 LossPkt 126
3MB_40Mbps_40ms_200pkt_0loss_BBR2 Buf/BDP 1.50 Mbps 19 RttMs 48 LossPkt 27
3MB_40Mbps_40ms_200pkt_0loss_CUBIC Buf/BDP 1.50 Mbps 26 RttMs 67 LossPkt 172
3MB_40Mbps_40ms_200pkt_100loss_BBR2 Buf/BDP 1.50 Mbps 11 RttMs 41 LossPkt 35
3MB_40Mbps_40ms_200pkt_100loss_CUBIC Buf/BDP 1.50 Mbps 3 RttMs 40 LossPkt 27
3MB_40Mbps_4ms_200pkt_0loss_BBR2 Buf/BDP 15.00 Mbps 37 RttMs 11 LossPkt 0
3MB_40Mbps_4ms_200pkt_0loss_CUBIC Buf/BDP 15.00 Mbps 36 RttMs 49 LossPkt 79
3MB_40Mbps_80ms_30pkt_0loss_BBR2 Buf/BDP 0.11 Mbps 11 RttMs 80 LossPkt 67
3MB_40Mbps_80ms_30pkt_0loss_CUBIC Buf/BDP 0.11 Mbps 10 RttMs 80 LossPkt 23
share_30s_20Mbps_20ms_400pkt_0loss_BBR2_BBR2 Buf/BDP 12.00 Fairness 7 Mbps1 9 Mbps2 8
share_30s_20Mbps_20ms_400pkt_0loss_BBR2_CUBIC Buf/BDP 12.00 Fairness 0 Mbps1 1 Mbps2 16
share_30s_20Mbps_20ms_400pkt_0loss_CUBIC_CUBIC Buf/BDP 12.00 Fairness 8 Mbps1 8 Mbps2 9
share_30s_40Mbps_120ms_400pkt_0loss_BBR2_BBR2 Buf/BDP 1.00 Fairness 7 Mbps1 18 Mbps2 16
share_30s_40Mbps_120ms_400pkt_0loss_BBR2_CUBIC Buf/BDP 1.00 Fairness 4 Mbps1 10 Mbps2 25
share_30s_40Mbps_120ms_400pkt_0loss_CUBIC_CUBIC Buf/BDP 1.00 Fairness 8 Mbps1 19 Mbps2 16
share_30s_40Mbps_40ms_200pkt_0loss_BBR2_BBR2 Buf/BDP 1.50 Fairness 8 Mbps1 19 Mbps2 16
share_30s_40Mbps_40ms_200pkt_0loss_BBR2_CUBIC Buf/BDP 1.50 Fairness 2 Mbps1 7 Mbps2 29
share_30s_40Mbps_40ms_200pkt_0loss_CUBIC_CUBIC Buf/BDP 1.50 Fairness 8 Mbps1 17 Mbps2 18
share_30s_40Mbps_40ms_200pkt_100loss_BBR2_BBR2 Buf/BDP 1.50 Fairness 7 Mbps1 9 Mbps2 8
share_30s_40Mbps_40ms_200pkt_100loss_BBR2_CUBIC Buf/BDP 1.50 Fairness 3 Mbps1 9 Mbps2 3
share_30s_40Mbps_40ms_200pkt_100loss_CUBIC_CUBIC Buf/BDP 1.50 Fairness 10 Mbps1 3 Mbps2 3
share_30s_40Mbps_4ms_200pkt_0loss_BBR2_BBR2 Buf/BDP 15.00 Fairness 9 Mbps1 18 Mbps2 18
share_30s_40Mbps_4ms_200pkt_0loss_BBR2_CUBIC Buf/BDP 15.00 Fairness 0 Mbps1 1 Mbps2 35
share_30s_40Mbps_4ms_200pkt_0loss_CUBIC_CUBIC Buf/BDP 15.00 Fairness 9 Mbps1 18 Mbps2 18
share_30s_40Mbps_80ms_30pkt_0loss_BBR2_BBR2 Buf/BDP 0.11 Fairness 8 Mbps1 14 Mbps2 15
share_30s_40Mbps_80ms_30pkt_0loss_BBR2_CUBIC Buf/BDP 0.11 Fairness 4 Mbps1 18 Mbps2 7
share_30s_40Mbps_80ms_30pkt_0loss_CUBIC_CUBIC Buf/BDP 0.11 Fairness 7 Mbps1 10 Mbps2 10
"""
ROWS = [line.split() for line in SLIDES.splitlines()]
TABLE = published.load(published.find("microsoft"))
CUBIC = [case for case in TABLE.cases if set(case.ccs) == {"cubic"}]
CASES = {case.name: case for case in TABLE.cases}


def _raw() -> dict[str, list[float]]:
    """Returns the values of the file's rows, by name."""
    tables = tomllib.loads(TABLE.file.read_text(encoding="utf-8"))["table"]
    return {row[0]: row[1:] for table in tables for row in table["rows"]}


def test_every_row_is_there_as_printed() -> None:
    raw = _raw()
    assert [row[0] for row in ROWS] == list(raw)
    for name, *cells in ROWS:
        assert [float(cell) for cell in cells[1::2]] == raw[name]


def test_there_are_24_and_18_rows() -> None:
    counts = [
        sum(case.table.endswith(word) for case in TABLE.cases)
        for word in ("Throughput", "Fairness")
    ]
    assert counts == [24, 18]
    assert len(CUBIC) == 12 + 6


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_cells_are_those_of_the_row(row: list[str]) -> None:
    name, _, _, *cells = row
    assert [(cell.metric.name, cell.published) for cell in CASES[name].cells] == [
        (metric, float(value)) for metric, value in zip(cells[0::2], cells[1::2], strict=True)
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_path_reproduces_buffer_over_bdp(row: list[str]) -> None:
    """The slides print two decimals, rounded down from the decoded path's value: 0.11 for 0.1125."""
    scenario = tomllib.loads(CASES[row[0]].point.setup.text)["path"]
    packets = int(scenario["buffer"].removesuffix("packets"))
    bdp_bytes = (
        int(scenario["rate"].removesuffix("mbit"))
        * 1e6
        / 8
        * int(scenario["rtt"].removesuffix("ms"))
        / 1e3
    )
    assert int(packets * 1500 / bdp_bytes * 100) / 100 == float(row[2])


@pytest.mark.parametrize(
    "case", [case for case in TABLE.cases if set(case.ccs) == {"cubic"}], ids=lambda case: case.name
)
def test_scenarios_are_valid(case: Case) -> None:
    scenario = fullpipe.load(case.point.setup.text)
    assert [cc for _, cc in scenario.flows] == list(case.ccs)
    assert scenario.is_random


def test_a_transfer_with_loss() -> None:
    scenario = tomllib.loads(CASES["3MB_40Mbps_40ms_200pkt_100loss_CUBIC"].point.setup.text)
    assert scenario["path"] == {
        "rate": "40mbit",
        "rtt": "40ms",
        "buffer": "200packets",
        "loss": "1%",
        "reverse_loss": "1%",
    }
    assert (scenario["start_jitter"], scenario["send_jitter"]) == ("40ms", "300us")
    assert [flow["bytes"] for flow in scenario["flow"]] == ["3MB"]


def test_two_flows_without_end() -> None:
    scenario = tomllib.loads(
        CASES["share_30s_20Mbps_20ms_400pkt_0loss_BBR2_CUBIC"].point.setup.text
    )
    assert scenario["duration"] == "30s"
    assert [flow["cc"] for flow in scenario["flow"]] == ["bbr2", "cubic"]
    assert not any("bytes" in flow for flow in scenario["flow"])


def _judged(name: str) -> list[str]:
    return [cell.metric.name for cell in CASES[name].cells if cell.report is None]


def test_what_is_judged() -> None:
    cubic = [case.name for case in TABLE.cases if case.flows == ("CUBIC",)]
    assert [name for name in cubic if _judged(name)] == [
        "30s_20Mbps_20ms_400pkt_0loss_CUBIC",
        "30s_40Mbps_120ms_400pkt_0loss_CUBIC",
        "30s_40Mbps_40ms_200pkt_0loss_CUBIC",
        "30s_40Mbps_40ms_200pkt_100loss_CUBIC",
        "30s_40Mbps_4ms_200pkt_0loss_CUBIC",
        "3MB_40Mbps_4ms_200pkt_0loss_CUBIC",
    ]
    assert all(_judged(name) in ([], ["Mbps", "RttMs"]) for name in cubic)
    assert all(_judged(case.name) == ["Fairness"] for case in TABLE.cases if len(case.flows) == 2)


def test_scores_may_be_off_by_one_or_two() -> None:
    wide = [
        case.name
        for case in TABLE.cases
        if len(case.flows) == 2 and case.cells[0].tolerance.absolute == 2
    ]
    assert wide == [
        "share_30s_20Mbps_20ms_400pkt_0loss_BBR2_BBR2",
        "share_30s_40Mbps_120ms_400pkt_0loss_BBR2_BBR2",
        "share_30s_40Mbps_40ms_200pkt_100loss_BBR2_BBR2",
        "share_30s_40Mbps_80ms_30pkt_0loss_CUBIC_CUBIC",
    ]


def test_between_two_algorithms_the_winner_counts() -> None:
    for case in TABLE.cases:
        mixed = len(set(case.flows)) == 2
        assert (case.cells[0].same_winner is not None) == mixed


def test_the_judged_setting_is_one_of_the_variants() -> None:
    assert TABLE.cases in [cases for _, cases in TABLE.variants]
    assert len({name for name, _ in TABLE.variants}) == 12
