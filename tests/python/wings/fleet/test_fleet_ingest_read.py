"""`fullpipe fleet ingest` of files that are compressed, cut off, or have lines that it can't read."""

import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

import fleet_ingested
from fleet_ingested import ARMS, REAL, fleet, line, rows, zstd


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return fleet_ingested.hosts(tmp_path, monkeypatch)


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


def test_all_bad_lines_are_counted_and_a_hundred_of_each_host_quoted(hosts: Path) -> None:
    for host, lines in (("x", 150), ("y", 3)):
        with Path(f"cubic/{host}/day-0.ss").open("a") as file:
            file.write("ESTAB 0 many 10.0.0.1:443 192.0.2.9:3\n" * lines)
    assert fleet(*ARMS, "-o", "out").exit_code == 0
    sources = json.loads(Path("out/ingest.json").read_text())["sources"]
    found = sorted((each["counts"]["bad"], len(each["bad_lines"])) for each in sources)
    assert found == [(0, 0), (0, 0), (3, 3), (150, 100)]
