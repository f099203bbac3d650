"""`fullpipe fleet ingest`, run as a command."""

import gzip
import json
import re
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import fleet_ingested
from fleet_ingested import ARMS, REAL, fleet, line, rows
from fullpipe import _core
from fullpipe.commands import app
from fullpipe.wings.fleet import schema


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return fleet_ingested.hosts(tmp_path, monkeypatch)


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
