"""`fullpipe trace import`: measurements of other programs as kept runs, through the command."""

from __future__ import annotations

import gzip
import json
import re
import struct
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import fullpipe as package
import served
from fullpipe.report.build import build
from fullpipe.report.model import Timeline

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """duration = "3s"
[path]
rate = "10mbit"
rtt = "40ms"
buffer = "1bdp"
[[flow]]
cc = "cubic"
"""


def _imported(tmp_path: Path, *files: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    out = tmp_path / "imported"
    done = served.command("trace", "import", *files, "--out", out)
    assert done.returncode == 0, done.stderr
    report = served.command("report", out)
    assert report.returncode == 0, report.stderr
    return pl.read_parquet(out / "trace.parquet"), json.loads((out / "metrics.json").read_text())


def _refused(tmp_path: Path, data: bytes) -> str:
    file = tmp_path / "file"
    file.write_bytes(data)
    done = served.command("trace", "import", file, "--out", tmp_path / "none")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "none").exists()
    return done.stderr


def test_iperf3(tmp_path: Path) -> None:
    def stream(at: int, rate: float) -> dict[str, Any]:
        return {
            "socket": 5, "start": at, "end": at + 1.0, "seconds": 1.0, "bytes": int(rate / 8),
            "bits_per_second": rate, "retransmits": at, "snd_cwnd": 14_080, "rtt": 40_000 + at, "omitted": False,
        }  # fmt: skip

    value = {
        "start": {},
        "intervals": [{"streams": [stream(at, 8e6)]} for at in range(3)],
        "end": {
            "streams": [
                {"sender": {"bits_per_second": 8e6}, "receiver": {"bits_per_second": 7.9e6}}
            ],
            "sender_tcp_congestion": "cubic",
        },
    }
    (tmp_path / "a").write_text(json.dumps(value))
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert (flow["goodput_bps"], flow["cc"], flow["retransmits"]) == (7.9e6, "cubic", 3)
    assert trace["delivered"].to_list() == [1_000_000, 2_000_000, 3_000_000]
    assert trace["rtt"].to_list() == pytest.approx([0.040, 0.040001, 0.040002])
    assert metrics["runner"] == "iperf3"
    _beside_its_model(tmp_path)


def _beside_its_model(tmp_path: Path) -> None:
    """A measurement and a simulation lie over each other, and are compared by their own names."""
    package.run(SCENARIO, trace="10ms").save(tmp_path / "model")
    report = build([tmp_path / "imported", tmp_path / "model"])
    blocks = [block for section in report.sections for block in section.blocks]
    timeline = next(block for block in blocks if isinstance(block, Timeline))
    assert timeline.first == (0, 1)
    assert [run.label for run in timeline.runs] == ["imported", "model, seed 1"]
    assert "Runners side by side" not in [section.title for section in report.sections]
    first = report.findings[0].text
    assert re.match(
        r"cubic of model has .* goodput (than|of) iperf3 1 \(cubic\) of imported: ", first
    )
    (measured,) = (each.text for each in report.findings if each.text.startswith("imported: "))
    assert measured.startswith("imported: iperf3 1 had a goodput of 7.9 Mbit/s")


def test_flent(tmp_path: Path) -> None:
    value = {
        "version": 4,
        "x_values": [0.0, 0.2, 0.4],
        "results": {"Ping (ms) ICMP": [10.0, None, 30.0], "TCP download": [8.0, 8.0, 16.0]},
        "metadata": {
            "SERIES_META": {"TCP download": {"UNITS": "Mbits/s"}, "Ping (ms) ICMP": {"UNITS": "ms"}}
        },
    }
    file = tmp_path / "a.flent.gz"
    file.write_bytes(gzip.compress(json.dumps(value).encode()))
    trace, metrics = _imported(tmp_path, file)
    of = {flow["name"]: flow for flow in metrics["flows"]}
    assert of["Ping (ms) ICMP"]["rtt_s"]["mean"] == pytest.approx(0.020)
    assert of["TCP download"]["goodput_bps"] == pytest.approx(32e6 / 3, abs=1)
    assert trace.filter(flow="TCP download")["delivered"].to_list() == [0, 200_000, 600_000]


