"""`fullpipe workload`: flows from captures of the kernel's TCP, from logs and bad files, and the output."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from click.testing import CliRunner

from fullpipe import workload
from fullpipe.commands import app
from fullpipe.wings.fleet.workload.describe import by_bytes, decades, describe
from fullpipe.wings.fleet.workload.flows import FlowsError

if TYPE_CHECKING:
    from conftest import Fullpipe


def _told(directory: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str]:
    """Runs the command in this process, which is faster; returns its exit code and standard error."""
    monkeypatch.chdir(directory)
    done = CliRunner().invoke(app, ["workload", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stderr


CAPTURES = Path(__file__).parents[2].parent / "captures"

# Transfers of known sizes, both ways, some with a pause: (bytes up, bytes down, pause in ms before
# the second half).
TRANSFERS = [
    (
        random.Random(number).choice([1, 99, 1448, 1449, 20_000]),
        int(10 ** random.Random(-number).uniform(0, 5.3)),
        0,
    )
    for number in range(120)
] + [(10, 40_000, 300), (70_000, 10, 0), (1, 1, 250), (0, 0, 0)]

SERVER = """
import json, socket, sys, threading, time
transfers = json.loads(sys.argv[1])
def serve(client):
    with client:
        up, down, pause = transfers[int.from_bytes(client.recv(2, socket.MSG_WAITALL))]
        left = up
        while left:
            left -= len(client.recv(min(left, 1 << 16)))
        client.sendall(bytes(down // 2))
        time.sleep(pause / 1000)
        client.sendall(bytes(down - down // 2))
with socket.create_server(("0.0.0.0", 7000), backlog=300) as server:
    while True:
        threading.Thread(target=serve, args=server.accept()[:1], daemon=True).start()
"""
CLIENT = """
import json, socket, sys, threading, time
transfers = json.loads(sys.argv[1])
ports = {}
def fetch(number):
    up, down, _ = transfers[number]
    # A port of its own: the system may give one again as soon as its connection is over.
    with socket.create_connection(("100.64.0.1", 7000), source_address=("", 20_000 + number)) as server:
        ports[server.getsockname()[1]] = number
        server.sendall(number.to_bytes(2) + bytes(up))
        got = 0
        while more := len(server.recv(1 << 16)):
            got += more
        assert got == down, (got, down)
for first in range(0, len(transfers), 20):
    threads = [threading.Thread(target=fetch, args=[n]) for n in range(first, min(first + 20, len(transfers)))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
# The captures end with this program: a FIN that the path lost is sent again before that.
time.sleep(1)
print(json.dumps(ports))
"""


def _conversations(directory: Path, *path: str) -> dict[int, int]:
    """Makes the transfers in real time behind a path; returns the transfer of each client port."""
    told = json.dumps(TRANSFERS)
    (directory / "server.py").write_text(SERVER)
    (directory / "client.py").write_text(CLIENT)
    far = f"{sys.executable} {directory}/server.py '{told}'"
    line = [sys.executable, "-m", "fullpipe", "link", "--rate", "100mbit", "--rtt", "10ms", *path]
    line += [
        "--out",
        str(directory / "link"),
        "--server",
        far,
        "--",
        sys.executable,
        f"{directory}/client.py",
        told,
    ]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        pytest.skip(f"this machine allows no link: {done.stderr[-300:]}")
    return {int(port): number for port, number in json.loads(done.stdout).items()}


@pytest.mark.skipif(sys.platform != "linux", reason="a link needs Linux")
def test_what_real_tcp_transferred_is_extracted_to_the_byte(
    tmp_path: Path, fullpipe: Fullpipe
) -> None:
    ports = _conversations(tmp_path, "--set", "path.loss=1%")
    for end in ("near", "far"):
        done = fullpipe("workload", "extract", f"link/{end}.pcapng", "-o", f"{end}.parquet")
        assert done.returncode == 0, done.stderr
        flows = pl.read_parquet(tmp_path / f"{end}.parquet").filter(pl.col("server_port") == 7000)
        found = {
            ports[port]: (up - 2, down)
            for port, up, down in flows.select(
                "client_port", "up_sequence_bytes", "down_sequence_bytes"
            ).iter_rows()
        }
        assert flows.height == len(TRANSFERS)
        assert found == {number: (up, down) for number, (up, down, _) in enumerate(TRANSFERS)}
        assert set(flows["begin"]) == {"syn"} and set(flows["end"]) <= {"fin", "rst"}
        counts = workload.about(tmp_path / f"{end}.parquet")["counts"]
        assert counts["more_by_numbers"] == 0, "the capture has all packets"
        if end == "far":
            assert counts["more_by_lengths"] > 0, (
                "the capture at the sender sees lost packets twice"
            )
        assert (
            flows["chunks"].list.eval(pl.element().struct.field("bytes")).list.sum()
            == flows["bytes"]
        ).all()
        paused = flows.filter(pl.col("client_port") == {n: p for p, n in ports.items()}[120])
        chunks = paused["chunks"][0].to_list()
        assert len(chunks) == 2 and chunks[0]["bytes"] == chunks[1]["bytes"] == 20_000
        assert 0.3 <= chunks[1]["at"].total_seconds() < 0.8


def _pcap(packets: int, *, begin: int = 1_700_000_000, flows: int = 10) -> bytes:
    """Returns a capture of small segments of `flows` connections, without handshakes."""
    whole = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for number in range(packets):
        port, sequence = 10_000 + number % flows, number // flows * 100
        ip = struct.pack(
            ">BBHHHBBH4s4s",
            0x45,
            0,
            140,
            0,
            0,
            64,
            6,
            0,
            bytes([10, 0, 0, 1]),
            bytes([10, 0, 0, 2]),
        )
        tcp = struct.pack(">HHIIBBHHH", port, 80, sequence, 0, 0x50, 0x10, 0, 0, 0)
        whole += (
            struct.pack("<IIII", begin + number // 1000, number % 1000 * 1000, 40, 140) + ip + tcp
        )
    return whole


def test_the_file_says_what_it_was_made_of(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(_pcap(500))
    (tmp_path / "b.pcap.gz").write_bytes(gzip.compress(_pcap(500, begin=1_700_000_001)))
    files = [tmp_path / "a.pcap", tmp_path / "b.pcap.gz"]
    extracted = workload.extract(files, tmp_path / "flows.parquet", pause_s=0.05, addresses=True)
    about = workload.about(tmp_path / "flows.parquet")
    assert about == extracted.about and extracted.warnings == []
    assert [source["sha256"] for source in about["sources"]] == [
        hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    ]
    assert about["options"] == {"idle_s": 60.0, "pause_s": 0.05, "udp": False, "addresses": True}
    assert about["counts"]["packets"] == 1000 and about["counts"]["flows"] == 10
    flows = workload.read(tmp_path / "flows.parquet")
    assert flows["client"].unique().to_list() == ["10.0.0.1"] and flows["start"].is_sorted()
    assert set(flows["begin"]) == {"capture"} and set(flows["end"]) == {"capture"}
    assert flows["bytes"].to_list() == [5000] * 10
    # The second file's segments have the same sequence numbers as the first's.
    assert flows["up_payload_bytes"].to_list() == [10_000] * 10


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\x00\x01noise" * 1000, "neither pcap nor pcapng: it begins with 00 01 6e 6f"),
        (_pcap(0), "the capture has no packets"),
        (b"PK\x03\x04", "too short"),
        (
            b"#separator \\x09\n#path\tdns\n#fields\tts\tuid\n#types\ttime\tstring\n",
            "no field orig_bytes nor resp_bytes",
        ),
        (b"a,b\n1,2\n", "no column 'start'; the columns are a, b"),
        (b"start,bytes\n1,2\n2,-5\n", "row 3: start 2, bytes -5"),
        (b"start,bytes\n1,many\n", "row 2: start 1, bytes many"),
        (b"start,bytes\n" + b"1,10\n" * 12_000 + b"1,1.5\n", "row 12002: start 1, bytes 1.5"),
        (b"start,bytes\n1,99999999999999999999\n", "row 2"),
        (b"start,bytes\n1,inf\n", "row 2"),
        (b"start,bytes\n1e30,1\n", "row 2: start 1e30"),
        (b"start,bytes\n01/02/2020 12:00,1\n", "row 2: start 01/02/2020 12:00"),
        (b"start,bytes\n1,2\n# c\n1,2,3\n", "row 4: 3 fields, but the first row has 2"),
        (b"start,bytes\n", "no flows found"),
        (b'[{"ts": 1},\n{"ts": 2}]\n', "not a JSON object"),
        (
            b"#separator \\x09\n#fields\tts\tproto\torig_bytes\tresp_bytes\nyesterday\ttcp\t1\t1\n",
            "no flows of TCP found; 1 line can't be read",
        ),
        (b'{"ts": 1, "uid": \n', "not a JSON object"),
    ],
)
def test_a_bad_file_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, said: str
) -> None:
    (tmp_path / "bad").write_bytes(content)
    code, stderr = _told(tmp_path, monkeypatch, "extract", "bad", "-o", "flows.parquet")
    assert (
        code == 2 and stderr.startswith("error: bad: ") and said in stderr and "  fix: " in stderr
    )
    assert [each.name for each in tmp_path.iterdir()] == ["bad"], "nothing is left"


def test_what_was_readable_is_kept_and_the_rest_said(tmp_path: Path, fullpipe: Fullpipe) -> None:
    whole = _pcap(1000)
    noise = random.Random(1).randbytes(50_000)
    (tmp_path / "cut.pcap").write_bytes(whole[:24_000])
    (tmp_path / "noisy.pcap").write_bytes(whole[: 24 + 56 * 500] + noise + whole[24 + 56 * 500 :])
    (tmp_path / "none.pcap").write_bytes(noise)
    (tmp_path / "zip.pcap.gz").write_bytes(gzip.compress(whole)[:-3000])
    for name, said, least in [
        ("cut.pcap", "ends within a packet, at byte 23992", 40_000),
        (
            "noisy.pcap",
            "50000 bytes in one place, first at byte 28024, are not packets and were skipped",
            100_000,
        ),
        ("zip.pcap.gz", "it can't be decompressed", 1),
    ]:
        done = fullpipe("workload", "extract", name, "-o", f"{name}.parquet")
        assert done.returncode == 1 and said in done.stderr and "exit code 1" in done.stderr
        assert least <= workload.about(tmp_path / f"{name}.parquet")["counts"]["bytes"] <= 100_000
    done = fullpipe("workload", "extract", "none.pcap", "noisy.pcap", "-o", "both.parquet")
    assert done.returncode == 1 and "neither pcap nor pcapng" in done.stderr
    assert workload.read(tmp_path / "both.parquet").height == 10


def test_used_wrongly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.pcap").write_bytes(_pcap(10))
    (tmp_path / "b.csv").write_text("start,bytes\n1,2\n")
    (tmp_path / "there").write_text("")
    (tmp_path / "there.png").write_text("")
    for arguments, said in [
        (["extract", "nowhere.pcap", "-o", "x"], "nowhere.pcap: no such file"),
        (["extract", ".", "-o", "x"], ".: is a directory"),
        (["extract", "a.pcap", "b.csv", "-o", "x"], "capture and csv files together"),
        (["extract", "a.pcap", "-o", "there"], "--out there exists already"),
        (["extract", "a.pcap", "-o", "x", "--idle", "60"], "--idle 60: not a time"),
        (["extract", "a.pcap", "-o", "x", "--columns", "start=a"], "omit --columns"),
        (["extract", "b.csv", "-o", "x", "--columns", "begin=a"], "not start=NAME,bytes=NAME"),
        (["describe", "nowhere"], "nowhere: no such file"),
        (["extract", "/dev/null", "-o", "x"], "/dev/null: is a pipe or a device"),
        (["describe", "a.pcap", "--plot", "there"], "a picture needs the suffix .png"),
        (["describe", "a.pcap", "--plot", "there.png"], "--plot there.png exists already"),
        (["fit", "b.csv"], "b.csv: 1 flows, all of 2 bytes: a fit needs at least 100"),
        (["describe", "a.pcap", "--plot", "a.txt"], "a picture needs the suffix .png"),
    ]:
        code, stderr = _told(tmp_path, monkeypatch, *arguments)
        assert code == 2 and said in stderr, stderr


def test_a_conn_log_as_text_and_as_json_is_the_same(tmp_path: Path) -> None:
    workload.extract([CAPTURES / "conn.log"], tmp_path / "text.parquet", udp=True)
    flows = pl.read_parquet(tmp_path / "text.parquet")
    lines = [line.split("\t") for line in (CAPTURES / "conn.log").read_text().splitlines()]
    names = next(line[1:] for line in lines if line[0] == "#fields")
    rows = [dict(zip(names, line, strict=True)) for line in lines if not line[0].startswith("#")]
    rows = [row for row in rows if row["proto"] in ("tcp", "udp")]
    most = [
        max(int(row[name].replace("-", "0")) for name in ("orig_bytes", "resp_bytes"))
        for row in rows
    ]
    assert flows["bytes"].to_list() == most
    assert flows["first"].dt.epoch("us").to_list() == [
        round(float(row["ts"]) * 1e6) for row in rows
    ]
    typed = [
        {
            key: json.loads(value)
            if value[0].isdigit()
            and key
            in (
                "ts",
                "duration",
                "orig_bytes",
                "resp_bytes",
                "orig_pkts",
                "resp_pkts",
                "id.orig_p",
                "id.resp_p",
            )
            else value
            for key, value in row.items()
            if value != "-"
        }
        for row in rows
    ]
    text = "".join(json.dumps(row) + "\n" for row in typed)
    (tmp_path / "conn.json").write_text(text)
    (tmp_path / "conn.json.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "conn.log.gz").write_bytes(gzip.compress((CAPTURES / "conn.log").read_bytes()))
    # Other separators, as written by Zeek's -L or in a converted log.
    for name, mark, said in (("commas", ",", "\\x2c"), ("bars", "|", "|")):
        other = (CAPTURES / "conn.log").read_text().replace("\t", mark).replace("\\x09", said)
        (tmp_path / name).write_text(other.replace("#set_separator,,", "#set_separator,;"))
    for name in ("conn.json", "conn.json.gz", "conn.log.gz", "commas", "bars"):
        workload.extract([tmp_path / name], tmp_path / f"{name}.parquet", udp=True)
        assert pl.read_parquet(tmp_path / f"{name}.parquet").equals(flows), name


def test_a_log_that_is_cut_gives_its_whole_lines(tmp_path: Path) -> None:
    whole = (CAPTURES / "conn.log").read_text()
    workload.extract([CAPTURES / "conn.log"], tmp_path / "whole.parquet", udp=True)
    all_flows = pl.read_parquet(tmp_path / "whole.parquet")
    lines = [line for line in whole.splitlines() if not line.startswith("#")]
    rows = [line.split("\t") for line in lines]
    # The cut is within the byte count of the 100th line: 1234 must not be read as 12.
    place = whole.index(lines[99]) + len("\t".join(rows[99][:9])) + 2
    objects = [
        json.dumps({"ts": float(row[0]), "proto": row[6], "orig_bytes": 5, "resp_bytes": 7})
        for row in rows
    ]
    (tmp_path / "cut.log").write_text(whole[:place])
    (tmp_path / "cut.json").write_text("\n".join(objects[:99]) + "\n" + objects[99][:30])
    expected = sum(row[6] in ("tcp", "udp") for row in rows[:99])
    for name in ("cut.log", "cut.json"):
        extracted = workload.extract([tmp_path / name], tmp_path / f"{name}.parquet", udp=True)
        assert extracted.warnings == [f"{tmp_path / name}: 1 line can't be read"]
        flows = pl.read_parquet(tmp_path / f"{name}.parquet")
        assert flows["first"].to_list() == all_flows["first"].head(expected).to_list()
    assert pl.read_parquet(tmp_path / "cut.log.parquet").equals(all_flows.head(expected))


def test_a_csv_has_seconds_or_dates(tmp_path: Path) -> None:
    for name, text, columns in [
        ("seconds", "start,bytes\n0.5,100\n1,0\n1.25,20000\n", None),
        (
            "named",
            "who,ts,size\na,0.5,100\nb,1,0\nc,1.25,20000\n",
            {"start": "ts", "bytes": "size"},
        ),
        (
            "dates",
            "start,bytes\n1970-01-01T00:00:00.500,100\n1970-01-01T00:00:01.000,0\n1970-01-01T00:00:01.250,20000\n",
            None,
        ),
        # In the form that spreadsheets write.
        ("marked", "\ufeffstart,bytes\r\n0.5,100\r\n1,0\r\n1.25,20000\r\n", None),
        ("semicolons", "start;bytes\n0,5;100\n1;0\n1,25;2e4\n", None),
        ("tabs", '# of Monday\n"Größe"\t start\n100\t0.5\n0\t1\n20000\t1.25\n', {"bytes": "Größe"}),
        (
            "zone",
            "start,bytes\n1970-01-01 01:00:00.5+01:00,100\n1970-01-01 00:00:01Z,0\n1.25,20000\n",
            None,
        ),
    ]:
        (tmp_path / f"{name}.csv").write_text(text)
        workload.extract([tmp_path / f"{name}.csv"], tmp_path / f"{name}.parquet", columns=columns)
        flows = workload.read(tmp_path / f"{name}.parquet")
        assert flows["start"].dt.epoch("ms").to_list() == [500, 1250] and flows[
            "bytes"
        ].to_list() == [100, 20_000]
        assert pl.read_parquet(tmp_path / f"{name}.parquet").height == 3, (
            "one without payload is there, too"
        )


def test_others_captures(tmp_path: Path) -> None:
    """A capture from npm's pcap-parser: SMTP with four segments of 1460 bytes retransmitted as shorter ones."""
    extracted = workload.extract([CAPTURES / "smtp.pcap"], tmp_path / "smtp.parquet")
    (flow,) = workload.read(tmp_path / "smtp.parquet").iter_rows(named=True)
    assert (flow["server_port"], flow["direction"], flow["begin"], flow["end"]) == (
        25,
        "up",
        "syn",
        "fin",
    )
    assert flow["up_payload_bytes"] - flow["up_sequence_bytes"] == 4 * 1460
    assert extracted.about["counts"]["other"] == 7
    with pytest.raises(FlowsError, match="is neither pcap nor pcapng"):
        workload.extract([CAPTURES / "malformed.pcap"], tmp_path / "x.parquet")
    with pytest.raises(FlowsError, match="none of 5 packets is TCP"):
        workload.extract([CAPTURES / "be.pcap"], tmp_path / "x.parquet")
    workload.extract([CAPTURES / "be.pcap"], tmp_path / "be.parquet", udp=True)


def _made(tmp_path: Path) -> Path:
    """Ten flows of 100 to 100,000 bytes, one per second; the last one pauses twice."""
    rows = "".join(
        f"{number},{100 if number < 7 else 10 ** (number - 4)}\n" for number in range(10)
    )
    (tmp_path / "made.csv").write_text("start,bytes\n" + rows)
    workload.extract([tmp_path / "made.csv"], tmp_path / "made.parquet")
    return tmp_path / "made.parquet"


def test_what_flows_are_like_in_numbers_by_hand(tmp_path: Path) -> None:
    described = describe(_made(tmp_path))
    assert described.flows.height == 10 and described.span_s == 9.0
    assert decades(described.sizes) == [
        (100, 1000, 7, 700),
        (1000, 10_000, 1, 1000),
        (10_000, 100_000, 1, 10_000),
        (100_000, 1_000_000, 1, 100_000),
    ]
    # The last flow has 100,000 of the 111,700 bytes.
    assert [by_bytes(described.sizes, share) for share in (0.005, 0.01, 0.1, 0.11, 0.9)] == [
        100,
        1000,
        10_000,
        100_000,
        100_000,
    ]
    assert (described.load * 9 / 300).sum() == pytest.approx(8 * 111_700)
    assert described.gaps.tolist() == [1.0] * 9 and len(described.pauses) == 0


def test_pauses_and_load_of_a_capture(tmp_path: Path) -> None:
    """Segments a millisecond apart, a pause of a second, and the same number of segments again."""
    first, second = _pcap(100, flows=1), _pcap(200, flows=1, begin=1_700_000_001)
    (tmp_path / "a.pcap").write_bytes(first + second[24 + 100 * 56 :])
    workload.extract([tmp_path / "a.pcap"], tmp_path / "a.parquet")
    described = describe(tmp_path / "a.parquet")
    assert described.pauses.tolist() == pytest.approx(
        [1.001]
    ) and described.span_s == pytest.approx(1.199)
    width = described.edges[1]
    assert (described.load * width).sum() == pytest.approx(8 * 20_000)
    quiet = (described.edges[:-1] > 0.1) & (described.edges[1:] < 1.1)
    assert described.load[quiet].sum() == 0


def test_files_of_flows_that_others_made(tmp_path: Path) -> None:
    ms = 1_000_000
    kind = pl.List(pl.Struct({"at": pl.Duration("ns"), "bytes": pl.UInt64}))
    chunks = pl.Series(
        [None, [{"at": 0, "bytes": 1000}, {"at": 300 * ms, "bytes": 500}]], dtype=kind
    )
    pl.DataFrame({"start": [2.0, 1.0], "bytes": [20_000, 1500], "chunks": chunks}).write_parquet(
        tmp_path / "a"
    )
    described = describe(tmp_path / "a")
    assert described.pauses.tolist() == [0.3] and described.span_s == 1.0
    assert (described.load * described.edges[1]).sum() == pytest.approx(8 * 21_500)
    for frame, problem in [
        (pl.DataFrame({"start": ["a"], "bytes": [1]}), "the column start has type String"),
        (pl.DataFrame({"start": [1.0], "bytes": [1.5]}), "the column bytes has type Float64"),
    ]:
        frame.write_parquet(tmp_path / "b")
        with pytest.raises(FlowsError, match=problem):
            describe(tmp_path / "b")


def test_describe_prints_draws_and_gives_json(tmp_path: Path, fullpipe: Fullpipe) -> None:
    _made(tmp_path)
    done = fullpipe("workload", "describe", "made.parquet", "--plot", "made.png")
    assert done.returncode == 0, done.stderr
    assert "10 flows with payload in 9.00 s" in done.stdout and "no flow pauses" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    assert (tmp_path / "made.png").read_bytes().startswith(b"\x89PNG")
    found: dict[str, Any] = json.loads(
        fullpipe("workload", "describe", "made.parquet", "--json").stdout
    )
    # The table has the same values: nine of ten flows have at most 10 kB.
    assert found["size_bytes"]["p90"] == 10_000 and found["size_bytes"]["p50"] == 100
    sizes = next(line.split() for line in done.stdout.splitlines() if line.startswith("flow size "))
    assert sizes[2:10] == ["100", "B"] * 3 + ["1.00", "kB"] and sizes[10:12] == ["10.00", "kB"]
    assert (
        found["flows"] == 10
        and found["bytes"] == 111_700
        and found["about"]["sources"][0]["path"].endswith("made.csv")
    )
    (tmp_path / "a.pcap").write_bytes(_pcap(100))
    done = fullpipe("workload", "describe", "a.pcap")
    assert done.returncode == 0 and "a.pcap\n" in done.stdout, "describe accepts a capture directly"
    assert "flows.parquet" not in done.stdout


def test_ctrl_c_leaves_nothing(tmp_path: Path, command: list[str]) -> None:
    fifo = tmp_path / "endless.pcap"
    fifo.write_bytes(_pcap(20_000) * 1 + b"")
    body = _pcap(20_000)[24:]
    with fifo.open("ab") as file:
        for _ in range(400):
            file.write(body)
    line = [
        *command,
        "workload",
        "extract",
        str(fifo),
        "-o",
        str(tmp_path / "out" / "flows.parquet"),
    ]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    with process:
        deadline = time.monotonic() + 20
        while not list(tmp_path.glob("out/.flows.*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        # The folder exists before the interrupt; reading takes more than a second.
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 130 and "interrupted " in said and "Traceback" not in said
    assert not (tmp_path / "out").exists()


def test_without_being_asked_it_keeps_no_address(tmp_path: Path, fullpipe: Fullpipe) -> None:
    (tmp_path / "a.pcap").write_bytes(_pcap(500))
    rows = [line.split("\t") for line in (CAPTURES / "conn.log").read_text().splitlines()]
    known = {row[at] for row in rows if not row[0].startswith("#") for at in (2, 4)}
    for name, addresses in (
        ("a.pcap", {"10.0.0.1", "10.0.0.2"}),
        (str(CAPTURES / "conn.log"), known),
    ):
        for more, left in (([], False), (["--addresses"], True)):
            out = f"flows-{left}-{len(addresses)}.parquet"
            done = fullpipe("workload", "extract", name, "-o", out, *more)
            assert done.returncode == 0, done.stderr
            told = json.dumps(pl.read_parquet(tmp_path / out).to_dicts(), default=str)
            told += json.dumps(workload.about(tmp_path / out))
            assert any(f'"{address}"' in told for address in addresses) == left, (name, more)
