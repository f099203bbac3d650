"""Formats of other programs, in each compression, by each command: read, or refused with the commands that read it."""

from __future__ import annotations

import gzip
import json
import os
import re
from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl
import pytest

import served
from fleet_ingested import zstd
from fullpipe.wings.traces.foreign.formats import COMPRESSIONS, FORMATS, HEAD, recognized
from test_capture_connections import DATE, _transfer
from test_capture_headers import _enhanced, _pcap, _pcapng
from test_trace_import_formats import _HEAD, _METRICS, _NAMES, _qlog, _row, _sequence
from test_trace_import_formats import _transfer as _events

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

PACKED: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "gzip": gzip.compress, "zstd": zstd}
COMMANDS = {
    "trace import": ("trace", "import", "{}"),
    "trace judge": ("trace", "judge", "{}", "--as", "cubic", "--rate", "10mbit", "--rtt", "20ms", "--seeds", "0"),
    "fleet ingest --arm": ("fleet", "ingest", "--arm", "a={}"),
    "fleet ingest --nginx": ("fleet", "ingest", "--nginx", "a={}"),
    "fleet ingest --snmp": ("fleet", "ingest", "--snmp", "a={}"),
    "fleet ingest --hist": ("fleet", "ingest", "--hist", "a={}"),
    "workload extract": ("workload", "extract", "{}"),
    "workload describe": ("workload", "describe", "{}"),
}  # fmt: skip


def _stream(at: int) -> dict[str, object]:
    return {"socket": 5, "start": at, "end": at + 1.0, "seconds": 1.0, "bytes": 10**6, "bits_per_second": 8e6,
            "snd_cwnd": 14_480, "rtt": 20_000}  # fmt: skip


def _flows() -> bytes:
    file = BytesIO()
    pl.DataFrame({"start": [1.0, 2.0], "bytes": [1000, 2000]}).write_parquet(file)
    return file.getvalue()


_TWICE = [*_events(_NAMES, _METRICS), *_events(_NAMES, _METRICS, at=100)]
_FIELDS = ("ts", "id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p", "proto", "orig_bytes", "resp_bytes")  # fmt: skip
_CONN = (1.5, "10.0.0.1", 5, "10.0.0.2", 80, "tcp", 100, 2000)
SAMPLES: dict[str, bytes | str] = {
    "capture": _pcap(101, b"", _transfer(DATE, 1000)),
    "capture pcapng": _pcapng(_enhanced, _transfer(DATE, 1000)),
    "ss": "".join(
        f"@{1_700_000_000 + at}\nESTAB 0 0 10.0.0.1:443 192.0.2.7:4000\n\t cubic rto:204 rtt:20/1 mss:1448 "
        f"cwnd:10 bytes_sent:{10**6 * at + 10} bytes_acked:{10**6 * at} segs_out:9 busy:500ms\n"
        for at in range(1, 5)
    ),
    "iperf3": json.dumps(
        {
            "start": {"connected": [], "version": "iperf 3.12"},
            "intervals": [{"streams": [_stream(at)]} for at in range(3)],
            "end": {"streams": [{"sender": {"bits_per_second": 8e6}}]},
        },
        indent="\t",
    ),
    "flent": json.dumps(
        {
            "version": 4,
            "x_values": [0.0, 0.2, 0.4],
            "results": {
                "TCP download": [8.0, 8.0, 16.0],
                "TCP download::tcp_rtt": [20.0, 21.0, 20.0],
            },
            "metadata": {"SERIES_META": {"TCP download": {"UNITS": "Mbits/s"}}},
        }
    ),
    "qlog": _qlog(_TWICE),
    "qlog sequence": _sequence(_HEAD, _TWICE),
    "kernel": "\n".join(_row(float(at), delivered=100 * at) for at in range(4)),
    "zeek": "#separator \\x09\n" + "\t".join(("#fields", *_FIELDS)) + "\n" + "\t".join(map(str, _CONN)) + "\n",
    "zeek json": json.dumps(dict(zip(_FIELDS, _CONN, strict=True))),
    "csv": "start,bytes\n1,1000\n2,2000\n",
    "nginx": '192.0.2.7 - - [17/Dec/2019:10:00:00 +0000] "GET / HTTP/1.1" 200 5000 "-" "curl"\n',
    "snmp": "@1700000000\nTcp: InSegs OutSegs RetransSegs\nTcp: 10 20 1\n"
    "@1700000010\nTcp: InSegs OutSegs RetransSegs\nTcp: 20 40 2\n",
    "hist": "@1700000000\n@rtt_us:\n[2, 4)              10 |@@@@@@@@@@ |\n",
    "parquet": _flows(),
}  # fmt: skip


def _called(
    command: str, directory: Path, data: bytes
) -> tuple[subprocess.CompletedProcess[str], Path]:
    directory.mkdir(exist_ok=True)
    file, out = directory / "file", directory / "out"
    file.write_bytes(data)
    words = [word.replace("{}", str(file)) for word in COMMANDS[command]]
    if command not in ("trace judge", "workload describe"):
        words += ["--out", str(out)]
    return served.command(*words), out


def _shown(done: subprocess.CompletedProcess[str], out: Path, directory: Path) -> object:
    """Returns what a command says and keeps, without its directory and what depends on it or on the time."""
    text = re.sub(r"\d+(\.\d+)? [km]?s\b|[\d.,]+ k?MB?(/s)?", "", done.stdout).replace(
        str(directory), ""
    )
    if (out / "trace.parquet").exists():
        return text, pl.read_parquet(out / "trace.parquet").rows()
    if out.is_dir():
        tables = (pl.read_parquet(file).drop("host") for file in sorted(out.rglob("*.parquet")))
        return [table.drop("connection", strict=False).rows() for table in tables]
    return pl.read_parquet(out).rows() if out.is_file() else text  # fmt: skip