def test_ss(tmp_path: Path) -> None:
    text = "".join(
        f"{1700000000 + at}.000000000\nState Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
        "ESTAB 0      0      10.0.0.1:5201 10.0.0.2:40000\n"
        f"\t cubic wscale:7,7 rto:240 rtt:40.5/0.2 mss:1448 cwnd:{10 + at} ssthresh:20 "
        f"bytes_acked:{1_000_000 * at} unacked:4 retrans:0/{at}\n"
        for at in range(3)
    )
    (tmp_path / "a").write_text(text)
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    assert trace["cwnd"].to_list() == [14_480, 15_928, 17_376]
    assert trace["time"].to_list() == [0, 1, 2]
    (flow,) = metrics["flows"]
    assert (flow["goodput_bps"], flow["cc"], flow["retransmits"]) == (8e6, "cubic", 2)


@pytest.mark.parametrize("suffix", ["qlog", "sqlog"])
def test_fullpipes_own_qlog_gives_the_same_series(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    assert not served.command("run", tmp_path / "s.toml", "--out", tmp_path / "run").returncode
    file = tmp_path / f"own.{suffix}"
    assert not served.command("trace", "qlog", tmp_path / "run", file).returncode
    trace, metrics = _imported(tmp_path, file)
    run = pl.read_parquet(tmp_path / "run" / "trace.parquet")
    both = run.with_columns(time=(1e6 * pl.col("time")).round()).join(
        trace.with_columns(time=(1e6 * pl.col("time")).round()), on="time", suffix="_imported"
    )
    assert len(both) > 1000
    for column in ("cwnd", "inflight", "delivered", "lost"):
        assert both[column].to_list() == both[f"{column}_imported"].to_list(), column
    known = both.drop_nulls(["rtt", "rtt_imported"])
    assert len(known) > 500
    assert known["rtt"].to_list() == pytest.approx(known["rtt_imported"].to_list(), abs=1e-5)
    assert metrics["flows"][0]["cc"] == "cubic"
    changes = pl.read_parquet(tmp_path / "imported" / "transitions.parquet")
    assert "recovery" in changes["to"].to_list()


@pytest.mark.parametrize("options", [["a.qlog"], ["a.sqlog"], ["a.sqlog", "--flow", "bbr1"]])
def test_fullpipes_own_qlog_gives_the_counts_of_the_run(tmp_path: Path, options: list[str]) -> None:
    """An event packet_sent of it stands for several packets, and none for a retransmission."""
    both = 'duration = "6s"\nmeasure_from = "2s"\n[path]\nrate = "10mbit"\nrtt = "20ms"\nbuffer = "0.5bdp"\n'
    (tmp_path / "s.toml").write_text(f'{both}[[flow]]\ncc = "cubic"\n[[flow]]\ncc = "bbr1"\n')
    assert not served.command("run", tmp_path / "s.toml", "--out", tmp_path / "run").returncode
    file, *more = options
    assert not served.command("trace", "qlog", tmp_path / "run", tmp_path / file, *more).returncode
    _, metrics = _imported(tmp_path, tmp_path / file)
    run = json.loads((tmp_path / "run" / "metrics.json").read_text())
    wanted = {each["name"]: each for each in run["flows"]}
    for flow in metrics["flows"]:
        mine = wanted.pop(flow["name"])
        assert mine["retransmits"] > 5
        for name in ("sent", "retransmits", "loss_fraction", "drops", "cc"):
            assert flow[name] == mine[name], name
        assert flow["goodput_bps"] == pytest.approx(mine["goodput_bps"], abs=1)
        assert flow["rtt_s"]["p50"] == pytest.approx(mine["rtt_s"]["p50"], rel=0.1)
    assert metrics["measure_from_s"] == 2
    assert len(wanted) == len(more) // 2


def test_sentences_about_a_measurement_are_those_of_its_numbers(tmp_path: Path) -> None:
    """Limits and queues are unknown: rates, RTTs and retransmissions are what there is to say. It has no seed."""
    text = "".join(
        f"{1_700_000_000 + at}.0\nESTAB 0 0 10.0.0.1:5000 10.0.0.2:443\n\t cubic rtt:{40 + 10 * at}/1 mss:1448 "
        f"cwnd:{10 + at} bytes_acked:{1_000_000 * at} data_segs_out:{700 * at} retrans:0/{2 * at}\n"
        for at in range(5)
    )
    (tmp_path / "a").write_text(text)
    _, metrics = _imported(tmp_path, tmp_path / "a")
    report = build(tmp_path / "imported")
    told = [finding.text for finding in report.findings]
    (flow,) = metrics["flows"]
    assert f"{flow['name']} had a goodput of 8 Mbit/s" in told[0] or "8.00 Mbit/s" in told[0], told
    assert "60 ms at the median and 80 ms at the 95th percentile, at least 40 ms" in told[0], told
    assert "8 of 2,800 packets were sent again, 0.29 %." in told
    words = " ".join(
        [*dict(report.facts).values(), *(f"{each.title} {each.note}" for each in report.sections)]
    )
    assert "seed" not in words, words
    assert "One run." in words


def test_qlog_of_draft_00_counts_in_microseconds(tmp_path: Path) -> None:
    sent = {"packet_size": 1200, "packet_number": 0}
    ack = {"frame_type": "ack", "acked_ranges": [[0, 0]]}
    received = {"packet_type": "1RTT", "header": {"packet_number": 0}, "frames": [ack]}
    value = {
        "qlog_version": "draft-00",
        "traces": [
            {
                "event_fields": ["relative_time", "CATEGORY", "EVENT_TYPE", "DATA"],
                "configuration": {"time_units": "us"},
                "common_fields": {"protocol_type": "QUIC_HTTP3"},
                "events": [
                    [0, "TRANSPORT", "PACKET_SENT", {"packet_type": "1RTT", "header": sent}],
                    [40_000, "TRANSPORT", "PACKET_RECEIVED", received],
                    [40_000, "recovery", "metrics_updated", {"cwnd": 14_000, "smoothed_rtt": 40_000}],
                ],
            }
        ],
    }  # fmt: skip
    (tmp_path / "a").write_text(json.dumps(value))
    trace, _ = _imported(tmp_path, tmp_path / "a")
    assert trace.select("time", "cwnd", "delivered").rows() == [(0.04, 14_000, 1200)]
    assert trace["srtt"].to_list() == pytest.approx([0.04])


def _capture(times_and_packets: list[tuple[float, bytes]]) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 101)
    return head + b"".join(
        struct.pack("<IIII", int(time), round(time % 1 * 1e6), len(data), len(data)) + data
        for time, data in times_and_packets
    )


