"""Numbers in the format of tables."""

from __future__ import annotations

import pytest

from fullpipe import load
from fullpipe.results import suited_interval
from fullpipe.view.table import digits, percent, rate_unit


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
