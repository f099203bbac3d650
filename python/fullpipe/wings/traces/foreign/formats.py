"""The formats of other programs' files, and the commands that read each: their only declaration.

Every command reads a file through `crates/wings/ingest/src/input.rs`, plain or compressed. It recognizes the format
by the content, here, and refuses another one with the names of the commands that read it. The tables in
`docs/reference/commands.md` are made of the declaration.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fullpipe import _core
from fullpipe.wings.traces.foreign.flow import ForeignError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMPRESSIONS = ("gzip", "zstd")
"""The compressions that every command reads."""
HEAD = 1 << 16
"""The part of a file that tells its format, bytes."""
SEPARATORS = (",", ";", "\t")
"""Separators of the columns of CSV."""

TRACE = ("trace import", "trace judge")
"""The commands that make flows over time of a file, by `kinds.py`."""
_CAPTURES = tuple(
    bytes.fromhex(magic)
    for magic in (
        *("d4c3b2a1", "a1b2c3d4"),  # pcap in µs, in both byte orders
        *("4d3cb2a1", "a1b23c4d"),  # in ns
        *("34cdb2a1", "a1b2cd34"),  # with longer records, as some systems wrote
        "0a0d0d0a",  # pcapng
    )
)
_LINES = 50
"""Lines of a listing or log among which one of its own is."""
_OBJECT = re.compile(r"(?:\A|^)[\s\x1e]*\[?\{", re.MULTILINE)
"""The begin of JSON, perhaps behind other lines."""


class Format(NamedTuple):
    """A format: its name, what a file of it is, and the commands that read it, with an option that others need."""

    name: str
    what: str
    readers: tuple[str, ...]


FORMATS = {
    each.name: each
    for each in (
        Format("capture", "a packet capture, pcap or pcapng", (*TRACE, "workload extract")),
        Format("ss", "a listing of ss -ti", (*TRACE, "fleet ingest --arm")),
        Format("iperf3", "results of iperf3 --json", TRACE),
        Format("flent", "a data file of flent, .flent.gz", TRACE),
        Format("qlog", "a qlog of a QUIC sender, JSON or JSON-SEQ", TRACE),
        Format("kernel", "rows of fullpipe kernel trace, lines of JSON", TRACE),
        Format("zeek", "a conn.log of Zeek, text or JSON", ("workload extract",)),
        Format("csv", "a CSV file with the columns start and bytes", ("workload extract",)),
        Format("nginx", "an access log of nginx", ("fleet ingest --nginx",)),
        Format("snmp", "counters of /proc/net or netstat -s", ("fleet ingest --snmp",)),
        Format("hist", "a histogram of bpftrace", ("fleet ingest --hist",)),
        Format("parquet", "a Parquet file", ("workload describe", "workload fit")),
    )
}

_KEYS = {
    "qlog": re.compile(r'"(?:qlog_version|qlog_format|file_schema)"\s*:'),
    "iperf3": re.compile(
        r'"intervals"\s*:|"event"\s*:\s*"start"|\A\s*\{\s*"start"\s*:\s*\{\s*"connected"'
    ),
    "flent": re.compile(r'"(?:x_values|raw_values|SERIES_META)"\s*:'),
    "kernel": re.compile(r'\{(?=[^}]*"connection":)(?=[^}]*"cwnd":)[^}]*"delivered":'),
    "zeek": re.compile(r'"(?:id\.orig_h|orig_bytes|orig_pkts)"\s*:'),
}
"""Entries of JSON that one format alone has."""
_LOG = re.compile(r"\S+ \S+ .*\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] ")
"""A line of nginx's format "combined" up to its time; a format of one's own is not recognized."""
_COUNTERS = re.compile(r"(?:Ip|Icmp|Tcp|Udp|TcpExt|IpExt):(?: \S|$)|cpu\d* +\d+ \d+ \d+ ")
_BUCKET = re.compile(r"[\[(][^|]*[\])] +\d+ +\|@* *\|")


def recognized(head: bytes) -> Format | None:
    """Returns the format of a file that begins so; None if its content does not tell one."""
    return next(_matching(head), None)


def _matching(head: bytes) -> Iterator[Format]:
    """Yields the formats that a file may have that begins so, the surest first."""
    if head.startswith(_CAPTURES):
        yield FORMATS["capture"]
        return
    if head.startswith(b"PAR1"):
        yield FORMATS["parquet"]
        return
    if head.startswith(b"#separator"):
        yield FORMATS["zeek"]
        return
    if _core.fleet_is_listing(head[:20_000]):
        yield FORMATS["ss"]
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    if begin := _OBJECT.search(text):
        for name, keys in _KEYS.items():
            if keys.search(text, begin.start()):
                yield FORMATS[name]
    lines = [line.strip() for line in text.splitlines()[:_LINES]]
    for name, form in (("nginx", _LOG), ("snmp", _COUNTERS), ("hist", _BUCKET)):
        if any(form.match(line) for line in lines):
            yield FORMATS[name]
    columns = re.split(
        "|".join(SEPARATORS), next((line for line in lines if line and line[0] != "#"), "")
    )
    if {"start", "bytes"} <= {column.strip().strip('"') for column in columns}:
        yield FORMATS["csv"]


def check(path: Path, command: str) -> None:
    """Refuses a file of a format that other commands read, unless it also has one that this command reads.

    Raises:
        ForeignError: When it is of such a format.
    """
    try:
        head = _core.content_head(path, HEAD)
    except OSError:  # the command's reader reports it
        return
    found = list(_matching(head))
    if not any(command in each.readers for each in found):
        refuse(path, next(iter(found), None), command)


def refuse_stream(path: Path) -> None:
    """Refuses a file that can't be read again from its begin.

    Raises:
        ForeignError: When it is a pipe or a device.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ForeignError(
            f"{path}: is a pipe or a device, but must be read more than once\n  fix: save it to a file"
        )


def refuse(path: Path, found: Format | None, command: str) -> None:
    """Refuses a file for its format, if other commands read that.

    Raises:
        ForeignError: When other commands read it.
    """
    if found is None or command in found.readers:
        return
    *others, last = (f"fullpipe {reader}" for reader in found.readers)
    named = f"{', '.join(others)} or {last}" if others else last
    raise ForeignError(
        f"{path}: {found.what}, which {command} does not read\n  fix: read it by {named}"
    )
