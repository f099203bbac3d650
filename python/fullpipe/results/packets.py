"""The recorded packets of a kept run within a window of time, as rows or as a capture.

A capture has what the simulator has: IPv4 and TCP headers of each data packet at the time at which it left the
sender, and of each ACK at the time at which it arrived there. Payloads and handshakes are not recorded.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING

import polars as pl

from fullpipe.errors import UserError
from fullpipe.results import disk
from fullpipe.results.files import RUNNERS, fresh_file
from fullpipe.results.kept import read_parquet
from fullpipe.results.sums import is_there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMATS = (".csv", ".parquet", ".pcapng")
"""Suffixes of the files that :func:`write` makes."""

_SENDER, _RECEIVER = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))
_FIRST_PORT, _PORT = 10_001, 443
_RAW_IPV4 = 228  # LINKTYPE_IPV4
_ACK, _PUSH = 0x10, 0x08


class PacketsError(UserError):
    """Packets can't be read or written; the text has the reason and the fix."""


@dataclass(frozen=True)
class Packets:
    """The packets of a window.

    Attributes:
        data: A row for each data packet, as in `packets.parquet`.
        acks: A row for each SACK block of an ACK, as in `acks.parquet`.
        flows: The names of all recorded flows, in the order of their first packets.
    """

    data: pl.DataFrame
    acks: pl.DataFrame
    flows: list[str]


def of_saved(
    directory: Path, *, window: tuple[float, float] | None = None, flow: str | None = None
) -> Packets:
    """Reads the packets that `fullpipe run --trace '… packets'` recorded.

    Args:
        directory: A directory that `fullpipe run --out` wrote.
        window: Start and end in seconds, both included; None for all.
        flow: The only flow; None for all.

    Raises:
        PacketsError: When the directory has no packets, or none that are wanted.
        OSError: When it can't be read.
    """
    _refuse_others(directory)
    data, acks = (read_parquet(directory / f"{name}.parquet") for name in ("packets", "acks"))
    flows = data["flow"].cast(pl.String).unique(maintain_order=True).to_list()
    if flow is not None and flow not in flows:
        raise PacketsError(
            f"{directory}: no packets of a flow {flow}\n  fix: name one of {', '.join(flows)}"
        )
    wanted = pl.lit(value=True)
    if flow is not None:
        wanted &= pl.col("flow").cast(pl.String) == flow
    if window is not None:
        wanted &= pl.col("time").is_between(*window)
    found = Packets(data.filter(wanted), acks.filter(wanted), flows)
    if found.data.is_empty() and found.acks.is_empty():
        times = data["time"].to_list()
        raise PacketsError(
            f"{directory}: no packets in this window\n  fix: the packets are from {times[0]:.6g} s to {times[-1]:.6g} s"
            if times
            else f"{directory}: no packet was sent in the recorded window\n  fix: record another one"
        )
    return found


def _refuse_others(directory: Path) -> None:
    if is_there(directory / "packets.parquet"):
        return
    if is_there(directory / RUNNERS):
        problem, fix = "runs of several runners", f"name the directory of one, like {directory}/sim"
    elif is_there(directory / "link.json"):
        problem = "a link's packets are captures"
        fix = f"open {directory}/near.pcapng or {directory}/far.pcapng in Wireshark"
    elif is_there(directory / "resolved.toml") and is_there(directory / "metrics.json"):
        problem = "this run has no packets"
        fix = (
            f"record them: fullpipe run {directory}/resolved.toml --trace '10ms packets 2s..4s' "
            f"--out {directory}-packets"
        )
    else:
        problem = "no run with packets: there is no packets.parquet"
        fix = "name a directory that `fullpipe run --trace '10ms packets 2s..4s' --out DIR` wrote"
    raise PacketsError(f"{directory}: {problem}\n  fix: {fix}")


