"""`fullpipe trace import`: JSON as tools write it, and JSON that becomes large in memory."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

import served
from test_bombs import _peak
from test_trace_import import _imported
from test_trace_import_formats import _HEAD, _METRICS, _NAMES, _transfer
from test_trace_import_iperf3 import ARRIVED, _file

if TYPE_CHECKING:
    from pathlib import Path


def _stream(value: dict[str, Any], indent: int | None = None) -> str:
    events = [("start", value["start"])]
    events += [("interval", interval) for interval in value["intervals"]]
    events.append(("end", value["end"]))
    return "".join(
        json.dumps({"event": name, "data": data}, indent=indent) + "\n" for name, data in events
    )


VALUE = _file("client", [True, False], udp=True)
WHOLE = json.dumps(VALUE, indent=1)


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        (_stream(VALUE), 0),
        (_stream(VALUE, 2), 0),
        (WHOLE.replace('"jitter_ms": 0.4', '"jitter_ms": -nan'), 0),
        (WHOLE.replace('"jitter_ms": 0.4', '"jitter_ms": inf, "text": "-nan, inf"'), 0),
        ("warning: JSON data length overflow\nwarning: again\n" + WHOLE, 1),
        (WHOLE + "\niperf3: interrupt\n", 1),
        ("\ufeff" + WHOLE, 0),
        (json.dumps(VALUE), 0),
    ],
)
def test_every_form_of_iperf3s_output_is_read(tmp_path: Path, text: str, warned: int) -> None:
    (tmp_path / "a").write_text(text)
    _, metrics = _imported(tmp_path, tmp_path / "a")
    assert [flow["goodput_bps"] for flow in metrics["flows"]] == [ARRIVED] * 2
    assert len(metrics["warnings"]) == warned


def test_all_tests_of_a_server_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(json.dumps(_file("server", [False], udp=False), indent=1) * 3)
    _, metrics = _imported(tmp_path, tmp_path / "a")
    assert [flow["goodput_bps"] for flow in metrics["flows"]] == [ARRIVED] * 3


@pytest.mark.parametrize("mark", ["\x1e", "\n"])
@pytest.mark.parametrize(("head", "events"), [(None, None), (None, 2), (2, 2), (2, None)])
def test_records_of_qlog_may_span_lines(
    tmp_path: Path, mark: str, head: int | None, events: int | None
) -> None:
    records = [json.dumps(_HEAD, indent=head)]
    records += [json.dumps(each, indent=events) for each in _transfer(_NAMES, _METRICS)]
    (tmp_path / "a").write_text(mark.join(["", *records]) + "\n")
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    assert trace.select("cwnd", "delivered").rows() == [(14_000, 1200)]
    assert not metrics["warnings"]


@pytest.mark.parametrize("kind", ["iperf3", "flent", "qlog"])
def test_half_of_a_surrogate_pair_is_no_name(tmp_path: Path, kind: str) -> None:
    bad = "x\ud800"
    value: dict[str, Any] = {
        "iperf3": _file("client", [True], udp=False),
        "flent": {"version": 4, "x_values": [0, 1], "results": {f"TCP {bad}": [1, 2]}},
        "qlog": {
            "qlog_version": "0.3",
            "traces": [{"events": [{**_transfer(_NAMES, _METRICS)[2], "group_id": bad}]}],
        },
    }[kind]
    if kind == "iperf3":
        value["end"]["sender_tcp_congestion"] = bad
    (tmp_path / "a").write_text(json.dumps(value))
    done = served.command("trace", "import", tmp_path / "a", "--out", tmp_path / "none")
    assert (done.returncode, "surrogate" in done.stderr) == (2, True), done.stderr
    assert "fix: " in done.stderr and not (tmp_path / "none").exists()


def test_a_name_without_end_is_cut(tmp_path: Path) -> None:
    names = [f"TCP {'x' * 300_000}{each}" for each in "ab"]
    series = {"version": 4, "x_values": [0, 1], "results": {key: [1, 2] for key in names}}
    (tmp_path / "a.flent").write_text(json.dumps(series))
    _, metrics = _imported(tmp_path, tmp_path / "a.flent")
    assert [len(flow["name"]) for flow in metrics["flows"]] == [120, 122]


@pytest.mark.parametrize("unit", [b"{},", b"1.5,"])
@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (b'{"version":4,"x_values":[', b'0],"results":{}}'),
        (b'{"start":{},"end":{},"intervals":[', b"0]}"),
        (b'{"qlog_version":"0.3","traces":[{"events":[', b"0]}]}"),
    ],
    ids=["flent", "iperf3", "qlog"],
)
def test_json_that_becomes_large_is_refused_while_it_is_read(
    tmp_path: Path, begin: bytes, end: bytes, unit: bytes
) -> None:
    piece = gzip.compress(unit * (50_000_000 // len(unit)), 1)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(begin) + piece * 16 + gzip.compress(end))
    done, peak = _peak(("trace", "import", "bomb.gz", "--out", "out"), tmp_path)
    assert done.returncode == 2
    assert "JSON may need more than" in done.stderr and "fix: " in done.stderr, done.stderr
    assert peak < 600


@pytest.mark.parametrize("begin", [b"", b"x\n", b"\n"])
def test_zeros_are_of_no_kind_from_their_begin(tmp_path: Path, begin: bytes) -> None:
    packed = gzip.compress(begin) + gzip.compress(bytes(50_000_000), 1) * 16
    (tmp_path / "bomb.gz").write_bytes(packed)
    done, peak = _peak(("trace", "import", "bomb.gz", "--out", "out"), tmp_path)
    assert (done.returncode, "of no kind" in done.stderr) == (2, True)
    assert peak < 300


@pytest.mark.parametrize(
    "times",
    [
        ["1700000000.0", "1700000001.0"],
        ["2023-11-14T22:13:20Z", "2023-11-14T22:13:21Z"],
        ["Tue Nov 14 22:13:20 UTC 2023", "Tue Nov 14 22:13:21 UTC 2023"],
    ],
)
@pytest.mark.parametrize("prefixed", [False, True])
@pytest.mark.parametrize("port", ["22", "ssh"])
def test_listings_of_ss_may_have_times_in_front_of_lines_and_names_of_services(
    tmp_path: Path, times: list[str], *, prefixed: bool, port: str
) -> None:
    text = ""
    for at, time in enumerate(times):
        listing = [
            f"ESTAB 0 0 192.0.2.10:{port} 192.0.2.20:50112",
            f"\t bbr wscale:7,7 rto:212 rtt:11.5/1 mss:1448 cwnd:12 bytes_acked:{10**6 * (at + 1)}",
        ]
        text += "".join(f"{time} {line}\n" for line in listing) if prefixed else ""
        text += "" if prefixed else "\n".join([time, *listing, ""])
    (tmp_path / "a").write_text(text)
    _, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert flow["goodput_bps"] == 8e6
    assert flow["name"] == f"TCP 192.0.2.10:{port} → 192.0.2.20:50112"


def test_a_markdown_report_escapes_the_names_of_a_file(tmp_path: Path) -> None:
    name = "TCP\n\n# heading\n|x| \x1b[31m \u202e"
    value = {"version": 4, "x_values": [0, 1], "results": {name: [8.0, 8.0]}}
    (tmp_path / "a").write_text(json.dumps(value))
    _imported(tmp_path, tmp_path / "a")
    page = tmp_path / "page"
    done = served.command("report", tmp_path / "imported", "--format", "md", "--out", page)
    assert done.returncode == 0, done.stderr
    text = (page / "report.md").read_text()
    assert "heading" in text and "\n# heading" not in text
    assert not [mark for mark in ("\x1b", "\u202e") if mark in text]
