"""Seeds of the fuzz targets: inputs from scenarios, tests and examples, so that the tree has each of them once.

tools/fuzz_seeds.py DIRECTORY writes the seeds of each target into a directory of its name.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sys
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
    tests = ("wings/ingest/tests/fleet/ss.rs", "wings/ingest/tests/fleet/listings.rs")
    for text in _texts(*tests):
        socket = (
            "" if text.startswith(("ESTAB", "0 ")) else "ESTAB 0 0 10.0.0.1:443 192.0.2.1:1\n\t"
        )
        yield b"\0\0" + f"@1576576800\n{socket}{text}\n@1576576810\n{socket}{text}\n".encode()


def _logs() -> Iterator[str]:
    yield from _texts("wings/ingest/tests/fleet/logs.rs")
    yield '{"time_iso8601":"2019-11-18T10:00:00+00:00","remote_addr":"192.0.2.1","status":"200","bytes_sent":"1000"}\n'
    yield '127.0.0.1 - - [18/Nov/2019:10:00:00 +0000] "GET / HTTP/1.1" 200 612 "-" "curl"\n'


def _traces() -> Iterator[bytes]:
    # In the order of the kinds in fuzz/src/traces.rs.
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


def _measured() -> Iterator[bytes]:
    """Yields the smallest file of each kind that `trace import` reads."""
    stream = {"socket": 5, "end": 1, "bytes": 1000, "bits_per_second": 8e3, "retransmits": 1}
    stream |= {"snd_cwnd": 14_480, "rtt": 40_000}
    side = {"bits_per_second": 8e3, "packets": 10, "lost_packets": 1}
    ends = {"streams": [{"sender": side, "udp": side}], "sender_tcp_congestion": "cubic"}
    yield _json({"start": {}, "intervals": [{"streams": [stream]}] * 2, "end": ends})
    names = ("Ping (ms) ICMP", "TCP upload::1", "TCP upload::1::tcp_cwnd", "HTTP latency")
    results = {name: [8.0, None, 9.0] for name in names}
    about = {"TCP upload::1": {"UNITS": "Mbits/s", "MEAN_VALUE": 8.0}}
    about["HTTP latency"] = {"UNITS": "ms"}
    yield _json({"x_values": [0, 0.2, 0.4], "results": results, "metadata": {"SERIES_META": about}})
    socket = (
        "ESTAB 0 0 10.0.0.1:443 [2001:db8::1]:4\n\tcubic wscale:7,7 rtt:40.5/0.2 mss:1448 cwnd:10 "
        "ssthresh:20 bytes_acked:{} retrans:0/3 pacing_rate 1.5Mbps minrtt:40\n"
    )
    yield "".join(f"1700000{at}.5\n{socket.format(at)}" for at in (100, 101)).encode()
    header = {"packet_type": "1RTT", "packet_number": 0}
    ack = {"frame_type": "ack", "acked_ranges": [[0, 5]]}
    metrics = {"congestion_window": 14_000, "latest_rtt": 40, "pacing_rate": 1e6, "ssthresh": 9}
    events = [
        ("transport:packet_sent", {"header": header, "raw": {"length": 1200}}),
        ("quic:packet_received", {"header": header, "frames": [ack]}),
        ("recovery:metrics_updated", metrics),
        ("recovery:packet_lost", {"header": header}),
        ("recovery:congestion_state_updated", {"new": "recovery"}),
        ("recovery:parameters_set", {"congestion_control": "cubic"}),
    ]
    named = [{"time": at, "name": name, "data": data} for at, (name, data) in enumerate(events)]
    yield _json({"qlog_version": "0.3", "traces": [{"events": named}]})
    delta = {"trace": {"common_fields": {"time_format": "relative_to_previous_event"}}}
    records = ({"qlog_format": "JSON-SEQ", **delta}, *named)
    yield b"".join(b"\x1e" + _json(record) + b"\n" for record in records)
    fields = ["relative_time", "path_id", "category", "event", "data"]
    old = [[str(at), at, *name.split(":"), data] for at, (name, data) in enumerate(events)]
    units = {"time_units": "us"}
    trace = {"event_fields": fields, "configuration": units, "events": old}
    yield _json({"qlog_version": "draft-00", "traces": [trace]})
    yield from _captures()


def _policies() -> Iterator[bytes]:
    """Yields small policies: one for each quantity, form and activation."""
    cases = (("rate", "double", "tanh"), ("window", "delta", "relu"), ("rate", "delta", "linear"))
    for quantity, form, activation in cases:
        limits = [1e5, 1e10] if quantity == "rate" else [2.0, 1000.0]
        action = {"quantity": quantity, "form": form, "scale": 0.5, "actions": [-1.0, 1.0]}
        hidden = {
            "weights": [[0.5, -0.25], [1.0, 2.0]],
            "bias": [0.0, 0.1],
            "activation": activation,
        }
        last = {"weights": [[1.0, -1.0]], "bias": [0.0], "activation": "linear"}
        network = {"shift": [0.0, 1.0], "scale": [1.0, 2.0], "clip": 5.0, "layers": [hidden, last]}
        policy = {"fullpipe-policy": 1, "features": ["latency-ratio", "loss-ratio"], "history": 1}
        policy |= {"action": {**action, "limits": limits}, "interval": 1.0, "warm_up": 1.0}
        yield bytes(8) + _json({**policy, "network": network})


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


_SEEDS = {
    "scenario": _scenarios,
    "traces": _traces,
    "capture": _captures,
    "ss": _ss,
    "nginx": lambda: _after((b"\0\0\0", b"\1\0\0", b"\2\0\0", b"\7\0\0"), _logs()),
    "counters": lambda: _after((b"\0\0",), _texts("wings/ingest/tests/fleet/logs.rs")),
    "logs": _flows,
    "foreign": _measured,
    "policy": _policies,
}

if __name__ == "__main__":
    write(Path(sys.argv[1]))
