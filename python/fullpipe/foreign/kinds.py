"""Recognizes the kind of a file by its content, and reads its flows."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from fullpipe.foreign import capture, connections, flent, iperf3, kernel, qlog, ss
from fullpipe.foreign.flow import Flow, ForeignError, unlike

if TYPE_CHECKING:
    from pathlib import Path

KINDS = {
    "iperf3": "results of iperf3 --json",
    "flent": "data files of flent, .flent.gz",
    "ss": "listings of ss -tin, each after a line with its time",
    "capture": "packet captures, pcap or pcapng",
    "qlog": "qlog of a QUIC sender, JSON or JSON-SEQ",
    "kernel": "rows of fullpipe kernel trace, lines of JSON",
}
"""The kinds of files, by the names of their runners in results."""
MOST_BYTES = 1 << 30
"""The largest file, decompressed."""
STEP_S = 0.1
"""The usual time between the rows of a capture, seconds."""


class Read(NamedTuple):
    """The flows of a file, its kind, and what could not be read."""

    kind: str
    flows: list[Flow]
    warnings: list[str]


def read(path: Path, *, step: float = STEP_S, exact: bool = False) -> Read:
    """Reads a file.

    Args:
        path: The file.
        step: The time in seconds between the rows of a capture.
        exact: Whether the time of a row of a capture is that of its last packet.

    Raises:
        ForeignError: When its kind is not known, or it is damaged.
        OSError: When it can't be read.
    """
    data, warnings = _content(path)
    name = str(path)
    if data[:4] in capture.MAGICS:
        notes = capture.Notes()
        packets = capture.segments(io.BytesIO(data), name, notes=notes)
        found = connections.connections(packets, step=step, exact=exact)
        if not found and notes.unknown:
            said = ", ".join(f"{count:,} of {what}" for what, count in notes.unknown.most_common(3))
            raise ForeignError(
                f"{name}: no flow with data in its packets of IP; {said} are not understood\n"
                "  fix: capture in front of the tunnel, or name a longer measurement"
            )
        if notes.untimed:
            warnings = [
                *warnings,
                f"{name}: {notes.untimed:,} packets have no time: no rates, no RTTs",
            ]
            found = [connections.untimed(flow) for flow in found]
        return _some(Read("capture", found, warnings), name)
    text = data.decode("utf-8", errors="replace").removeprefix("\ufeff")
    start = text.lstrip("\x1e \r\n\t")
    if start.startswith("{"):
        whole = _parsed(text.strip("\x1e \r\n\t"))
        if whole is not None and not kernel.is_row(whole):
            return _some(_of_json(whole, name, warnings), name)
        first = _parsed(start.split("\n", 1)[0].rstrip("\x1e \r"))
        if first is not None and kernel.is_row(first):
            flows, told = kernel.flows(text.splitlines(), name)
            return _some(Read("kernel", flows, [*warnings, *told]), name)
        if first is not None and qlog.is_qlog(first):
            flows, bad = qlog.records(text.split("\n"), name)
            if bad:
                warnings = [*warnings, f"{name}: {bad} records could not be read"]
            return _some(Read("qlog", flows, warnings), name)
        if (cut := qlog.of_cut(text)) is not None:
            lost = f"{name}: cut off: the end of the file, after the last whole event, is left out"
            return _some(Read("qlog", qlog.flows(cut, name), [*warnings, lost]), name)
        raise ForeignError(
            f"{name}: damaged: not a whole JSON object\n  fix: fetch or measure it again"
        )
    if ss.is_ss(text[:20_000]):
        return _some(Read("ss", ss.flows(text.splitlines(), name), warnings), name)
    raise _unknown(name)


def _content(path: Path) -> tuple[bytes, list[str]]:
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    warnings = []
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as inner:
                data = b""
                parts = []
                size = 0
                while size <= MOST_BYTES and (part := inner.read1(1 << 20)):
                    parts.append(part)
                    size += len(part)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            warnings = [f"{path}: cut off or damaged: {error}"]
        data = b"".join(parts)
    if len(data) > MOST_BYTES:
        raise ForeignError(
            f"{path}: more than {MOST_BYTES >> 30} GiB\n  fix: name a shorter measurement"
        )
    return data, warnings


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _of_json(value: dict[str, Any], name: str, warnings: list[str]) -> Read:
    if iperf3.is_iperf3(value):
        found, told = iperf3.flows(value, name)
        return Read("iperf3", found, [*warnings, *told])
    for kind, fits, flows in (
        ("flent", flent.is_flent, flent.flows),
        ("qlog", qlog.is_qlog, qlog.flows),
    ):
        if fits(value):
            return Read(kind, flows(value, name), warnings)
    raise _unknown(name)


def _some(found: Read, name: str) -> Read:
    if not found.flows:
        raise ForeignError(f"{name}: no flow with data\n  fix: name a longer measurement")
    unlike(found.flows)
    return found


def _unknown(name: str) -> ForeignError:
    kinds = "; ".join(KINDS.values())
    return ForeignError(
        f"{name}: of no kind that can be imported\n  fix: name one of these: {kinds}"
    )