def _tcp(*, down: bool, seq: int, ack: int, size: int, flags: int = 16) -> bytes:
    near, far = b"\x0a\0\0\2", b"\x0a\0\0\1"
    ports = (80, 4000) if down else (4000, 80)
    ends = (far, near) if down else (near, far)
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 5 << 4, flags, 1000, 0, 0)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + size, 0, 0, 64, 6, 0) + ends[0] + ends[1]
    return ip + tcp + bytes(size)


def test_capture(tmp_path: Path) -> None:
    packets = [(0.0, _tcp(down=False, seq=0, ack=0, size=0, flags=2))]
    packets += [(0.0, _tcp(down=True, seq=0, ack=1, size=0, flags=18))]
    for at in range(20):
        packets.append((at / 10 + 0.01, _tcp(down=True, seq=1 + at * 1000, ack=1, size=1000)))
        packets.append((at / 10 + 0.05, _tcp(down=False, seq=1, ack=1001 + at * 1000, size=0)))
    packets.append((2.1, _tcp(down=True, seq=19_001, ack=1, size=1000)))  # sent again
    (tmp_path / "a").write_bytes(_capture(packets) + b"\0\0\0")  # and cut off
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert flow["name"] == "TCP 10.0.0.1:80 → 10.0.0.2:4000"
    assert (flow["sent"], flow["retransmits"]) == (21, 1)
    assert flow["rtt_s"]["mean"] == pytest.approx(0.04, abs=1e-5)
    assert trace["delivered"].to_list()[-1] == 20_000
    assert metrics["warnings"] == [
        f"{tmp_path / 'a'}: it ends within a packet, at byte {len(_capture(packets))}"
    ]


def test_what_is_no_measurement_is_refused(tmp_path: Path) -> None:
    assert "iperf3 --json" in _refused(tmp_path, b"hello\n")
    assert "iperf3 --json" in _refused(tmp_path, b'{"a": 1}')
    assert "damaged" in _refused(tmp_path, b'{"qlog_version": "0.3", "traces": [')
    # Cut among the events, whose trace is not where traces are.
    for traces in ("trages", 'traces": [], "more', 'traces": [7], "more'):
        cut = f'{{"qlog_version": "0.3", "{traces}": [{{"events": [{{"time": 4'
        assert "damaged" in _refused(tmp_path, cut.encode())
    assert "damaged" in _refused(tmp_path, _capture([])[:10])
    assert "no flow" in _refused(tmp_path, _capture([]))
    assert "no flow with data; it ends within a packet" in _refused(
        tmp_path, _capture([]) + struct.pack("<IIII", 0, 0, 1 << 20, 0)
    )
    assert _refused(tmp_path, gzip.compress(b"{}" * 1000)[:-9])