def test_every_format_has_a_sample_and_is_recognized_in_it() -> None:
    assert {name.split()[0] for name in SAMPLES} == set(FORMATS)
    assert set(PACKED) == {"plain", *COMPRESSIONS}
    for name, sample in SAMPLES.items():
        data = sample if isinstance(sample, bytes) else sample.encode()
        assert recognized(data[:HEAD]) == FORMATS[name.split()[0]], name


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", SAMPLES)
def test_a_command_reads_a_format_or_names_those_that_do(
    tmp_path: Path, name: str, command: str
) -> None:
    found, sample = FORMATS[name.split()[0]], SAMPLES[name]
    data = sample if isinstance(sample, bytes) else sample.encode()
    # It extracts the flows itself.
    reads = command in found.readers or (
        command == "workload describe" and "workload extract" in found.readers
    )
    shown = []
    for packed, pack in PACKED.items():
        if not reads or (packed != "plain" and name == "parquet"):
            continue
        done, out = _called(command, tmp_path / packed, pack(data))
        assert done.returncode in ((0, 1, 3) if command == "trace judge" else (0,)), done.stderr
        shown.append(_shown(done, out, tmp_path / packed))
    assert all(each == shown[0] for each in shown)
    for packed, pack in PACKED.items():
        if reads:
            continue
        done, out = _called(command, tmp_path / packed, pack(data))
        assert done.returncode == 2
        assert f"file: {found.what}, which " in done.stderr
        (fix,) = [line for line in done.stderr.splitlines() if line.startswith("  fix: ")]
        assert all(f"fullpipe {reader}" in fix for reader in found.readers)
        assert not out.exists()


@pytest.mark.parametrize(
    "times",
    [
        ("@1576576800.25", "@1576576801.25"),
        ("# 2019-12-17T10:00:00.25Z", "# 2019-12-17T10:00:01.25Z"),
        ("=== 2019-12-17 19:00:00.25+09:00 ===", "=== 2019-12-17 19:00:01.25+09:00 ==="),
        ("Tue Dec 17 10:00:00 UTC 2019", "Tue Dec 17 10:00:01 UTC 2019"),
        ("time: 1576576800", "time: 1576576801"),
    ],
)
@pytest.mark.parametrize("before", [False, True])
def test_listings_have_the_same_times_for_an_import_and_a_fleet(
    tmp_path: Path, times: tuple[str, str], *, before: bool
) -> None:
    socket = "ESTAB 0 0 10.0.0.1:443 192.0.2.7:https"
    info = "\t cubic rto:204 rtt:20/1 mss:1000 cwnd:10 bytes_sent:{0} bytes_acked:{0} segs_out:9"
    listings = [(time, [socket, info.format(50_000 * at)]) for at, time in enumerate(times, 1)]
    if before:  # as `ts` of moreutils writes them
        if times[0][0] in "#=t":
            return
        lines = [f"{time} {line}" for time, both in listings for line in both]
    else:
        lines = [line for time, both in listings for line in (time, *both)]
    data = ("\n".join(lines) + "\n").encode()
    done, out = _called("trace import", tmp_path / "import", data)
    assert done.returncode == 0, done.stderr
    trace = pl.read_parquet(out / "trace.parquet")
    assert trace.select("time", "delivered").rows() == [(0.0, 50_000), (1.0, 100_000)]
    assert trace["flow"][0] == "TCP 10.0.0.1:443 → 192.0.2.7:https"
    done, out = _called("fleet ingest --arm", tmp_path / "fleet", data)
    assert done.returncode == 0, done.stderr
    (file,) = out.glob("connections/**/*.parquet")
    row = pl.read_parquet(file).row(0, named=True)
    assert (row["observed_s"], row["samples"], row["bytes_acked"]) == (1.0, 2, 100_000)


def test_a_line_that_is_no_sockets_is_told_by_both(tmp_path: Path) -> None:
    sample = SAMPLES["ss"]
    assert isinstance(sample, str)
    data = (sample + "ESTAB 0 x 10.0.0.1:443 192.0.2.7:4000\n").encode()
    done, _ = _called("trace import", tmp_path, data)
    assert "a line can't be read, first line 13: Send-Q is not a number" in done.stderr
    done, _ = _called("fleet ingest --arm", tmp_path / "fleet", data)
    assert "Send-Q is not a number" in done.stdout + done.stderr


def test_a_file_of_several_formats_is_read_by_the_options_for_each(tmp_path: Path) -> None:
    """The reader of histograms ignores other output of a program."""
    both = "".join(str(SAMPLES[name]) for name in ("ss", "hist")).encode()
    for option in ("--arm", "--hist"):
        done, _ = _called(f"fleet ingest {option}", tmp_path / option, both)
        assert done.returncode == 0, done.stderr


def test_a_log_of_numbers_and_addresses_is_no_listing(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("300 5000 192.0.2.7:4000 10.0.0.1:443 0.250 1576576800.000\n")
    form = "$request_length $bytes_sent $remote_addr:$remote_port $server_addr:$server_port $request_time $msec"
    words = ("--nginx", f"a={tmp_path / 'log'}", "--log-format", form, "--out", tmp_path / "out")
    done = served.command("fleet", "ingest", *words)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["trace import", "trace judge", "workload extract"])
def test_a_pipe_is_refused(tmp_path: Path, command: str) -> None:
    os.mkfifo(tmp_path / "file")
    words = [word.replace("{}", str(tmp_path / "file")) for word in COMMANDS[command]]
    done = served.command(
        *words, *(() if command == "trace judge" else ("--out", tmp_path / "out"))
    )
    assert done.returncode == 2
    assert "is a pipe or a device, but must be read more than once" in done.stderr
