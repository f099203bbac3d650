"""`fullpipe fleet ingest`, run as a command."""

import gzip
import json
import lzma
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from fullpipe import _core
from fullpipe.commands import app
from fullpipe.wings.fleet import ingest, schema, store
from fullpipe.wings.fleet.ingest import Ingest, Options
from fullpipe.wings.fleet.sources import Stream, streams

REAL = (
    Path(__file__).parents[4]
    / "crates/wings/ingest/tests/fleet/data/ss_3ns_bbr_vs_cubic_50m.txt.gz"
)


def fleet(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["fleet", "ingest", *arguments])


def line(remote: str, acked: int, more: str = "") -> str:
    return (
        f"ESTAB 0 0 10.0.0.1:443 {remote}\n\t cubic rto:204 rtt:20/1 mss:1000 cwnd:10 bytes_sent:{acked + 10} "
        f"bytes_retrans:10 bytes_acked:{acked} segs_out:9 busy:500ms rwnd_limited:50ms(10.0%) {more}\n"
    )


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two arms of two hosts, a file per day; one connection continues from the first to the second day."""
    monkeypatch.chdir(tmp_path)
    for arm in ("cubic", "bbr"):
        for host in ("x", "y"):
            for day in (0, 1):
                file = Path(arm, host, f"day-{day}.ss")
                file.parent.mkdir(parents=True, exist_ok=True)
                time, acked = 1576576800 + 86400 * day, 1000 + 100 * day
                file.write_text(
                    f"@{time}\n{line('192.0.2.7:1', acked)}{line(f'192.0.2.8:{day + 10}', 500)}"
                    f"@{time + 10}\n{line('192.0.2.7:1', acked + 10)}"
                )
    return tmp_path


ARMS = ("--arm", "cubic=cubic/{host}/*.ss", "--arm", "bbr=bbr/{host}/*.ss")


def rows(directory: str = "out", table: str = "connections") -> pl.DataFrame:
    return store.scan(Path(directory), table).collect()


def test_every_column_of_ss_is_in_the_schema() -> None:
    reader = _core.FleetReader.ss("a", True, None)
    reader.begin(REAL)
    while reader.read(1 << 30, 1 << 20):
        pass
    tables = dict(reader.take()) | dict(reader.open())
    for name, columns in tables.items():
        known = {column.name for column in schema.TABLES[name] if not column.derived}
        assert known - set(columns) == {"arm", "host"} | (
            {"pair"} if name == "connections" else set()
        )
        assert set(columns) <= known


def test_a_connection_is_a_row_whatever_files_it_is_in(hosts: Path) -> None:
    result = fleet(*ARMS, "-o", "out", "--samples")
    assert result.exit_code == 0, result.output
    frame = rows().sort("arm", "host", "client", "first_seen")
    assert frame.height == 4 * 3
    first = frame.row(0, named=True)
    assert (first["arm"], first["host"], first["client"], first["samples"]) == (
        "bbr",
        "x",
        "192.0.2.7",
        4,
    )
    assert (first["bytes_acked_first"], first["bytes_acked"], first["observed_s"]) == (
        1000,
        1110,
        86410.0,
    )
    assert first["loss"] == pytest.approx(10 / 1120)
    assert first["rwnd_limited"] == 0.1
    assert frame["cc"].unique().to_list() == ["cubic"]
    samples = rows(table="samples")
    assert samples.height == 4 * 6
    assert set(samples["connection"]) == set(frame["connection"])
    about = json.loads(Path("out/ingest.json").read_text())
    assert about["complete"]
    assert [source["counts"]["samples"] for source in about["sources"]] == [6] * 4


def test_reading_again_reads_what_is_new(hosts: Path) -> None:
    fleet(*ARMS, "-o", "whole")
    late = [Path(arm, host, "day-1.ss") for arm in ("cubic", "bbr") for host in ("x", "y")]
    for file in late:
        file.rename(file.with_suffix(".later"))
    assert fleet(*ARMS, "-o", "out").exit_code == 0
    assert rows().height == 4 * 2
    for file in late:
        file.with_suffix(".later").rename(file)
    assert fleet(*ARMS, "-o", "out").exit_code == 0
    keys = ("arm", "host", "first_seen", "remote_port")
    assert rows().sort(keys).equals(rows("whole").sort(keys))
    assert "the rest was read earlier" in fleet(*ARMS, "-o", "out").output
    assert rows().sort(keys).equals(rows("whole").sort(keys))


def test_what_was_not_committed_is_read_again(hosts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates a kill: a part has rows, but no commit followed."""
    fleet(*ARMS, "-o", "whole")
    found = streams({"ss": ["cubic=cubic/{host}/*.ss"], "nginx": [], "snmp": [], "hist": []})
    monkeypatch.setattr("fullpipe.wings.fleet.ingest._COMMIT_S", 0.0)
    write = Ingest._write

    def dies(self: Ingest, stream: Stream, tables: "_core._FleetTables", part: str) -> list[str]:
        written = write(self, stream, tables, part)
        if part == "open":
            raise OSError("killed")
        return written

    monkeypatch.setattr(Ingest, "_write", dies)
    with pytest.raises(OSError, match="killed"), Ingest(Path("out"), found, Options(), "") as work:
        work.run(threads=1)
    assert not json.loads(Path("out/ingest.json").read_text())["complete"]
    monkeypatch.setattr(Ingest, "_write", write)
    assert fleet(*ARMS, "-o", "out").exit_code == 0
    keys = ("arm", "host", "first_seen", "remote_port")
    assert rows().sort(keys).equals(rows("whole").sort(keys))


