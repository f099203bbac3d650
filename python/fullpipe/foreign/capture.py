"""Packets of a capture (pcap or pcapng), as far as flows need them."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from fullpipe.foreign.flow import ForeignError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 1 << 18
"""The largest packet that captures have, bytes; libpcap's MAXIMUM_SNAPLEN."""
_ETHER_TYPES = {1: (12, 14), 113: (14, 16), 276: (0, 20)}
"""Places of the EtherType and of the content, for Ethernet and both forms of Linux's cooked captures."""
_HEADERS = {0: 4, 108: 4, 12: 0, 14: 0, 101: 0, 228: 0, 229: 0}
"""The size of the header before IP for loopback and raw IP."""
_TAGS = {0x8100, 0x88A8, 0x9100}
_IP = {0x0800, 0x86DD}
_PPPOE = 0x8864
_PPP_IP = {0x0021, 0x0057}
_EXTENSIONS = {0, 43, 60}
"""Headers of IPv6 before that of TCP or UDP: hop-by-hop options, routing, destination options."""
_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
PCAPNG = b"\x0a\x0d\x0d\x0a"
MAGICS = (*_PCAP, PCAPNG)


@dataclass
class Notes:
    """The packets of a capture that are not understood, by their kind, and those without a time."""

    unknown: Counter[str] = field(default_factory=Counter)
    untimed: int = 0


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


def segments(
    file: BinaryIO, name: str, began: int | None = None, notes: Notes | None = None
) -> Iterator[Segment]:
    """Yields the segments and datagrams of a capture; stops where it is cut off.

    Args:
        file: The capture, at its begin.
        name: The name of the file, for errors.
        began: The time of zero in nanoseconds since 1970; by default that of the first segment. As seconds since 1970,
            a float is a multiple of 238 ns.
        notes: Notes to complete.

    Raises:
        ForeignError: When it is no capture, or a length in it is absurd.
    """
    notes = notes or Notes()
    magic = file.read(4)
    if magic in _PCAP:
        packets = _pcap(file, *_PCAP[magic], name)
    elif magic == PCAPNG:
        packets = _pcapng(file, name, notes)
    else:
        raise ForeignError(f"{name}: not a capture")
    for time, kind, data, long in packets:
        start = _before_ip(kind, data)
        if isinstance(start, str):
            notes.unknown[start] += 1
        elif found := _packet(data[start:], long - start):
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


def _pcapng(file: BinaryIO, name: str, notes: Notes) -> Iterator[tuple[int, int, bytes, int]]:
    begin = PCAPNG  # read already
    order, time = "<", 0
    interfaces: list[tuple[int, int]] = []
    while len(head := begin + file.read(8 - len(begin))) == 8:
        begin = b""
        if head[:4] == PCAPNG:
            mark = file.read(4)
            order = "<" if mark == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces = []
            kind, length = 0x0A0D0D0A, struct.unpack(order + "I", head[4:])[0]
            rest = length - 12
        else:
            kind, length = struct.unpack(order + "II", head)
            rest = length - 8
        packet = kind in (2, 3, 6)
        if length % 4 or rest < 4 or (packet and rest > _MOST + 4096):
            raise _damaged(name, f"a block of {length} bytes")
        if not packet and kind != 1:  # secrets and others can be of any size
            if not _skip(file, rest):
                return
            continue
        body = file.read(rest)
        if len(body) < rest:
            return
        if kind == 1 and rest >= 12:
            interfaces.append(
                (struct.unpack(order + "H", body[:2])[0], _resolution(body[8:-4], order))
            )
        elif packet and rest >= (8 if kind == 3 else 24):
            start = 4 if kind == 3 else 20
            at = 0
            if kind == 3:  # a simple packet, without a time
                (long,) = struct.unpack(order + "I", body[:4])
                kept = min(long, rest - 8)
                notes.untimed += 1
            else:
                at, high, low, kept, long = struct.unpack(order + "IIIII", body[:20])
                if kind == 2:  # of files before 2009: the interface, and the count of drops
                    (at,) = struct.unpack(order + "H", body[:2])
            if at >= len(interfaces) or kept > rest - start - 4:
                raise _damaged(name, "a packet longer than its block, or of no interface")
            link, unit = interfaces[at]
            if kind != 3:
                time = (high << 32 | low) * 10**9 // unit
            yield time, link, body[start : start + kept], long


def _skip(file: BinaryIO, size: int) -> bool:
    """Returns whether a number of bytes was there to pass over."""
    while size and (part := file.read(min(size, 1 << 20))):
        size -= len(part)
    return not size


def _resolution(options: bytes, order: str) -> int:
    """Returns the units of a time in a second."""
    while len(options) >= 4:
        code, size = struct.unpack(order + "HH", options[:4])
        if code == 9 and size and len(options) > 4:
            value = options[4]
            return 1 << (value & 127) if value & 128 else int(10**value)
        options = options[4 + (size + 3 & ~3) :]
    return 10**6


def _before_ip(kind: int, data: bytes) -> int | str:
    """Returns the size of the headers before that of IP, or the kind of the packet if it is another."""
    if (start := _HEADERS.get(kind)) is not None:
        return start
    if kind not in _ETHER_TYPES:
        return f"link type {kind}"
    at, start = _ETHER_TYPES[kind]
    while (found := int.from_bytes(data[at : at + 2], "big")) in _TAGS:
        at, start = start + 2, start + 4
    if found == _PPPOE:
        found, start = int.from_bytes(data[start + 6 : start + 8], "big"), start + 8
        return start if found in _PPP_IP else f"PPP protocol 0x{found:04x}"
    return start if found in _IP else f"EtherType 0x{found:04x}"


def _packet(ip: bytes, long: int) -> Segment | None:
    """Returns the segment of an IP packet; `long` is its size on the wire."""
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
