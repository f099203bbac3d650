"""Captures: headers in front of IP, and blocks of pcapng, by `trace import` and by `workload extract`."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

import served
from test_capture_connections import DATE, SECOND, Packets, _transfer
from test_trace_import import _imported

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

IP = b"\x08\x00"
TAG = b"\x81\x00\x00\x05"
PPPOE = b"\x88\x64\x11\x00\x00\x01\x00\x00\x00\x21"
COOKED = bytes(14)
LINKS = {
    "ethernet": (1, bytes(12) + IP),
    "vlan": (1, bytes(12) + TAG + IP),
    "qinq": (1, bytes(12) + b"\x88\xa8\x00\x07" + TAG + IP),
    "qinq-9100": (1, bytes(12) + b"\x91\x00\x00\x07" + TAG + IP),
    "pppoe": (1, bytes(12) + PPPOE),
    "pppoe-vlan": (1, bytes(12) + TAG + PPPOE),
    "cooked": (113, COOKED + IP),
    "cooked-vlan": (113, COOKED + TAG + IP),
    "cooked-pppoe": (113, COOKED + PPPOE),
    "cooked2": (276, IP + bytes(18)),
    "cooked2-vlan": (276, b"\x81\x00" + bytes(18) + b"\x00\x05" + IP),
    "cooked2-pppoe": (276, b"\x88\x64" + bytes(18) + PPPOE[2:]),
    "null": (0, b"\x02\0\0\0"),
    "loop": (108, b"\0\0\0\x02"),
    "raw-12": (12, b""),
    "raw-14": (14, b""),
    "raw": (101, b""),
    "raw-v4": (228, b""),
}


def _pcap(link: int, head: bytes, packets: Packets) -> bytes:
    whole = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, link)
    for time, data in packets:
        size = len(head + data)
        whole += struct.pack("<IIII", *divmod(time, SECOND), size, size) + head + data
    return whole


def _extracted(tmp_path: Path, file: Path) -> str:
    done = served.command("workload", "extract", file, "--out", tmp_path / "flows.parquet")
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", LINKS)
def test_headers_in_front_of_ip_are_passed_over(tmp_path: Path, name: str) -> None:
    (tmp_path / "a").write_bytes(_pcap(*LINKS[name], _transfer(DATE, 1000)))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert flow["sent"] == 20
    assert flow["goodput_bps"] == pytest.approx(4e5)
    assert "1 flow, 0 without payload; 20.00 kB" in _extracted(tmp_path, tmp_path / "a")


def _snapped(packets: Packets) -> bytes:
    """Cuts each packet after 14 bytes of TCP's header."""
    whole = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 34, 101)
    for time, data in packets:
        whole += struct.pack("<IIII", *divmod(time, SECOND), 34, len(data)) + data[:34]
    return whole


