"""Captures: connections of the same ports, and times in nanoseconds since 1970."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

import served
from test_trace_import import _imported, _tcp

if TYPE_CHECKING:
    from pathlib import Path

Packets = list[tuple[int, bytes]]
SECOND = 10**9
DATE = 1_795_000_000 * SECOND + 123_456_789


def _nanoseconds(packets: Packets) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 101)
    return head + b"".join(
        struct.pack("<IIII", *divmod(time, SECOND), len(data), len(data)) + data
        for time, data in packets
    )


def _transfer(
    at: int, first: int, *, segments: int = 20, rtt: int = 20_000_000, handshake: bool = True
) -> Packets:
    """Returns the packets of a server with a segment of 1 kB each RTT, at the server; `first` is its SYN's number."""
    packets: Packets = []
    if handshake:
        packets.append((at - rtt, _tcp(down=False, seq=7 * first, ack=0, size=0, flags=2)))
        packets.append((at - rtt, _tcp(down=True, seq=first, ack=7 * first + 1, size=0, flags=18)))
        packets.append((at, _tcp(down=False, seq=7 * first + 1, ack=first + 1, size=0)))
    for number in range(segments):
        edge, now = first + 1 + 1000 * number, at + number * rtt
        packets.append((now, _tcp(down=True, seq=edge, ack=7 * first + 1, size=1000)))
        packets.append((now + rtt, _tcp(down=False, seq=7 * first + 1, ack=edge + 1000, size=0)))
    return packets


def test_connections_of_the_same_ports_are_flows_of_their_own(tmp_path: Path) -> None:
    packets = [
        packet
        for at, first in ((0, 1000), (30, 400_000), (60, 90_000))
        for packet in _transfer(DATE + at * SECOND, first)
    ]
    packets.insert(3, packets[1])  # a SYN-ACK that was sent twice begins none
    (tmp_path / "a").write_bytes(_nanoseconds(packets))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    flows = metrics["flows"]
    name = "TCP 10.0.0.1:80 → 10.0.0.2:4000"
    assert [flow["name"] for flow in flows] == [name, f"{name} 2", f"{name} 3"]
    for flow in flows:
        assert flow["goodput_bps"] == pytest.approx(8 * 20_000 / 0.4, rel=0.01)
        assert (flow["sent"], flow["retransmits"]) == (20, 0)
        assert flow["rtt_s"]["max"] == pytest.approx(0.02)


@pytest.mark.parametrize("seen", ["syn", "syn-ack"])
def test_one_packet_of_the_handshake_tells_a_new_connection(tmp_path: Path, seen: str) -> None:
    begin, again = _transfer(DATE, 1000), _transfer(DATE + 30 * SECOND, 400_000)
    del again[0 if seen == "syn-ack" else 1]
    (tmp_path / "a").write_bytes(_nanoseconds(begin + again))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    assert [flow["goodput_bps"] for flow in metrics["flows"]] == [pytest.approx(4e5, rel=0.06)] * 2


def test_a_judged_flow_is_one_connection(tmp_path: Path) -> None:
    packets = _transfer(DATE, 1000, segments=100) + _transfer(DATE + 30 * SECOND, 400_000)
    (tmp_path / "a").write_bytes(_nanoseconds(packets))
    path = ["--rate", "10mbit", "--rtt", "20ms", "--seeds", "0"]
    done = served.command("trace", "judge", tmp_path / "a", "--as", "cubic", *path)
    assert "; 2.1s, measured" in done.stdout, done.stdout


@pytest.mark.parametrize("date", [0, DATE])
def test_rtts_of_nanoseconds_do_not_depend_on_the_date(tmp_path: Path, date: int) -> None:
    packets = _transfer(date + SECOND, 1000, rtt=500)
    (tmp_path / "a").write_bytes(_nanoseconds(packets))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert flow["rtt_s"]["min"] == pytest.approx(500e-9, rel=1e-6)
    assert flow["rtt_s"]["max"] == pytest.approx(500e-9, rel=1e-6)


def test_times_of_ss_have_their_nanoseconds(tmp_path: Path) -> None:
    text = "".join(
        f"1795000000.{at * 100:09}\nESTAB 0 0 10.0.0.1:80 10.0.0.2:4000\n\t cubic mss:1448 cwnd:10\n"
        for at in range(4)
    )
    (tmp_path / "a").write_text(text)
    trace, _ = _imported(tmp_path, tmp_path / "a")
    assert trace["time"].to_list() == pytest.approx([0, 100e-9, 200e-9, 300e-9], rel=1e-9)
