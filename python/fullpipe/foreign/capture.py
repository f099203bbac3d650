"""Packets of a capture (pcap or pcapng), as far as flows need them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from fullpipe.foreign.flow import ForeignError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 1 << 18
"""The largest packet that captures have, bytes; libpcap's MAXIMUM_SNAPLEN."""
_ETHERNET, _NULL, _SLL, _SLL2 = 1, 0, 113, 276
_EXTENSIONS = {0, 43, 60}
"""Headers of IPv6 before that of TCP or UDP: hop-by-hop options, routing, destination options."""
_RAW = {12, 101, 228, 229}
_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
PCAPNG = b"\x0a\x0d\x0d\x0a"
MAGICS = (*_PCAP, PCAPNG)


@dataclass(slots=True)
class Segment:
    """A TCP segment or a UDP datagram: `time` in seconds from the beginning, `size` of its payload in bytes."""

    time: float
    source: tuple[bytes, int]
    target: tuple[bytes, int]
    size: int
    tcp: bool
    seq: int = 0
    ack: int = 0
    flags: int = 0
    window: int = 0
    scale: int | None = None
    stamp: int | None = None
    echo: int | None = None
    sacks: tuple[tuple[int, int], ...] = ()
    head: bytes = b""
    """The first bytes of a datagram's payload, up to 5."""


def segments(file: BinaryIO, name: str, began: int | None = None) -> Iterator[Segment]:
    """Yields the segments and datagrams of a capture; stops where it is cut off.

    Args:
        file: The capture, at its begin.
        name: The name of the file, for errors.
        began: The time of zero in nanoseconds since 1970; by default that of the first segment. As seconds since 1970,
            a float is a multiple of 238 ns.

    Raises:
        ForeignError: When it is no capture, or a length in it is absurd.
    """
    magic = file.read(4)
    if magic in _PCAP:
        packets = _pcap(file, *_PCAP[magic], name)
    elif magic == PCAPNG:
        packets = _pcapng(file, name)
    else:
        raise ForeignError(f"{name}: not a capture")
    for time, kind, data, long in packets:
        if found := _packet(kind, data, long):
            began = time if began is None else began
            found.time = (time - began) / 1e9
            yield found


def _damaged(name: str, what: str) -> ForeignError:
    return ForeignError(
        f"{name}: damaged: {what}\n  fix: capture it again, or cut the damaged part off"
    )


def _pcap(
    file: BinaryIO, order: str, unit: int, name: str
) -> Iterator[tuple[int, int, bytes, int]]:
    """Yields time in nanoseconds, link type, captured bytes, and size of each packet."""
    head = file.read(20)
    if len(head) < 20:
        raise _damaged(name, "its header is cut off")
    kind = struct.unpack(order + "I", head[16:])[0] & 0xFFFF
    record = struct.Struct(order + "IIII")
    while len(head := file.read(16)) == 16:
        seconds, part, kept, long = record.unpack(head)
        if kept > _MOST:
            raise _damaged(name, f"a packet of {kept} bytes")
        data = file.read(kept)
        if len(data) < kept:
            return
        yield seconds * 10**9 + part * unit, kind, data, long


def _pcapng(file: BinaryIO, name: str) -> Iterator[tuple[int, int, bytes, int]]:
    file.seek(0)
    order = "<"
    interfaces: list[tuple[int, int]] = []
    while len(head := file.read(8)) == 8:
        if head[:4] == PCAPNG:
            mark = file.read(4)
            order = "<" if mark == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces = []
            kind, length = 0x0A0D0D0A, struct.unpack(order + "I", head[4:])[0]
            rest = length - 12
        else:
            kind, length = struct.unpack(order + "II", head)
            rest = length - 8
        if length % 4 or not 4 <= rest <= _MOST + 4096:
            raise _damaged(name, f"a block of {length} bytes")
        body = file.read(rest)
        if len(body) < rest:
            return
        if kind == 1 and rest >= 12:
            interfaces.append(
                (struct.unpack(order + "H", body[:2])[0], _resolution(body[8:-4], order))
            )
        elif kind == 6 and rest >= 24:
            at, high, low, kept, long = struct.unpack(order + "IIIII", body[:20])
            if at >= len(interfaces) or kept > rest - 24:
                raise _damaged(name, "a packet longer than its block, or of no interface")
            link, unit = interfaces[at]
            yield (high << 32 | low) * 10**9 // unit, link, body[20 : 20 + kept], long


def _resolution(options: bytes, order: str) -> int:
    """Returns the units of a time in a second."""
    while len(options) >= 4:
        code, size = struct.unpack(order + "HH", options[:4])
        if code == 9 and size and len(options) > 4:
            value = options[4]
            return 1 << (value & 127) if value & 128 else int(10**value)
        options = options[4 + (size + 3 & ~3) :]
    return 10**6


def _packet(kind: int, data: bytes, long: int) -> Segment | None:
    start = {_ETHERNET: 14, _NULL: 4, _SLL: 16, _SLL2: 20}.get(kind, 0)
    if kind == _ETHERNET:
        while data[start - 2 : start] in (b"\x81\x00", b"\x88\xa8"):
            start += 4
    elif start == 0 and kind not in _RAW:
        return None
    ip, long = data[start:], long - start
    if len(ip) < 20:
        return None
    if ip[0] >> 4 == 4:
        head = (ip[0] & 15) * 4
        protocol, source, target = ip[9], ip[12:16], ip[16:20]
        whole = int.from_bytes(ip[2:4], "big") or long
        if int.from_bytes(ip[6:8], "big") & 0x3FFF:  # a fragment
            return None
    elif ip[0] >> 4 == 6 and len(ip) >= 40:
        head, protocol, source, target = 40, ip[6], ip[8:24], ip[24:40]
        while protocol in _EXTENSIONS and len(ip) >= head + 8:
            protocol, head = ip[head], head + 8 + 8 * ip[head + 1]
        whole = 40 + int.from_bytes(ip[4:6], "big") if ip[4:6] != b"\0\0" else long
    else:
        return None
    inner = ip[head:]
    if protocol == 6 and len(inner) >= 20:
        return _tcp(source, target, inner, whole - head)
    if protocol == 17 and len(inner) >= 8:
        ports = struct.unpack(">HH", inner[:4])
        size = max(whole - head - 8, 0)
        begin = bytes(inner[8:13])
        return Segment(0.0, (source, ports[0]), (target, ports[1]), size, False, head=begin)
    return None


def _tcp(source: bytes, target: bytes, inner: bytes, whole: int) -> Segment:
    from_port, to_port, seq, ack, offset, flags, window = struct.unpack(">HHIIBBH", inner[:16])
    head = (offset >> 4) * 4
    found = Segment(
        0.0,
        (source, from_port),
        (target, to_port),
        max(whole - head, 0),
        True,
        seq,
        ack,
        flags,
        window,
    )
    options = inner[20:head]
    while options and options[0]:
        if options[0] == 1:
            options = options[1:]
            continue
        if len(options) < 2 or not 2 <= options[1] <= len(options):
            break
        if options[:2] == b"\x03\x03":
            found.scale = min(options[2], 14)
        elif options[:2] == b"\x08\x0a":
            found.stamp, found.echo = struct.unpack(">II", options[2:10])
        elif options[0] == 5:
            numbers = struct.iter_unpack(">II", options[2 : 2 + (options[1] - 2) // 8 * 8])
            found.sacks = tuple((first, last) for first, last in numbers)
        options = options[options[1] :]
    return found
