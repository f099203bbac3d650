"""Numbers in the format of tables."""

from __future__ import annotations

import pytest

from fullpipe import load
from fullpipe.results import suited_interval
from fullpipe.runs.view.run import _lines
from fullpipe.runs.view.table import digits, flow_name, percent, rate_unit


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0"),
        (0.1234, "0.123"),
        (1.234, "1.23"),
        (123.45, "123.5"),
        (12345.6, "12346"),
    ],
)
def test_threedigits_count(value: float | None, text: str) -> None:
    assert digits(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0"), (0.000123, "0.012"), (0.0123, "1.2"), (1, "100.0")]
)
def test_small_shares_keep_theirdigits(share: float, text: str) -> None:
    assert percent(share) == text


def test_a_column_of_rates_has_the_unit_of_its_largest() -> None:
    assert rate_unit([5e3, 2e6]) == ("Mbit/s", 1e6)
    assert rate_unit([]) == ("bit/s", 1.0)


@pytest.mark.parametrize(
    ("duration", "flows", "interval"),
    [
        ("60s", 1, "10000us"),
        ("1s", 1, "200us"),
        ("400s", 2, "100000us"),
        ("60s", 10_000, "200000us"),
    ],
)
def test_a_trace_is_as_fine_as_its_size_allows(duration: str, flows: int, interval: str) -> None:
    text = f"""
        duration = "{duration}"
        [path]
        rate = "1gbit"
        rtt = "20ms"
        buffer = "1bdp"
        [[flow]]
        cc = "cubic"
        count = {flows}
    """
    assert suited_interval(load(text)) == interval


@pytest.mark.parametrize(
    ("name", "cc", "shown"),
    [
        ("cubic", "cubic", "cubic"),
        ("web", "bbr3", "web (bbr3)"),
        ("quinn", "program:quinn", "program:quinn"),
        ("iperf3-bbr", "program:iperf3:bbr", "iperf3-bbr"),
        ("iperf3-bbr-2", "program:iperf3:bbr", "iperf3-bbr-2"),
        ("mine", "program:iperf3:bbr", "mine (program:iperf3:bbr)"),
    ],
)
def test_the_name_of_a_flow_has_its_algorithm_once(name: str, cc: str, shown: str) -> None:
    assert flow_name(name, cc) == shown


def test_facts_do_not_break_within_themselves() -> None:
    facts = ["on uml-emulator", "seed 1", "Jain 0.904", "11,419 packets in 12.71 s", "trace cf"]
    assert _lines(facts, 80) == [" · ".join(facts)]
    assert _lines(facts, 70) == [" · ".join(facts[:4]), "trace cf"]
    assert _lines(facts, 5) == facts
