"""`fullpipe trace import`: how files of tools and versions differ, each as the smallest sample of its own."""

from __future__ import annotations

import gzip
import json
import struct
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import served
from test_trace_import import _capture, _imported

if TYPE_CHECKING:
    from pathlib import Path


def _qlog(events: list[Any], **trace: object) -> str:
    return json.dumps({"qlog_version": "0.3", "traces": [{**trace, "events": events}]})


def _sequence(head: dict[str, Any], events: list[Any]) -> str:
    return "".join(f"\x1e{json.dumps(record)}\n" for record in (head, *events))


def _transfer(
    names: tuple[str, str, str], metrics: dict[str, float], *, at: float = 0.0
) -> list[dict[str, Any]]:
    """Returns a packet sent, its ACK 40 ms later, and metrics after it, with times in milliseconds."""
    header = {"packet_type": "1RTT", "packet_number": 0}
    ack = {"frame_type": "ack", "acked_ranges": [[0]]}
    sent, received, updated = names
    return [
        {"time": at, "name": sent, "data": {"header": header, "raw": {"length": 1200}}},
        {"time": at + 40, "name": received, "data": {"header": header, "frames": [ack]}},
        {"time": at + 40, "name": updated, "data": metrics},
    ]


_NAMES = ("transport:packet_sent", "transport:packet_received", "recovery:metrics_updated")
_LATER = ("quic:packet_sent", "quic:packet_received", "quic:recovery_metrics_updated")
_METRICS = {"congestion_window": 14_000, "latest_rtt": 40.0, "smoothed_rtt": 40.0}
_HEAD = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {}}
_SEQUENTIAL = {
    "file_schema": "urn:ietf:params:qlog:file:sequential",
    "serialization_format": "application/qlog+json-seq",
    "trace": {"common_fields": {"time_format": "relative_to_epoch"}},
}
_UNKNOWN = {"packet_type": "UNKNOWN", "header": {"packet_number": "0", "packet_size": 1200}}
_ACK = {"frame_type": "ACK", "acked_ranges": [["0", "0"]]}
_OLD = [
    ["0", "TRANSPORT", "PACKET_SENT", _UNKNOWN],
    ["40000", "TRANSPORT", "PACKET_RECEIVED", {**_UNKNOWN, "frames": [_ACK]}],
    ["40000", "RECOVERY", "METRIC_UPDATE", {"cwnd": 14_000, "latest_rtt": 40_000, "smoothed_rtt": 40_000}],
]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        _sequence(_HEAD, _transfer(_NAMES, _METRICS)),
        # quiche and others after draft 0.4, and a header of draft 12
        _sequence(_SEQUENTIAL, _transfer(_LATER, _METRICS, at=1.7e12)),
        # aioquic: absolute times, "cwnd"
        _qlog(
            _transfer(_NAMES, {**_METRICS, "cwnd": 14_000}, at=1.7e12),
            vantage_point={"type": "server"},
        ),
        # quinn before 2026-05: RTTs in seconds
        _sequence(
            _HEAD,
            _transfer(_NAMES, {**_METRICS, "latest_rtt": 0.04, "smoothed_rtt": 0.04}),
        ),
        # quictrace's converter, of draft 00: capitals, numbers as texts, microseconds, an empty event
        _qlog(
            [*_OLD, []],
            configuration={"time_units": "us"},
            event_fields=["relative_time", "CATEGORY", "EVENT_TYPE", "DATA"],
        ),
    ],
    ids=["0.3", "after-0.4", "aioquic", "seconds", "draft-00"],
)
def test_qlogs_of_different_versions_say_the_same(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    assert trace.select("cwnd", "delivered").rows() == [(14_000, 1200)]
    assert trace["time"].to_list() == pytest.approx([0.04])
    assert trace["srtt"].to_list() == pytest.approx([0.04])
    (flow,) = metrics["flows"]
    assert flow["rtt_s"]["mean"] == pytest.approx(0.04)


def test_a_lost_packet_of_qlog_is_lost_and_not_sent_again(tmp_path: Path) -> None:
    lost = {"time": 60, "name": "recovery:packet_lost", "data": {"header": {"packet_number": 1}}}
    again = {"packet_type": "1RTT", "packet_number": 1}
    sent = {"time": 1, "name": _NAMES[0], "data": {"header": again, "raw": {"length": 1000}}}
    initial = {"type": "initial", "packet_number": 0}
    handshake = {"time": 61, "name": "recovery:packet_lost", "data": initial}
    first, *rest = _transfer(_NAMES, _METRICS)
    last = {"time": 70, "name": _NAMES[2], "data": {"congestion_window": 7_000}}
    (tmp_path / "a").write_text(_qlog([first, sent, *rest, lost, handshake, last]))
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert (flow["retransmits"], flow["sent"], flow["loss_fraction"]) == (None, 2, 1.0)
    assert trace["lost"].to_list() == [0, 1000]
    assert trace["lost_packets"].to_list() == [0, 2]
    assert trace["retransmits"].is_null().all()


def test_times_since_the_previous_event_add_up_over_all_groups(tmp_path: Path) -> None:
    def event(time: float, group: str) -> dict[str, Any]:
        return {"time": time, "group_id": group, "name": _NAMES[2], "data": {"cwnd": 10_000}}

    events = [event(0, "a"), event(10, "b"), event(10, "a")]
    common = {"time_format": "relative_to_previous_event"}
    (tmp_path / "a").write_text(_qlog(events, common_fields=common))
    trace, _ = _imported(tmp_path, tmp_path / "a")
    assert trace.select("time", "flow").rows() == [(0.0, "a"), (0.01, "b"), (0.02, "a")]


def test_a_qlog_of_packets_alone_has_the_rates_and_rtts_of_their_acks(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(_qlog(_transfer(_NAMES, {})[:2], vantage_point={"type": "client"}))
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    assert trace.select("time", "flow", "delivered").rows() == [(0.04, "QUIC client", 1200)]
    assert metrics["flows"][0]["rtt_s"]["mean"] == pytest.approx(0.04)


def test_an_ack_before_its_packet_gives_no_rtt(tmp_path: Path) -> None:
    sent, received, _ = _transfer(_NAMES, {})
    (tmp_path / "a").write_text(_qlog([{**sent, "time": 50}, received]))
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    assert trace.select("time", "delivered", "rtt").rows() == [(0.04, 1200, None)]
    assert metrics["flows"][0]["rtt_s"]["mean"] is None


def test_the_paths_of_picoquics_multipath_are_flows(tmp_path: Path) -> None:
    fields = ["relative_time", "path_id", "category", "event", "data"]
    events = [[1000 * at, at, "recovery", "metrics_updated", {"cwnd": 10_000}] for at in range(2)]
    units = {"time_units": "us"}
    (tmp_path / "a").write_text(_qlog(events, event_fields=fields, configuration=units))
    trace, _ = _imported(tmp_path, tmp_path / "a")
    assert trace.select("time", "flow").rows() == [(0.0, "QUIC"), (0.001, "path 1")]


def test_pings_of_flent_are_no_flows_and_sums_are_left_out(tmp_path: Path) -> None:
    results = {
        "Ping (ms) ICMP": [10.0, 20.0],
        "Ping (ms) avg": [10.0, 20.0],
        "HTTP latency": [1.0, 3.0],
        "TCP upload::1": [8.0, 8.0],
        "TCP upload::1::tcp_cwnd": [10, 10],
        "TCP upload::1::tcp_delivery_rate": [99.0, 99.0],
        "TCP upload sum": [8.0, 8.0],
        "qdisc_stats_host::dropped": [3, 4],
    }
    units = {"TCP upload::1": "Mbits/s", "TCP upload sum": "Mbits/s", "HTTP latency": "ms"}
    about = {name: {"UNITS": unit, "MEAN_VALUE": 7.5} for name, unit in units.items()}
    value = {
        "version": 4,
        "x_values": [0, 1],
        "results": results,
        "metadata": {"SERIES_META": about},
    }
    (tmp_path / "a").write_bytes(gzip.compress(json.dumps(value).encode()))
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    of = {flow["name"]: flow for flow in metrics["flows"]}
    assert list(of) == ["TCP upload::1", "Ping (ms) ICMP", "HTTP latency"]
    assert (of["TCP upload::1"]["goodput_bps"], metrics["jain"]) == (7.5e6, 1)
    assert trace.filter(flow="TCP upload::1")["cwnd"].to_list() == [14_480, 14_480]
    ping = of["Ping (ms) ICMP"]
    assert (ping["cc"], ping["goodput_bps"], ping["rtt_s"]["max"]) == ("ping", None, 0.02)
    assert (of["HTTP latency"]["responses"], of["HTTP latency"]["response_s"]["max"]) == (2, 0.003)


def test_a_sum_that_no_counter_holds_is_missing(tmp_path: Path) -> None:
    value = {
        "x_values": [0, 4e11],
        "results": {"TCP upload": [7e11, 7e11]},
        "metadata": {"SERIES_META": {"TCP upload": {"UNITS": "Mbits/s"}}},
    }
    (tmp_path / "a").write_text(json.dumps(value))
    trace, _ = _imported(tmp_path, tmp_path / "a")
    assert trace["delivered"].to_list() == [0, None]


def test_what_a_file_does_not_tell_is_missing_and_not_zero(tmp_path: Path) -> None:
    value = {"x_values": [0, 1], "results": {"TCP download": [8.0, 8.0]}}
    (tmp_path / "a").write_text(json.dumps(value))
    (tmp_path / "b").write_text(_qlog(_transfer(_NAMES, _METRICS)))
    _, metrics = _imported(tmp_path, tmp_path / "a", tmp_path / "b")
    flow = metrics["flows"][0]
    for name in ("sent", "retransmits", "loss_fraction", "drops", "marks", "ack_drops", "frames"):
        assert flow[name] is None, name
    page = tmp_path / "page"
    done = served.command("report", tmp_path / "imported", "--format", "md", "--out", page)
    assert done.returncode == 0, done.stderr
    text = (page / "report.md").read_text()
    (row,) = [line for line in text.splitlines() if line.startswith("| TCP download")]
    assert [cell.strip() for cell in row.split("|")[2:5]] == ["8.00", "–", "–"]
    assert "No packet was lost" not in text


def test_ss_with_a_filter_on_one_line_and_with_ipv6(tmp_path: Path) -> None:
    ends = "[2001:db8::1]:5201 [2001:db8::2]:40000"
    info = "cubic wscale:7,7 rto:240 rtt:40.5/0.2 mss:1448 cwnd:10 bytes_acked:{} data_segs_out:{}"
    lines = [
        "Recv-Q Send-Q Local Address:Port Peer Address:Port Process",
        '0 0 {} users:(("iperf3",pid=1,fd=2)) timer:(on,200ms,0) {}',
    ]
    text = "".join(
        f"@{1_700_000_000 + at}\n{lines[0]}\n{lines[1].format(ends, info.format(125_000 * at, 90 * at))}\n"
        for at in range(1, 4)
    )
    (tmp_path / "a").write_text(text)
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert flow["name"] == "TCP [2001:db8::1]:5201 → [2001:db8::2]:40000"
    assert (flow["cc"], flow["goodput_bps"], flow["sent"]) == ("cubic", 1e6, 270)
    assert trace["time"].to_list() == [0, 1, 2]


def test_the_control_connection_among_those_of_ss_is_no_flow(tmp_path: Path) -> None:
    line = (
        "ESTAB 0 0 10.0.0.1:{0} 10.0.0.2:5201\n\tcubic rto:200 mss:1448 cwnd:10 bytes_acked:{1}\n"
    )
    text = "".join(
        f"{1_700_000_000 + at}.0\n{line.format(1, 300 + at)}{line.format(2, 125_000 * at)}"
        for at in range(3)
    )
    (tmp_path / "a").write_text(text)
    _, metrics = _imported(tmp_path, tmp_path / "a")
    assert [flow["name"] for flow in metrics["flows"]] == ["TCP 10.0.0.1:2 → 10.0.0.2:5201"]


def _stamped(*, down: bool, seq: int, ack: int, size: int, stamp: int, echo: int) -> bytes:
    """Returns a TCP segment over IPv6 with timestamps."""
    ports = (80, 4000) if down else (4000, 80)
    head = struct.pack(">HHIIBBHHH", *ports, seq, ack, 8 << 4, 16, 1000, 0, 0)
    options = struct.pack(">BBBBII", 1, 1, 8, 10, stamp, echo)
    return _ipv6(down=down, protocol=6, payload=head + options + bytes(size))


def test_waits_of_the_application_are_not_the_rtt_of_a_capture(tmp_path: Path) -> None:
    packets = []
    # At the sender, which has two segments every 100 ms, and sends the second when the first is acknowledged.
    for at in range(60):
        sent = at // 2 / 10 + at % 2 * 0.0201
        edge, now = 1 + 1000 * at, round(1e4 * sent)
        data = _stamped(down=True, seq=edge, ack=1, size=1000, stamp=now + 1, echo=at)
        ack = _stamped(down=False, seq=1, ack=edge + 1000, size=0, stamp=at + 1, echo=now + 1)
        packets += [(sent, data), (sent + 0.02, ack)]
    (tmp_path / "a").write_bytes(_pcapng(packets))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    assert metrics["flows"][0]["rtt_s"]["max"] == pytest.approx(0.02, abs=1e-4)


def _pcapng(times_and_packets: list[tuple[float, bytes]]) -> bytes:
    """Returns a capture of big-endian pcapng with Ethernet frames and times in nanoseconds."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack(">II", kind, len(body) + 12) + body + struct.pack(">I", len(body) + 12)

    section = block(0x0A0D0D0A, struct.pack(">IHHq", 0x1A2B3C4D, 1, 0, -1))
    options = struct.pack(">HHBxxxHH", 9, 1, 9, 0, 0)
    interface = block(1, struct.pack(">HHI", 1, 0, 0) + options)
    packets = b""
    for time, data in times_and_packets:
        frame = bytes(12) + b"\x81\x00\x00\x05" + b"\x86\xdd" + data
        stamp = round(time * 1e9)
        head = struct.pack(">IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, len(frame), len(frame))
        packets += block(6, head + frame)
    return section + interface + block(5, bytes(12)) + packets


def _ipv6(*, down: bool, protocol: int, payload: bytes, extension: bytes = b"") -> bytes:
    near, far = (bytes.fromhex("20010db8") + bytes(11) + bytes((host,)) for host in (2, 1))
    inner = extension + payload
    head = struct.pack(">IHBB", 6 << 28, len(inner), 0 if extension else protocol, 64)
    return head + (far + near if down else near + far) + inner


def _udp(payload: bytes, *, down: bool, port: int = 443) -> bytes:
    ports = (port, 4000) if down else (4000, port)
    return struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload


def test_tcp_over_ipv6_in_pcapng_with_vlan_and_an_extension_header(tmp_path: Path) -> None:
    def tcp(seq: int, size: int) -> bytes:
        return struct.pack(">HHIIBBHHH", 443, 4000, seq, 1, 5 << 4, 16, 1000, 0, 0) + bytes(size)

    hop = bytes((6, 0, 1, 4, 0, 0, 0, 0))
    packets = [
        (at / 10, _ipv6(down=True, protocol=6, payload=tcp(1 + 1000 * at, 1000), extension=hop))
        for at in range(20)
    ]
    (tmp_path / "a").write_bytes(_pcapng(packets))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert flow["name"] == "TCP [2001:db8::1]:443 → [2001:db8::2]:4000"
    assert (flow["sent"], flow["retransmits"]) == (20, 0)


def _spinning(first: bytes, *, port: int, reordered: bool) -> list[tuple[float, bytes]]:
    """Returns 2 s of a datagram every 2 ms whose spin bit changes every 40 ms."""
    packets = []
    for at in range(1000):
        spin = at // 20 % 2
        if reordered and at % 200 == 101:
            spin = 1 - spin  # a packet of before the edge comes after it
        short = bytes((0x40 | spin << 5,)) + bytes(1000)
        datagram = _udp(first if at == 0 and first else short, down=True, port=port)
        packets.append((at / 500, _ipv6(down=True, protocol=17, payload=datagram)))
    return packets


@pytest.mark.parametrize("reordered", [False, True])
def test_quic_over_ipv6_has_the_rtt_of_its_spin_bit(tmp_path: Path, reordered: bool) -> None:
    initial = bytes((0xC0, 0, 0, 0, 1)) + bytes(1195)
    (tmp_path / "a").write_bytes(_pcapng(_spinning(initial, port=4433, reordered=reordered)))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert flow["name"] == "QUIC [2001:db8::1]:4433 → [2001:db8::2]:4000"
    assert flow["rtt_s"]["p50"] == pytest.approx(0.04, abs=1e-3)
    assert flow["rtt_s"]["min"] > 0.025
    assert flow["goodput_bps"] == pytest.approx(8 * 1000 * 500, rel=0.02)
    assert flow["retransmits"] is flow["loss_fraction"] is None


@pytest.mark.parametrize(("size", "flows"), [(40, 1), (100, 2)])
def test_the_acks_of_quic_are_no_flow(tmp_path: Path, size: int, flows: int) -> None:
    initial = bytes((0xC0, 0, 0, 0, 1)) + bytes(1195)
    acks = [
        (
            time,
            _ipv6(
                down=False,
                protocol=17,
                payload=_udp(bytes((0x40,)) + bytes(size), down=False, port=4433),
            ),
        )
        for time in (at / 500 for at in range(1000))
    ]
    packets = sorted(
        [*_spinning(initial, port=4433, reordered=False), *acks], key=lambda each: each[0]
    )
    (tmp_path / "a").write_bytes(_pcapng(packets))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    assert len(metrics["flows"]) == flows
    assert metrics["jain"] == pytest.approx(1.0 if flows == 1 else 0.6, abs=0.02)


def test_a_random_spin_bit_gives_no_rtt_and_other_udp_is_not_quic(tmp_path: Path) -> None:
    packets = []
    for at in range(200):
        datagram = _udp(bytes((0x40 | at % 2 << 5,)) + bytes(1000), down=True)
        packets.append((at / 200, _ipv6(down=True, protocol=17, payload=datagram)))
    packets += _spinning(b"", port=5201, reordered=False)
    (tmp_path / "a").write_bytes(_pcapng(packets))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    of = {flow["name"].split(" →")[0]: flow for flow in metrics["flows"]}
    assert sorted(of) == ["QUIC [2001:db8::1]:443", "UDP [2001:db8::1]:5201"]
    assert [flow["rtt_s"]["mean"] for flow in of.values()] == [None, None]


def test_udp_of_iperf3_has_its_losses(tmp_path: Path) -> None:
    stream = {"socket": 5, "end": 1, "bytes": 1_000_000, "bits_per_second": 8e6, "packets": 1000}
    udp = {"bits_per_second": 8e6, "jitter_ms": 0.1, "lost_packets": 10, "packets": 1000}
    value = {"start": {}, "intervals": [{"streams": [stream]}], "end": {"streams": [{"udp": udp}]}}
    (tmp_path / "a").write_text(json.dumps(value))
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    (flow,) = metrics["flows"]
    assert (flow["sent"], flow["retransmits"], flow["loss_fraction"]) == (1000, None, 0.01)
    assert trace["retransmits"].to_list() == [None]


def test_a_capture_without_packets_of_flows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(_capture([(0.0, b"\x60" + bytes(60))]))
    done = served.command("trace", "import", tmp_path / "a", "--out", tmp_path / "none")
    assert (done.returncode, "no flow" in done.stderr) == (2, True)


def _row(time: float, **values: object) -> str:
    row = {
        "time": time,
        "cc": "fp_bbr3",
        "flow": "10.0.0.1:443 → 10.0.0.2:5000",
        "connection": 1,
        "kind": 0,
        "state": 0,
        "mss": 1000,
        "cwnd": 10,
        "ssthresh": 0x7FFFFFFF,
        "inflight": 4,
        "delivered": 0,
        "delivered_ce": 0,
        "lost": 0,
        "pacing_rate": 125_000,
        "bw": 0,
        "srtt": 20_000,
        "rtt": 0,
        "min_rtt": 10_000,
    }
    return json.dumps(row | values)


def test_rows_of_the_kernel_have_bytes_seconds_and_counters_that_wrap(tmp_path: Path) -> None:
    rows = [
        _row(0.0, kind=1, delivered=2**32 - 10),
        _row(1.0, delivered=2**32 - 10, state=1),
        _row(2.0, delivered=90, delivered_ce=5, lost=2, rtt=30_000, ssthresh=8, bw=250_000),
        _row(2.5, delivered=90, connection=2, flow="10.0.0.2:5000 → 10.0.0.1:443"),
        _row(3.0, kind=2, cwnd=1, delivered=90, delivered_ce=5, lost=2),
        json.dumps({"lost": 3}),
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows) + "\n")
    trace, metrics = _imported(tmp_path, tmp_path / "rows.jsonl")
    assert metrics["warnings"] == [
        "3 rows are missing: the kernel's buffer was full; record one port, or fewer rows"
    ]
    (flow,) = metrics["flows"]  # the other direction has only ACKs
    assert (flow["cc"], flow["marks"], flow["name"]) == ("bbr3", 5, "10.0.0.1:443 → 10.0.0.2:5000")
    own = trace.filter(trace["flow"].cast(str) == flow["name"])
    assert own["time"].to_list() == [0.0, 1.0, 2.0]
    assert own["delivered"].to_list() == [0, 0, 100_000]
    assert (flow["loss_fraction"], flow["goodput_bps"]) == (2 / 102, 400_000)
    assert own["ssthresh"].to_list() == [None, None, 8000.0]
    assert own["pacing_rate"].to_list() == [1e6] * 3
    assert own["delivery_rate"].to_list() == [None, None, 2e6]
    assert own["rtt"].to_list() == [None, None, pytest.approx(0.03)]


def _steady(*, flight: int = 40, unit: float = 1.0, pacing: float = 0.0) -> list[dict[str, Any]]:
    """Returns a packet of 1,000 bytes each millisecond, the metrics after it, and `flight` packets in flight."""
    events: list[dict[str, Any]] = []
    for at in range(400):
        header = {"packet_type": "1RTT", "packet_number": at, "length": 1000}
        events.append({"time": at, "name": _NAMES[0], "data": {"header": header}})
        data: dict[str, Any] = {"bytes_in_flight": 1000 * min(at + 1, flight)}
        if at < flight:  # a stack's assumption, before its first sample
            data |= {"latest_rtt": 333 * unit, "smoothed_rtt": 333 * unit, "min_rtt": 333 * unit}
        else:
            rtt = (flight + at / 1e4) * unit
            data |= {"latest_rtt": rtt, "smoothed_rtt": flight * unit, "min_rtt": flight * unit}
        if pacing:
            data["pacing_rate"] = pacing
        events.append({"time": at, "name": _NAMES[2], "data": data})
    return events


@pytest.mark.parametrize("unit", [1.0, 1e-3], ids=["milliseconds", "seconds"])
def test_a_qlog_without_acks_has_what_is_neither_in_flight_nor_lost(
    tmp_path: Path, unit: float
) -> None:
    lost = {"packet_type": "1RTT", "packet_number": 300, "length": 1000}
    events = [
        *_steady(unit=unit)[:700],
        {"time": 351, "name": "recovery:packet_lost", "data": {"header": lost}},
        {"time": 351, "name": _NAMES[2], "data": {"bytes_in_flight": 39_000}},
    ]
    (tmp_path / "a").write_text(_sequence(_HEAD, events))
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    known = trace.filter(trace["rtt"].is_not_null())
    assert known["time"].min() == pytest.approx(0.040), (
        "no RTT is longer than the connection is old"
    )
    assert known["rtt"].min() == pytest.approx(0.040, rel=1e-3)
    assert known["rtt"].max() == pytest.approx(0.040, rel=1e-3)
    assert trace["delivered"].to_list()[-2:] == [310_000, 310_000]
    (flow,) = metrics["flows"]
    assert flow["loss_fraction"] == pytest.approx(1 / 350)
    assert flow["goodput_bps"] == pytest.approx(8e6, rel=0.15)


def test_an_rtt_of_0_is_none(tmp_path: Path) -> None:
    first, *rest = _transfer(_NAMES, _METRICS)
    before = {"time": 0, "name": _NAMES[2], "data": {"congestion_window": 9000, "latest_rtt": 0}}
    (tmp_path / "a").write_text(_sequence(_HEAD, [first, before, *rest]))
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    assert trace["rtt"].to_list() == [None, pytest.approx(0.04)]
    assert metrics["flows"][0]["rtt_s"]["min"] == pytest.approx(0.04)


@pytest.mark.parametrize(("written", "bits"), [(1e6, 8e6), (8e6, 8e6)], ids=["bytes", "bits"])
def test_pacing_rates_of_quiche_are_bytes(tmp_path: Path, written: float, bits: float) -> None:
    (tmp_path / "a").write_text(_sequence(_SEQUENTIAL, _steady(pacing=written)))
    trace, _ = _imported(tmp_path, tmp_path / "a")
    assert set(trace["pacing_rate"].to_list()) == {bits}


def test_losses_of_quiche_are_those_of_its_metrics(tmp_path: Path) -> None:
    lost = {"cf_lost_packets": {"total": 3, "delta": 3}}
    last = {"time": 60, "name": _LATER[2], "data": {"bytes_in_flight": 0, **lost}}
    (tmp_path / "a").write_text(_sequence(_SEQUENTIAL, [*_transfer(_LATER, _METRICS), last]))
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    assert trace["lost_packets"].to_list()[-1] == 3
    assert trace["lost"].to_list()[-1] is None, "it does not tell their bytes"
    assert metrics["flows"][0]["loss_fraction"] == 3.0


@pytest.mark.parametrize("left", [1, 40, 120])
def test_a_cut_qlog_has_its_whole_events(tmp_path: Path, left: int) -> None:
    text = _qlog(_transfer(_NAMES, _METRICS) + _transfer(_NAMES, {"cwnd": 15_000}, at=100))
    (tmp_path / "a").write_text(text[:-left])
    trace, metrics = _imported(tmp_path, tmp_path / "a")
    assert trace["cwnd"].to_list()[0] == 14_000
    assert "cut off" in metrics["warnings"][0]
    (tmp_path / "b").write_text(text[:20])
    done = served.command("trace", "import", tmp_path / "b", "--out", tmp_path / "none")
    assert (done.returncode, "damaged" in done.stderr) == (2, True)


def test_flows_that_all_stand_still_are_fair(tmp_path: Path) -> None:
    """Jain's index is 1 where all rates are zero, from every source."""
    names = ["TCP upload::1", "TCP upload::2"]
    about = {name: {"UNITS": "Mbits/s", "MEAN_VALUE": 0.0} for name in names}
    value = {
        "version": 4,
        "x_values": [0, 1],
        "results": {name: [0.0, 0.0] for name in names},
        "metadata": {"SERIES_META": about},
    }
    (tmp_path / "a").write_bytes(gzip.compress(json.dumps(value).encode()))
    _, metrics = _imported(tmp_path, tmp_path / "a")
    assert (len(metrics["flows"]), metrics["jain"]) == (2, 1)


@pytest.mark.parametrize("capitals", [False, True])
def test_windows_and_losses_of_mvfst_have_their_own_events(
    tmp_path: Path, *, capitals: bool
) -> None:
    """Before 2025 it wrote arrays, microseconds as texts, and losses of several packets at once."""

    def event(time: int, name: str, **data: object) -> list[object]:
        return [str(time), "recovery", name.upper() if capitals else name, data]

    def metrics(time: int, cwnd: int, state: str) -> list[object]:
        own = {
            "current_cwnd": cwnd,
            "bytes_in_flight": 2500,
            "congestion_event": "",
            "state": state,
        }
        return event(time, "congestion_metric_update", **own)

    ack = {"frame_type": "ack", "acked_ranges": [[0, 1]]}
    events = [
        *(
            event(at, "packet_sent", packet_type="1RTT", header={"packet_number": at, "packet_size": 1250})
            for at in range(6)
        ),
        event(50_000, "packet_received", packet_type="1RTT", header={"packet_number": 0}, frames=[ack]),
        event(50_000, "metric_update", latest_rtt=50_000, smoothed_rtt=50_000, min_rtt=50_000),
        metrics(50_000, 25_000, "Steady"),
        event(60_000, "packets_lost", largest_lost_packet_num=3, lost_bytes=2500, lost_packets=2),
        metrics(60_000, 17_500, "Recovery"),
    ]  # fmt: skip
    fields = ["relative_time", "category", "event", "data"]
    (tmp_path / "a").write_text(
        _qlog(events, event_fields=fields, configuration={"time_units": "us"})
    )
    trace, metrics_json = _imported(tmp_path, tmp_path / "a")
    columns = ["time", "cwnd", "inflight", "delivered", "lost", "lost_packets"]
    assert trace.select(columns).with_columns(pl.col("time").round(6)).rows()[1:] == [
        (0.05, 25_000, 2500, 2500, 0, 0),
        (0.06, 17_500, 2500, 2500, 2500, 2),
    ]
    (flow,) = metrics_json["flows"]
    assert flow["loss_fraction"] == pytest.approx(2 / 6)
    assert flow["rtt_s"]["max"] == pytest.approx(0.05)
    changes = pl.read_parquet(tmp_path / "imported" / "transitions.parquet")
    assert changes["to"].to_list() == ["Steady", "Recovery"]