def write(packets: Packets, path: Path, *, acks: bool = False) -> Path:
    """Writes a new file, in the format of its suffix.

    Args:
        packets: The packets.
        path: The file: .csv and .parquet have the rows, .pcapng is a capture at the sender.
        acks: Whether the rows are those of the ACKs; a capture has both.

    Raises:
        PacketsError: When the suffix is unknown.
        FileExistsError: When the file exists: nothing is overwritten.
        OSError: When it can't be written.
    """
    refuse_suffix(path)
    rows = packets.acks if acks else packets.data
    buffer = BytesIO()
    if path.suffix == ".csv":
        rows.write_csv(buffer)
    elif path.suffix == ".parquet":
        rows.write_parquet(buffer)
    else:
        buffer.writelines(_capture(packets))
    with fresh_file(path) as aside:
        disk.write(aside, buffer.getbuffer())
    return path


def refuse_suffix(path: Path) -> None:
    """Refuses a file whose suffix names no format.

    Raises:
        PacketsError: When it is unknown.
    """
    if path.suffix not in FORMATS:
        raise PacketsError(
            f"{path}: the suffix is not one of {', '.join(FORMATS)}\n  fix: name it {path.stem}.csv for rows, or "
            f"{path.stem}.pcapng for Wireshark"
        )


def _capture(packets: Packets) -> Iterator[bytes]:
    """Yields the blocks of a capture (draft-ietf-opsawg-pcapng §4.1 to §4.3), in order of time."""
    yield _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    # if_tsresol: nanoseconds.
    yield _block(1, struct.pack("<HHI", _RAW_IPV4, 0, 0) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0))
    ports = {name: _FIRST_PORT + number for number, name in enumerate(packets.flows)}
    both = [*_data(packets.data, ports), *_answers(packets.acks, ports)]
    for time, header, payload in sorted(both, key=lambda each: each[0]):
        at = round(time * 1e9)
        fields = struct.pack(
            "<IIIII", 0, at >> 32, at & 0xFFFFFFFF, len(header), len(header) + payload
        )
        yield _block(6, fields + header + bytes(-len(header) % 4))


def _block(kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def _data(rows: pl.DataFrame, ports: dict[str, int]) -> Iterator[tuple[float, bytes, int]]:
    columns = rows.select("time", pl.col("flow").cast(pl.String), "sequence", "bytes")
    for time, flow, sequence, size in columns.iter_rows():
        ends = (ports[flow], _PORT)
        yield time, _header(_SENDER, _RECEIVER, ends, (sequence, 0), _ACK | _PUSH, b"", size), size


def _answers(rows: pl.DataFrame, ports: dict[str, int]) -> Iterator[tuple[float, bytes, int]]:
    columns = rows.select("time", pl.col("flow").cast(pl.String), "acked", "sack_start", "sack_end")
    for (time, flow, acked), blocks in groupby(columns.iter_rows(), key=lambda row: row[:3]):
        # RFC 2018 §3: at most four blocks, here without timestamps.
        sacks = [(row[3], row[4]) for row in blocks if row[3] is not None][:4]
        edges = b"".join(struct.pack(">II", _number(a), _number(b)) for a, b in sacks)
        options = bytes((1, 1, 5, 2 + len(edges))) + edges if edges else b""
        ends = (_PORT, ports[flow])
        yield time, _header(_RECEIVER, _SENDER, ends, (0, acked), _ACK, options, 0), 0


def _number(place: int) -> int:
    """Returns the sequence number of a byte: the SYN, which is not recorded, has number 0."""
    return (place + 1) & 0xFFFFFFFF


def _header(
    source: bytes,
    target: bytes,
    ends: tuple[int, int],
    numbers: tuple[int, int],
    flags: int,
    options: bytes,
    payload: int,
) -> bytes:
    """Returns headers of IPv4 and TCP."""
    length = 20 + len(options)
    tcp = struct.pack(">HHIIBBHHH", *ends, *map(_number, numbers), length << 2, flags, 0xFFFF, 0, 0)
    fields = (0x45, 0, 20 + length + payload, 0, 0x4000, 64, 6)
    ip = struct.pack(">BBHHHBB", *fields) + bytes(2) + source + target
    total = sum(struct.unpack(">10H", ip))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ip[:10] + struct.pack(">H", total ^ 0xFFFF) + ip[12:] + tcp + options
