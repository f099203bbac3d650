"""Applications as the senders of a whole run see them."""

from __future__ import annotations

import numpy as np
import pytest

import fullpipe


@pytest.mark.parametrize("cc", ["cubic", "newreno", "bbr3"])
@pytest.mark.parametrize("stack", ["rfc", "linux"])
@pytest.mark.parametrize("rate", [1, 5, 20])
def test_an_application_goes_on_at_its_rate_after_an_unlimited_time(
    cc: str, stack: str, rate: int
) -> None:
    """Data in the send buffer at the change is written already, and doesn't count against the rate."""
    scenario = f"""
        duration = "7s"
        stack = "{stack}"
        [path]
        rate = "100mbit"
        rtt = "50ms"
        buffer = "2bdp"
        [[flow]]
        cc = "{cc}"
        app_schedule = "3s {rate}mbit"
    """
    flows = fullpipe.run(scenario, trace="10ms").trace("flows")
    time, delivered = (flows[name].to_numpy() for name in ("time", "delivered"))
    steps = np.arange(3.5, 6.9, 0.1)
    rates = np.diff(np.interp(steps, time, delivered)) * 8 / 0.1 / 1e6
    assert rates == pytest.approx(rate, rel=0.35)  # of a window or two of 12 kbit
    assert rates.mean() == pytest.approx(rate, rel=0.02)