def test_a_real_file_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = fleet("--arm", f"both={REAL}", "-o", "out", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["sources"][0]["counts"]["connections"] == 4
    assert rows()["bytes_acked"].max() == 57130878


def test_a_file_that_is_cut_off_counts_until_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cut.gz").write_bytes(REAL.read_bytes()[:20_000])
    result = fleet("--arm", "a=cut.gz", "-o", "out")
    assert result.exit_code == 1
    assert "cut.gz: not read to its end: " in result.stderr
    assert rows().height == 4


def zstd(content: bytes) -> bytes:
    """Returns a frame of raw blocks (RFC 8878 §3.1.1), which any program may write."""
    blocks = [content[at : at + 1000] for at in range(0, len(content), 1000)]
    heads = [
        (len(block) << 3 | (number == len(blocks) - 1)).to_bytes(3, "little")
        for number, block in enumerate(blocks)
    ]
    frame = b"".join(head + block for head, block in zip(heads, blocks, strict=True))
    return b"\x28\xb5\x2f\xfd\xa0" + len(content).to_bytes(4, "little") + frame


SKIPPED = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
"""A skippable frame (§3.1.2), which pzstd puts first."""


def test_files_may_be_compressed_in_any_way(hosts: Path) -> None:
    fleet(*ARMS, "-o", "whole")
    for number, file in enumerate(sorted(hosts.glob("*/*/*.ss"))):
        text = file.read_bytes()
        half = len(text) // 2
        file.write_bytes(
            [
                gzip.compress(text),
                zstd(text),
                gzip.compress(text[:half]) + gzip.compress(text[half:]),
                SKIPPED + zstd(text[:half]) + SKIPPED + zstd(text[half:]),
            ][number % 4]
        )
    result = fleet(*ARMS, "-o", "out", "--json")
    assert result.exit_code == 0, result.output
    keys = ("arm", "host", "first_seen", "remote_port")
    assert rows().sort(keys).drop("connection").equals(rows("whole").sort(keys).drop("connection"))
    for source in json.loads(result.stdout)["sources"]:
        assert [file["bytes"] for file in source["files"]] == [
            Path(file["path"]).stat().st_size for file in source["files"]
        ]


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_what_is_compressed_may_be_cut_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "".join(
        f"@{1576576800 + 10 * at}\n{line('192.0.2.7:1', 1000 + at)}" for at in range(400)
    ).encode()
    whole = pack(text)
    for keep in (1, 5, len(whole) // 2, len(whole) - 1):
        Path("cut").write_bytes(whole[:keep])
        result = fleet("--arm", "a=cut", "-o", f"out-{keep}")
        # One byte is too short for a magic number, so it is read as a bad line.
        assert result.exit_code == 1, (keep, result.output)
        assert ("cut: not read to its end: " in result.stderr) == (keep > 1)
        samples = rows(f"out-{keep}")["samples"].to_list()
        if keep > 5:
            # only complete blocks are read
            assert samples[0] >= (100 if keep == len(whole) // 2 else 390)
    Path("cut").write_bytes(pack(text))
    result = fleet("--arm", "a=cut", "-o", f"out-{len(whole) // 2}")
    assert result.exit_code == 2
    assert f"the file had {len(whole) // 2:,} bytes when it was read" in result.stderr


def test_other_compression_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.xz").write_bytes(lzma.compress(b"@1576576800\n"))
    result = fleet("--arm", "a=a.xz", "-o", "out")
    assert result.exit_code == 2
    assert (
        "error: a.xz: compressed with xz, which is not supported\n  fix: xz -dk FILE"
        in result.stderr
    )
    assert not Path("out").exists()


def test_what_a_file_gets_while_it_is_read_is_not_lost(
    hosts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is refused as grown, even if it grew between its end and the commit."""
    file = Path("cubic/x/day-1.ss")
    before = file.stat().st_size
    make = Ingest._reader

    class Growing:
        def __init__(self, reader: _core.FleetReader) -> None:
            self.reader = reader

        def __getattr__(self, name: str) -> object:
            return getattr(self.reader, name)

        def read(self, count: int, size: int) -> bool:
            more = self.reader.read(count, size)
            if not more and file.stat().st_size == before:
                file.write_text(f"{file.read_text()}@1576663300\n{line('192.0.2.7:1', 2000)}")
            return more

    monkeypatch.setattr(Ingest, "_reader", lambda self, stream: Growing(make(self, stream)))
    assert fleet("--arm", "cubic=cubic/x/day-1.ss", "-o", "out").exit_code == 0
    monkeypatch.undo()
    monkeypatch.chdir(hosts)
    grown = fleet("--arm", "cubic=cubic/x/day-1.ss", "-o", "out")
    assert grown.exit_code == 2
    assert (
        f"the file had {before:,} bytes when it was read, and has {file.stat().st_size:,} now"
        in grown.stderr
    )


SLOWLY = """
import fullpipe.wings.fleet.ingest as ingest
from fullpipe.commands import main
ingest._COMMIT_S, ingest._ROWS = 0.0, 50
write = ingest.Ingest._write
def later(self, *args):
    ingest.time.sleep(0.02)
    return write(self, *args)
ingest.Ingest._write = later
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_it_goes_on_after_any_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.chdir(tmp_path)
    for host in ("x", "y"):
        for day in range(8):
            Path(host).mkdir(exist_ok=True)
            sockets = [line(f"192.0.2.{at}:{day + 10}", 1000 + day) for at in range(120)]
            lines = "".join(
                [f"@{1576576800 + 86400 * day}\n", line("192.0.2.7:1", 1000 + day), *sockets]
            )
            Path(host, f"{day}.ss").write_text(lines)
    asked = ["--arm", "a={host}/*.ss", "-o"]
    fleet(*asked, "whole")

    def commits() -> int:
        kept = [json.loads(file.read_text()) for file in Path("out/.progress").glob("[!.]*.json")]
        return sum(each["commit"] for each in kept)

    for more in (1, 5):
        before = commits()
        command = [sys.executable, "-c", SLOWLY, "fleet", "ingest", *asked, "out"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            while commits() < before + more and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(number)
            _, said = process.communicate(timeout=30)
        assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
        if number != signal.SIGKILL:
            assert "MB; committed rows are in out; run the same command to resume" in said
            assert "Traceback" not in said
        assert not json.loads(Path("out/ingest.json").read_text())["complete"]
    assert "the rest was read earlier" in fleet(*asked, "out").output
    keys = ("host", "first_seen", "client", "remote_port")
    there, whole = (rows(each).sort(keys) for each in ("out", "whole"))
    assert there.height == 2 * (8 * 120 + 1)
    assert there.equals(whole)
    assert not list(Path("out").rglob(".*.parquet"))


def test_only_one_process_fills_a_directory(hosts: Path) -> None:
    """The second is refused, changes nothing, and the same command succeeds afterwards."""
    one, other = ([*ARMS[at : at + 2], "-o", "out"] for at in (0, 2))
    with subprocess.Popen([sys.executable, "-c", SLOWLY, "fleet", "ingest", *one]) as first:
        while not list(Path("out").glob("connections/**/[!.]*.parquet")) and first.poll() is None:
            time.sleep(0.01)
        first.send_signal(signal.SIGSTOP)
        seconds = [fleet(*other), fleet(*one)]
        first.send_signal(signal.SIGCONT)
        assert first.wait(60) == 0
    for second in seconds:
        assert second.exit_code == 2
        assert second.stderr == (
            "error: out: another process is adding to it; wait until that has finished\n"
        )
    assert rows().height == 2 * 3
    assert fleet(*other).exit_code == 0
    about = json.loads(Path("out/ingest.json").read_text())
    assert (about["complete"], len(about["sources"]), rows().height) == (True, 4, 4 * 3)


def test_a_directory_is_complete_when_each_arm_is(
    hosts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An arm that was not read to its end stays so until its own command has ended."""
    one, other = ([*ARMS[at : at + 2], "-o", "out"] for at in (0, 2))
    write = Ingest._write

    def dies(self: Ingest, stream: Stream, tables: "_core._FleetTables", part: str) -> list[str]:
        if part == "open":
            raise OSError("killed")
        return write(self, stream, tables, part)

    monkeypatch.setattr(Ingest, "_write", dies)
    assert fleet(*one).exit_code == 2
    monkeypatch.setattr(Ingest, "_write", write)
    complete = []
    for command in (other, one, other):
        assert fleet(*command).exit_code == 0
        complete.append(json.loads(Path("out/ingest.json").read_text())["complete"])
    assert complete == [False, True, True]
    assert rows().height == 4 * 3


def test_bad_lines_are_quoted_and_nothing_else_is_lost(hosts: Path) -> None:
    with Path("cubic/x/day-0.ss").open("a") as file:
        file.write("ESTAB 0 many 10.0.0.1:443 192.0.2.9:3\n")
    result = fleet(*ARMS, "-o", "out")
    assert result.exit_code == 0
    said = "cubic/x/day-0.ss:9: Send-Q is not a number: ESTAB 0 many 10.0.0.1:443 192.0.2.9:3"
    assert said in result.output
    assert rows().height == 12


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("nginx", "no line matches --log-format in the logs of 1 of 2 hosts"),
        ("arm", "no line could be read in the files of ss of 1 of 2 hosts"),
        ("hist", "no line could be read in the files of hist of 1 of 2 hosts"),
    ],
)
def test_a_host_without_a_line_that_can_be_read_is_an_error(
    hosts: Path, kind: str, said: str
) -> None:
    good = {
        "nginx": '192.0.2.7 - - [17/Dec/2019:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n',
        "arm": f"@1576576800\n{line('192.0.2.7:1', 1)}",
        "hist": "@rtt:\n[4, 8)  2 |@@|\n",
    }[kind]
    for host, text in (("x", good), ("y", "ESTAB 0 many 10.0.0.1:443 192.0.2.9:3\n" * 3)):
        Path("logs", host).mkdir(parents=True)
        Path("logs", host, "a.log").write_text(text)
    result = fleet(f"--{kind}", "a=logs/{host}/*.log", "-o", "out")
    assert (result.exit_code, said in result.output) == (1, True), result.output


# Limits of signed and unsigned 64-bit integers, and more digits than a float can have.
TOO_LARGE = ["9223372036854775807", "9223372036854775808", "18446744073709551616", "9" * 400]
COUNTS = [
    *(
        "mss",
        "pmtu",
        "rcvmss",
        "advmss",
        "cwnd",
        "ssthresh",
        "bytes_sent",
        "bytes_retrans",
        "bytes_acked",
    ),
    *(
        "bytes_received",
        "segs_out",
        "segs_in",
        "data_segs_out",
        "data_segs_in",
        "delivered",
        "delivered_ce",
    ),
    *(
        "unacked",
        "lost",
        "sacked",
        "dsack_dups",
        "fackets",
        "reordering",
        "reord_seen",
        "rcv_space",
        "rcv_ssthresh",
    ),
    *(
        "notsent",
        "rcv_ooopack",
        "snd_wnd",
        "rcv_wnd",
        "rehash",
        "uid",
        "ino",
        "backoff",
        "wscale",
        "retrans",
    ),
    *("dctcp_ce_state", "skmem", "timer", "sk"),
]


def with_count(key: str, value: str) -> str:
    match key:
        case "wscale":
            return f"wscale:{value},7"
        case "retrans":
            return f"retrans:0/{value}"
        case "dctcp_ce_state":
            return f"dctcp:(ce_state:{value},alpha:1024,ab_ecn:0,ab_tot:0)"
        case "skmem":
            return f"skmem:(r{value},rb131072,t0,tb46080,f0,w0,o0,bl0,d0)"
        case "timer":
            return f"timer:(on,200ms,{value})"
        case "sk":
            return "sk:" + ("f" * 16 if len(value) < 100 else "f" * 400)
    return f"{key}:{value}"


@pytest.mark.parametrize("value", TOO_LARGE)
def test_a_number_beyond_64_bits_is_a_bad_line_and_the_rest_is_read(
    hosts: Path, value: str
) -> None:
    with Path("cubic/x/day-0.ss").open("a") as file:
        for number, key in enumerate(COUNTS):
            file.write(
                f"ESTAB 0 0 10.0.0.1:443 192.0.2.9:{number}\n\t cubic {with_count(key, value)}\n"
            )
    access = '{"msec":"1576576800","hostname":"x","status":"200","bytes_sent":"1000","request_time":"0.1"}\n'
    keys = (
        "status",
        "bytes_sent",
        "body_bytes_sent",
        "connection",
        "connection_requests",
        "tcpinfo_snd_cwnd",
    )
    lines = [json.dumps(json.loads(access) | {key: value}) + "\n" for key in keys]
    Path("access.log").write_text(access + "".join(lines) + access)
    snmp = "".join(
        f"@{1576576800 + 10 * number}\nTcp: InSegs OutSegs RetransSegs\nTcp: {segments} {segments} 1\n"
        for number, segments in enumerate(("100", "200", value, "300", "400"))
    )
    Path("x.snmp").write_text(snmp + f"@1576576900\n{value} segments received\n")
    Path("x.hist").write_text(f"@1576576800\n@rtt:\n[1, 2)   {value} |@@ |\n[2, 4)   7 |@ |\n")
    more = (
        "--nginx",
        "cubic=access.log",
        "--log-format",
        "json",
        "--snmp",
        "cubic=x.snmp",
        "--hist",
        "cubic=x.hist",
    )
    result = fleet(*ARMS, *more, "-o", "out")
    assert result.exit_code == 0, result.output
    assert rows().height == 12
    assert rows("out", "requests")["bytes_sent"].to_list() == [1000, 1000]
    assert rows("out", "counters")["in_segs"].sum() == 300
    assert rows("out", "histograms")["count"].to_list() == [7]
    about = json.loads(Path("out/ingest.json").read_text())
    bad: dict[str, int] = {}
    for source in about["sources"]:
        bad[source["kind"]] = bad.get(source["kind"], 0) + source["counts"]["bad"]
    assert bad == {"ss": len(COUNTS), "nginx": len(keys), "snmp": 2, "hist": 1}


def texts(directory: str) -> str:
    """Returns all that a fleet directory says, in tables and other files, without `.progress`."""
    files = [file for file in Path(directory).rglob("[!.]*") if file.is_file()]
    files = [file for file in files if not file.parent.name.startswith(".")]
    tables = [pl.read_parquet(file) for file in files if file.suffix == ".parquet"]
    others = [file.read_text() for file in files if file.suffix != ".parquet"]
    return "".join([*(frame.cast(pl.String).write_csv() for frame in tables), *others])


def test_with_a_key_no_address_is_left(hosts: Path) -> None:
    with Path("cubic/x/day-0.ss").open("a") as file:
        file.write("ESTAB 0 many 10.0.0.1:443 192.0.2.9:3\n")
    fleet(*ARMS, "-o", "whole")
    result = fleet(*ARMS, "-o", "out", "--anonymize", "key")
    assert "created the key key" in result.stderr
    assert fleet(*ARMS, "-o", "again", "--anonymize", "key").exit_code == 0
    frame = rows().sort("client")
    assert frame["client"].to_list() == rows("again").sort("client")["client"].to_list()
    assert frame["client"].n_unique() == 2
    assert frame["client_net"].n_unique() == 1
    assert "192.0.2" not in texts("out") and "192.0.2.7" in texts("whole")
    other = fleet(*ARMS, "-o", "out", "--anonymize", "other")
    assert other.exit_code == 2
    assert "out was made with a different --anonymize" in other.stderr
    Path("short").write_text("abc")
    assert (
        "a key must be 32 hexadecimal digits"
        in fleet(*ARMS, "-o", "new", "--anonymize", "short").stderr
    )


def test_logs_and_counters_go_to_the_arm_of_their_host(hosts: Path) -> None:
    Path("logs").mkdir()
    for host, arm in (("x", "cubic"), ("z", "bbr")):
        Path(arm, host).mkdir(exist_ok=True)
        Path(arm, host, "day-0.ss").write_text(f"@1576576800\n{line('192.0.2.7:1', 1000)}")
        Path("logs", f"{host}.log").write_bytes(
            gzip.compress(f"192.0.2.7 1576576800.000 200 2000000 1.000 {host}\n".encode())
        )
        Path("logs", f"{host}.snmp").write_text(
            "".join(
                f"@{1576576800 + at}\nTcp: OutSegs RetransSegs\nTcp: {at * 100} {at}\n"
                for at in (0, 10)
            )
        )
        Path("logs", f"{host}.hist").write_text("@1576576800\n@us:\n[0] 1 |@|\n[1, 2) 3 |@@@|\n")
    result = fleet(
        *("--arm", "cubic=cubic/{host}/day-0.ss", "--arm", "bbr=bbr/z/*.ss", "-o", "out"),
        *(
            "--nginx",
            "bbr=logs/{host}.log",
            "--log-format",
            "$remote_addr $msec $status $bytes_sent $request_time $v",
        ),
        *("--snmp", "bbr=logs/{host}.snmp", "--hist", "bbr=logs/{host}.hist", "--keep", "$v"),
    )
    assert result.exit_code == 0, result.output
    requests = rows(table="requests").sort("host")
    assert requests["host"].to_list() == ["x", "z"]
    assert requests["throughput_bps"].to_list() == [16e6, 16e6]
    assert requests["kept"].to_list() == ['{"v":"x"}', '{"v":"z"}']
    counters = rows(table="counters")
    assert counters["retrans"].to_list() == [0.01, 0.01]
    assert counters["retrans_of_all"][0] == pytest.approx(10 / 1010)
    assert rows(table="histograms")["share"].to_list() == [0.25, 0.75] * 2

    unfit = fleet(
        *ARMS, "--nginx", "bbr=logs/{host}.log", "--log-format", "$msec/$status", "-o", "unfit"
    )
    assert "no line matches --log-format in the logs of 2 of 2 hosts" in unfit.stdout

    # A host in no arm has no known arm; for a host in two arms it is ambiguous.
    logs = ("--nginx", "logs/{host}.log", "--log-format", "$msec $status $bytes_sent")
    refused = fleet("--arm", "cubic=cubic/{host}/*.ss", *logs, "-o", "none")
    assert refused.exit_code == 2
    assert "host z is in no arm; the hosts of --arm are x, y" in refused.stderr
    refused = fleet(*ARMS, *logs, "-o", "none")
    assert "host x is in 2 arms: bbr, cubic" in refused.stderr


def test_a_log_may_say_its_host_itself(hosts: Path) -> None:
    Path("access.log").write_text(
        "x 1576576800.000 200 5 1.0\ny 1576576801.000 200 5 1.0\nq 1576576802.000 200 5 1.0\n"
    )
    arms = ("--arm", "cubic=cubic/{host}/*0.ss", "--arm", "bbr=bbr/y/*0.ss")
    Path("cubic/y/day-0.ss").unlink()
    log = (
        "--nginx",
        "access.log",
        "--log-format",
        "$hostname $msec $status $bytes_sent $request_time",
    )
    assert fleet(*arms, *log, "-o", "out").exit_code == 0
    requests = rows(table="requests").sort("time")
    assert requests["arm"].to_list() == ["cubic", "bbr", "unassigned"]


def test_an_arm_without_a_connection_is_named(hosts: Path) -> None:
    for file in (hosts / "bbr").rglob("*.ss"):
        file.write_text("")
    result = fleet(*ARMS, "-o", "out")
    assert result.exit_code == 0
    assert "arm bbr has no connection in 4 files\n" in result.output
    assert "arm cubic has no" not in result.output
    compared = CliRunner().invoke(app, ["fleet", "compare", "out", "--min-bytes", "0"])
    assert compared.exit_code == 2
    assert "only one arm with data, cubic: the files of bbr have no connection" in compared.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--arm", "cubic/x/*.ss"], "an arm needs a name"),
        (
            ["--arm", "a=none/*.ss"],
            "--arm a=none/*.ss: no file matches\n  fix: quote the pattern",
        ),
        (
            ["--arm", "a=cubic/x/*.gz"],
            "no file matches\n  fix: cubic/x has day-0.ss, day-1.ss: change *.gz",
        ),
        (["--arm", "a=cubic/x"], "this is a folder\n  fix: name its files, like cubic/x/*"),
        (["--arm", "a={host}/{host}/*"], "{host} occurs twice"),
        ([], "no input files given"),
        (
            ["--arm", "a=cubic/x/*", "--nginx", "cubic/x/*", "--log-format", "$status"],
            "--log-format: it has none of",
        ),
    ],
)
def test_wrong_use_is_said(hosts: Path, arguments: list[str], said: str) -> None:
    result = fleet(*arguments, "-o", "out")
    assert result.exit_code == 2
    assert said in result.stderr
    assert not Path("out").exists()


def test_a_directory_of_something_else_is_left_alone(hosts: Path) -> None:
    assert fleet(*ARMS, "-o", "cubic").exit_code == 2
    fleet(*ARMS, "-o", "out")
    with Path("cubic/x/day-0.ss").open("a") as file:
        file.write("@1576576900\n")
    grown = fleet(*ARMS, "-o", "out")
    assert grown.exit_code == 2
    assert re.search(
        r"the file had [\d,]+ bytes when it was read, and has [\d,]+ now", grown.stderr
    )


def test_of_a_log_only_what_is_asked_for_is_kept(hosts: Path) -> None:
    request = (
        '192.0.2.7 - alice [17/Dec/2019:10:00:00 +0000] "GET /secret?token=1 HTTP/1.1" 200 5000'
    )
    Path("access.log").write_text(
        f'{request} "http://from.example/" "Mozilla/5.0 (alices phone)"\n'
    )
    log = ("--nginx", "cubic=access.log")
    assert fleet(*log, "-o", "out").exit_code == 0
    assert rows(table="requests")["bytes_sent"].to_list() in ([5000], [None])
    said = texts("out")
    assert "192.0.2.7" in said
    for word in ("secret", "token", "alice", "from.example", "Mozilla"):
        assert word not in said, word
    assert fleet(*log, "--keep", "http_user_agent", "-o", "kept").exit_code == 0
    assert "Mozilla" in texts("kept") and "secret" not in texts("kept")
    assert fleet(*log, "--anonymize", "key", "-o", "tokens").exit_code == 0
    assert rows("tokens", "requests").height == 1 and "192.0.2" not in texts("tokens")


def test_all_bad_lines_are_counted_and_a_hundred_of_each_host_quoted(hosts: Path) -> None:
    for host, lines in (("x", 150), ("y", 3)):
        with Path(f"cubic/{host}/day-0.ss").open("a") as file:
            file.write("ESTAB 0 many 10.0.0.1:443 192.0.2.9:3\n" * lines)
    assert fleet(*ARMS, "-o", "out").exit_code == 0
    sources = json.loads(Path("out/ingest.json").read_text())["sources"]
    found = sorted((each["counts"]["bad"], len(each["bad_lines"])) for each in sources)
    assert found == [(0, 0), (0, 0), (3, 3), (150, 100)]


def test_progress_is_saved_every_ten_seconds() -> None:
    assert ingest._COMMIT_S <= 10, "the tests of interruptions have less"
