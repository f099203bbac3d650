"""Seeds of the fuzz targets: inputs from scenarios, tests and examples, so that the tree has each of them once."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[1]
_CAPTURES = ROOT / "tests/captures"
_LONGEST = 4096
# A Rust string constant of a test: "…" or r#"…"#.
_RUST = re.compile(r'r#"(.*?)"#|"((?:[^"\\]|\\.){20,})"', re.DOTALL)


def write(directory: Path) -> None:
    """Writes the seeds of each target into a directory of its name."""
    for name, seeds in _SEEDS.items():
        folder = directory / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for number, content in enumerate(seeds()):
            (folder / f"{number:03}").write_bytes(content)


def _scenarios() -> Iterator[bytes]:
    for file in sorted((ROOT / "scenarios").glob("*.toml")):
        if file.stat().st_size <= _LONGEST:
            yield file.read_bytes()


def _texts(*tests: str) -> Iterator[str]:
    """Yields the texts in tests of the crates."""
    for test in tests:
        for raw, plain in _RUST.findall((ROOT / "crates" / test).read_text(encoding="utf-8")):
            yield raw or plain.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def _after(prefixes: Iterable[bytes], texts: Iterable[str]) -> Iterator[bytes]:
    every = list(texts)
    for prefix in prefixes:
        for text in every:
            yield (prefix + text.encode())[:_LONGEST]


def _ss() -> Iterator[bytes]:
    tests = ("ingest/tests/fleet/ss.rs", "ingest/tests/fleet/listings.rs")
    for text in _texts(*tests):
        socket = (
            "" if text.startswith(("ESTAB", "0 ")) else "ESTAB 0 0 10.0.0.1:443 192.0.2.1:1\n\t"
        )
        yield b"\0\0" + f"@1576576800\n{socket}{text}\n@1576576810\n{socket}{text}\n".encode()


def _logs() -> Iterator[str]:
    yield from _texts("ingest/tests/fleet/logs.rs")
    yield '{"time_iso8601":"2019-11-18T10:00:00+00:00","remote_addr":"192.0.2.1","status":"200","bytes_sent":"1000"}\n'
    yield '127.0.0.1 - - [18/Nov/2019:10:00:00 +0000] "GET / HTTP/1.1" 200 612 "-" "curl"\n'


def _traces() -> Iterator[bytes]:
    # In the order of the kinds in fuzz/fuzz_targets/traces.rs.
    texts = (
        "1\n3\n3\n10\n",
        "0s, 20mbit\n5s 50mbit\n",
        "0s 23ms\n15s, 31ms\n",
        "0s 23ms\n60s 31ms\n",
        "0ms,60\n2ms,30\n5ms,0\n",
        "10\n11\n# lost\n57\n",
        "100 0.5\n2000 1\n",
    )
    for kind, text in enumerate(texts):
        yield bytes([kind]) + text.encode()


def _captures() -> Iterator[bytes]:
    for file in sorted(_CAPTURES.glob("*.pcap")):
        yield file.read_bytes()[:_LONGEST]
        yield gzip.compress(file.read_bytes()[:_LONGEST], mtime=0)


def _flows() -> Iterator[bytes]:
    lines = (_CAPTURES / "conn.log").read_bytes().splitlines(keepends=True)
    yield b"\0" + b"".join(lines[:12])
    yield (
        b"\0"
        + b'{"ts":1379288667.5,"id.orig_h":"10.0.0.1","proto":"tcp","duration":1.5,"orig_bytes":1,"resp_bytes":2}\n'
    )
    for text in (
        "start,bytes\n1,2\n2.5,30\n",
        "start;bytes\n1,5;2\n",
        "start\tbytes\n2020-06-10 14:00:00\t7\n",
    ):
        yield b"\0" + text.encode()


_SEEDS = {
    "scenario": _scenarios,
    "traces": _traces,
    "capture": _captures,
    "ss": _ss,
    "nginx": lambda: _after((b"\0\0\0", b"\1\0\0", b"\2\0\0", b"\7\0\0"), _logs()),
    "counters": lambda: _after((b"\0\0",), _texts("ingest/tests/fleet/logs.rs")),
    "logs": _flows,
}
