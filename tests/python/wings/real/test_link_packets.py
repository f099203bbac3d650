"""`fullpipe link`: what the kernel hands over as a super-packet is packets on the path."""

from __future__ import annotations

import json
import os
import struct
import sys
from typing import TYPE_CHECKING

from links import captured

if TYPE_CHECKING:
    from pathlib import Path

    from links import Link

SENDS = """
import pathlib, socket, sys
data = pathlib.Path(sys.argv[1]).read_bytes()
with socket.create_server(("0.0.0.0", 7000)) as server:
    taker, _ = server.accept()
    with taker:
        taker.sendall(data)
    taker, _ = server.accept()
    _, address = taker.recv(1), taker.getpeername()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.setsockopt(socket.IPPROTO_UDP, 103, 1000)  # UDP_SEGMENT
        datagrams.sendto(data[:20_500], (address[0], 7001))
        datagrams.setsockopt(socket.IPPROTO_UDP, 103, 0)
        datagrams.sendto(data[:3_001], (address[0], 7001))
        datagrams.sendto(data[:77], (address[0], 7001))
    taker.recv(1)
"""
TAKES = """
import hashlib, pathlib, socket, sys
of = pathlib.Path(sys.argv[1]).read_bytes()
with socket.create_connection(("100.64.0.1", 7000)) as sender:
    got = b"".join(iter(lambda: sender.recv(1 << 16), b""))
assert got == of, (len(got), len(of))
with (
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    socket.create_connection(("100.64.0.1", 7000)) as sender,
):
    datagrams.bind(("0.0.0.0", 7001))
    datagrams.settimeout(10)
    sender.sendall(b"a")
    got = [datagrams.recv(4000) for _ in range(23)]
assert list(map(len, got)) == [1000] * 20 + [500, 3001, 77]
assert b"".join(got[:21]) == of[:20_500]
assert (got[21], got[22]) == (of[:3_001], of[:77])
"""


def _sum(data: bytes) -> int:
    """The sum of RFC 1071; 0xFFFF if a checksum in the data is right."""
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def test_super_packets_of_the_kernel_are_packets_on_the_path(link: Link, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(os.urandom(3_000_000))
    (tmp_path / "sends.py").write_text(SENDS)
    (tmp_path / "takes.py").write_text(TAKES)
    kept = tmp_path / "kept"
    server = f"--server={sys.executable} {tmp_path / 'sends.py'} {tmp_path / 'data'}"
    client = [sys.executable, str(tmp_path / "takes.py"), str(tmp_path / "data")]
    options = ["--rate=100mbit", "--rtt=10ms", "--buffer=200packets", f"--out={kept}"]
    done = link(*options, server, "--", *client)
    assert done.returncode == 0, done.stderr
    assert json.loads((kept / "link.json").read_text())["timeliness"]["ignored"] < 20
    for end in ("near", "far"):
        packets = [packet for _, packet in captured(kept / f"{end}.pcapng")]
        assert max(map(len, packets)) == 1500
        for packet in packets:
            assert len(packet) == int.from_bytes(packet[2:4])
            assert _sum(packet[:20]) == 0xFFFF
            (protocol, fragment) = packet[9], int.from_bytes(packet[6:8]) & 0x3FFF
            if protocol in (6, 17) and not fragment:
                length = (len(packet) - 20).to_bytes(2)
                pseudo = packet[12:20] + bytes([0, protocol]) + length
                assert _sum(pseudo + packet[20:]) == 0xFFFF
        sizes = [len(packet) for packet in packets if packet[9] == 17 and packet[6] & 0x3F == 0]
        assert sizes.count(1028) == 20 and 528 in sizes
