"""`fullpipe link --live`: a chart on a terminal, plain lines elsewhere."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from links import LINK
from terminals import on_a_terminal

if TYPE_CHECKING:
    from links import Link

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a link needs Linux")

SENDER = "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); end = time.time() + 2.4"
FLOOD = f"{SENDER}\nwhile time.time() < end: s.sendto(bytes(1000), ('100.64.0.1', 9)); time.sleep(0.0005)"


def test_on_a_terminal_it_is_a_chart_of_the_direction_of_data(link: Link) -> None:
    words = ("--rate", "2mbit", "--rtt", "20ms", "--buffer", "50packets", "--live", "--upload")
    lines = on_a_terminal(80, *LINK, *words, "--", sys.executable, "-c", FLOOD)
    headers = [line for line in lines if line.startswith("   s")]
    assert headers
    assert headers[-1].split()[:2] == ["s", "up"]
    assert re.search(r" 0 +2 Mbit/s ", headers[-1])
    seconds = [line for line in lines if re.match(r" +[12] .*bit/s .*█", line)]
    assert [line.split()[0] for line in seconds] == ["1", "2"]
    # The rate is that of the link, and fills its scale.
    assert seconds[1].count("█") >= 17
    assert all(len(line) <= 79 for line in [*headers, *seconds]), lines


def test_a_narrow_terminal_has_plain_lines(link: Link) -> None:
    lines = on_a_terminal(70, *LINK, "--live", "--", "sleep", "1.5")
    header = next(line for line in lines if line.startswith("   s"))
    assert header.split() == ["s", *["down", "ms", "pkts", "drop"], *["up", "ms", "pkts", "drop"]]
    assert not any("█" in line for line in lines)
