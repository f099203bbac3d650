"""The table of L4S Tests equals the published one, and each name decodes into the right scenario."""

from __future__ import annotations

import tomllib

import pytest

from fullpipe.study.reproduce import published

TABLE = published.load(published.find("l4s-tests"))


def test_the_rates_give_the_index_that_is_printed_beside_them() -> None:
    assert len(TABLE.cases) == 48
    for case in TABLE.cases:
        cells = {
            cell.metric.name: cell.published for cell in case.cells if cell.published is not None
        }
        one, two = cells["Mbps1"], cells["Mbps2"]
        assert (one + two) ** 2 / 2 / (one**2 + two**2) == pytest.approx(
            cells["Jain"], abs=0.001
        ), case.name


def test_a_name_becomes_two_flows_with_their_rtts() -> None:
    (case,) = TABLE.only(["10Mbit cubic(80ms) prague(20ms)"]).cases
    scenario = tomllib.loads(case.point.setup.text)
    assert scenario["path"] == {
        "rate": "10mbit",
        "rtt": "10ms",
        "queue": {"kind": "dualpi2", "min_qlen_step": 2},
    }
    assert [(flow["cc"], flow["rtt"]) for flow in scenario["flow"]] == [
        ("cubic", "+70ms"),
        ("prague", "+10ms"),
    ]
    assert scenario["flow"][1]["params"] == {"rtt_scaling": "none"}