def _longer(packets: Packets) -> bytes:
    """Writes records as some old systems did, with eight bytes more."""
    whole = struct.pack("<IHHiIII", 0xA1B2CD34, 2, 4, 0, 0, 65_535, 101)
    for time, data in packets:
        second, rest = divmod(time, SECOND)
        record = struct.pack("<IIIIIHBB", second, rest // 1000, len(data), len(data), 0, 0, 0, 0)
        whole += record + data
    return whole


def _fragmented(packets: Packets) -> bytes:
    """Splits each packet with data into two fragments, the second from byte 504 of TCP's segment on."""
    split: Packets = []
    for time, data in packets:
        if len(data) < 1000:
            split.append((time, data))
            continue
        for place, part in ((0x2000, data[20:524]), (504 // 8, data[524:])):
            fields = struct.pack(">HHH", 20 + len(part), time % 65_521, place)
            split.append((time, data[:2] + fields + data[8:20] + part))
    return _pcap(101, b"", split)


@pytest.mark.parametrize(
    ("made", "warned"),
    [
        (_snapped, ""),
        (_longer, ""),
        (lambda packets: _pcap(101, b"", packets[:20]) + _pcap(101, b"", packets[20:]), ""),
        (
            lambda packets: _pcap(101, b"", packets[:20]) + b"\xff" * 99 + _pcap(101, b"", packets[20:]),
            "99 bytes in one place",
        ),
        (lambda packets: _pcap(101, b"", packets)[:-7] + b"", "it ends within a packet"),
    ],
    ids=["snapped", "longer-records", "joined", "damaged", "cut"],
)  # fmt: skip
def test_captures_are_read_alike(
    tmp_path: Path, made: Callable[[Packets], bytes], warned: str
) -> None:
    (tmp_path / "a").write_bytes(made(_transfer(DATE, 1000)))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert flow["sent"] == 20
    assert flow["goodput_bps"] == pytest.approx(4e5, rel=0.06)
    said = _extracted(tmp_path, tmp_path / "a")
    assert "1 flow, 0 without payload; 20.00 kB" in said
    assert warned in " ".join(metrics["warnings"]) and warned in said
    assert bool(metrics["warnings"]) == bool(warned)


def test_fragments_are_parts_of_their_segments(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(_fragmented(_transfer(DATE, 1000)))
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert flow["goodput_bps"] == pytest.approx(4e5)
    assert (flow["retransmits"], flow["rtt_s"]["max"]) == (0, pytest.approx(0.02))
    assert trace["delivered"].to_list()[-1] == 20_000
    assert "1 flow, 0 without payload; 20.00 kB" in _extracted(tmp_path, tmp_path / "a")


@pytest.mark.parametrize(
    ("link", "head", "said"),
    [
        (1, bytes(12) + b"\x88\x47\0\0\x01\0", "63 of EtherType 0x8847 are not understood"),
        (276, b"\x89\x15" + bytes(18), "63 of EtherType 0x8915 are not understood"),
        (1, bytes(12) + PPPOE[:8] + b"\xc0\x21", "63 of PPP protocol 0xc021 are not understood"),
        (105, bytes(24), "packets of link type 105, which is not supported"),
    ],
)
def test_packets_that_are_not_understood_are_named(
    tmp_path: Path, link: int, head: bytes, said: str
) -> None:
    (tmp_path / "a").write_bytes(_pcap(link, head, _transfer(DATE, 1000, segments=30)))
    done = served.command("trace", "import", tmp_path / "a", "--out", tmp_path / "none")
    assert (done.returncode, said in done.stderr, "fix: " in done.stderr) == (2, True, True)


def _block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def _pcapng(block: Callable[[int, bytes], bytes], packets: Packets, between: bytes = b"") -> bytes:
    section = _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    resolution = struct.pack("<HHBxxxHH", 9, 1, 9, 0, 0)
    interface = _block(1, struct.pack("<HHI", 101, 0, 0) + resolution)
    return section + interface + between + b"".join(block(*packet) for packet in packets)


def _enhanced(time: int, data: bytes) -> bytes:
    head = struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(data), len(data))
    return _block(6, head + data)


def _old(time: int, data: bytes) -> bytes:
    head = struct.pack("<HHIIII", 0, 3, time >> 32, time & 0xFFFFFFFF, len(data), len(data))
    return _block(2, head + data)


def _simple(_: int, data: bytes) -> bytes:
    return _block(3, struct.pack("<I", len(data)) + data)


@pytest.mark.parametrize("size", [0, 300_000, 5_000_000])
@pytest.mark.parametrize("kind", [10, 0x80000BAD, 4])
@pytest.mark.parametrize("block", [_enhanced, _old])
def test_blocks_of_other_kinds_may_be_long(
    tmp_path: Path, size: int, kind: int, block: Callable[[int, bytes], bytes]
) -> None:
    other = _block(kind, bytes(size)) if size else b""
    (tmp_path / "a").write_bytes(_pcapng(block, _transfer(DATE, 1000), other))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert flow["goodput_bps"] == pytest.approx(4e5)
    assert flow["rtt_s"]["max"] == pytest.approx(0.02)


def test_packets_without_a_time_have_no_rates(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(_pcapng(_simple, _transfer(DATE, 1000)))
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert (flow["sent"], flow["goodput_bps"], flow["rtt_s"]["max"]) == (20, None, None)
    assert trace["delivered"].to_list() == [20_000]
    assert "packets have no time" in metrics["warnings"][0]
