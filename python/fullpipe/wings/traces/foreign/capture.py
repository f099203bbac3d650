"""Packets of a capture (pcap or pcapng), as far as series of flows need them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core
from fullpipe.wings.traces.foreign.flow import ForeignError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_AT_ONCE = 4096
"""Packets taken at a time."""


@dataclass
class Notes:
    """The packets of a capture that are not IP, by their kind, those without a time, and damage; filled at its end."""

    unknown: list[tuple[str, int]] = field(default_factory=list)
    untimed: int = 0
    damage: str = ""


class Segment(NamedTuple):
    """A TCP segment or a UDP datagram: `time` in seconds from the beginning, `size` of its payload in bytes.

    A later fragment of one has only its number, `seq`, and no flags. `window` is missing where the header was not
    captured up to there. `head` has the first bytes of a datagram's payload, up to 5.
    """

    time: float
    source: tuple[bytes, int]
    target: tuple[bytes, int]
    size: int
    tcp: bool
    seq: int
    ack: int
    flags: int
    window: int | None
    scale: int | None
    stamp: int | None
    echo: int | None
    sacks: tuple[tuple[int, int], ...]
    head: bytes


def segments(
    path: Path, began: int | None = None, notes: Notes | None = None, most: int | None = None
) -> Iterator[Segment]:
    """Yields the segments and datagrams of a capture, to its end or where it is cut off; skips damaged parts.

    Args:
        path: The capture.
        began: The time of zero in nanoseconds since 1970; by default that of the first segment. As seconds since 1970,
            a float is a multiple of 238 ns.
        notes: Notes to complete.
        most: The largest size in bytes, decompressed; None for any.

    Raises:
        ForeignError: When it is no capture, or too large.
        OSError: When it can't be read.
    """
    try:
        packets = _core.CapturePackets(path)
    except ValueError as error:
        fix = "" if "\n  fix: " in f"{error}" else "\n  fix: get a whole copy, or record it again"
        raise ForeignError(f"{path}: {error}{fix}") from None
    while found := packets.next(_AT_ONCE):
        for time, *others in found:
            began = time if began is None else began
            yield Segment._make(((time - began) / 1e9, *others))
        if most is not None and packets.position > most:
            raise ForeignError(
                f"{path}: more than {most >> 30} GiB\n  fix: name a shorter measurement"
            )
    if notes is None:
        return
    damage, notes.untimed, strange, links, notes.unknown = packets.report()
    notes.damage = damage or ""
    if strange:
        notes.unknown.append((" and ".join(links), strange))
    notes.unknown.sort(key=lambda each: -each[1])
