"""A small file that decompresses to a large one without flows takes little memory, in every command that reads it."""

from __future__ import annotations

import gzip
import re
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

MEGABYTES = 800
CAPTURE = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
ZEEK = b"#separator \\x09\n#fields\tts\tproto\torig_bytes\tresp_bytes\n"
EXTRACT = ("workload", "extract", "bomb.gz", "-o", "flows.parquet")


# Not the system's account of a child, which has the memory of its parent before the exec.
MEASURED = """\
import atexit, shutil
from fullpipe.commands import main
atexit.register(lambda: shutil.copyfile("/proc/self/status", "status"))
main()
"""


@pytest.fixture(scope="module")
def zeros() -> bytes:
    """Compressed zeros, fifty megabytes to a member."""
    return gzip.compress(bytes(50_000_000), 1) * (MEGABYTES // 50)


def _peak(call: tuple[str, ...], directory: Path) -> tuple[subprocess.CompletedProcess[str], int]:
    """Calls the command; returns the most memory that it had, in megabytes."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *call],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"VmHWM:\s+(\d+) kB", (directory / "status").read_text())
    assert found
    return done, int(found[1]) // 1024


@pytest.mark.parametrize(
    ("begin", "end", "call"),
    [
        (CAPTURE, b"", EXTRACT),
        (b"start,bytes\n1,2\n", b"\n3,4\n", EXTRACT),
        (ZEEK + b"1\ttcp\t5\t6\n", b"\n2\ttcp\t5\t6\n", EXTRACT),
        (b"@1576576800\n", b"\n", ("fleet", "ingest", "--arm", "a=bomb.gz", "-o", "out")),
        (b"", b"\n", ("fleet", "ingest", "--nginx", "a=bomb.gz", "-o", "out")),
        (b"", b"\n", ("fleet", "ingest", "--snmp", "a=bomb.gz", "-o", "out")),
        (b"", b"\n", ("fleet", "ingest", "--hist", "a=bomb.gz", "-o", "out")),
    ],
    ids=["capture", "csv", "conn.log", "ss", "nginx", "snmp", "hist"],
)
def test_what_has_no_flows_takes_no_memory_whatever_it_decompresses_to(
    zeros: bytes, tmp_path: Path, begin: bytes, end: bytes, call: tuple[str, ...]
) -> None:
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(begin) + zeros + gzip.compress(end))
    done, peak = _peak(call, tmp_path)
    assert done.returncode in (0, 1, 2) and "Traceback" not in done.stderr, done.stderr
    assert done.returncode != 2 or re.search("error: .*\n +fix: ", done.stderr), done.stderr
    assert peak < MEGABYTES // 2, done.stderr
