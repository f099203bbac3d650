"""`fullpipe link`: real programs behind a path, in real time. Bounds are wide, since the machine may be busy."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import polars as pl
import pytest

import served
from links import LINK, captured, children

if TYPE_CHECKING:
    from pathlib import Path

    from links import Link

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a link needs Linux")


SERVER = """
import socket
with socket.create_server(("0.0.0.0", 7000)) as server:
    while True:
        client, _ = server.accept()
        with client:
            amount = int(client.recv(100))
            client.sendall(bytes(amount))
"""
CLIENT = """
import socket, sys, time
amount = int(sys.argv[1])
before = time.monotonic()
with socket.create_connection(("100.64.0.1", 7000)) as server:
    connected = time.monotonic()
    server.sendall(str(amount).encode())
    got, first = 0, None
    while more := len(server.recv(1 << 16)):
        first = first or (time.monotonic(), more)
        got += more
ended = time.monotonic()
assert got == amount, (got, amount)
print(connected - before, (got - first[1]) * 8 / (ended - first[0]))
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    return tmp_path


def test_rate_and_rtt_are_those_of_the_path(link: Link, programs: Path) -> None:
    server = f"--server={sys.executable} {programs / 'server.py'}"
    client = [sys.executable, str(programs / "client.py"), "3000000"]
    kept = programs / "kept"
    done = link(
        "--rate=20mbit", "--rtt=40ms", "--buffer=2bdp", server, f"--out={kept}", "--", *client
    )
    assert done.returncode == 0, done.stderr
    connect_s, goodput = map(float, done.stdout.split())
    assert 0.040 <= connect_s < 0.5
    # Never faster than the path, and not much slower even on a busy machine.
    assert 0.3 * 20e6 < goodput < 20e6 * 1448 / 1500 * 1.05
    report = json.loads((kept / "link.json").read_text())
    assert report["down"]["bytes"] > 3_000_000
    assert report["down"]["rate_bps"] <= 20e6 * 1.05
    assert [link["name"] for link in report["links"]] == ["bottleneck", "up"]
    assert report["timeliness"]["overflown"] == 0
    assert "Mbit/s" in done.stderr
    assert "lateness p50" in done.stderr
    # The series that a report shows are of the same packets.
    (flow,) = json.loads((kept / "metrics.json").read_text())["flows"]
    assert flow["name"].startswith("TCP 100.64.0.1:")
    assert flow["goodput_bps"] == pytest.approx(goodput, rel=0.25)
    assert flow["rtt_s"]["min"] >= 0.040
    assert flow["retransmits"] >= report["down"]["dropped"]
    links = pl.read_parquet(kept / "links.parquet").filter(link="bottleneck")
    assert len(links) >= 0.7 * 10 * report["elapsed_s"]
    assert links["rate"].unique().to_list() == [20e6]
    longest_s = report["links"][0]["queue_delay_s"]["max"]
    assert all(0 <= sojourn <= longest_s + 1e-3 for sojourn in links["sojourn"])
    assert links["drops"][-1] <= report["down"]["dropped"]
    # Links and flows have the same clock: packets wait while the flow sends.
    sent = pl.read_parquet(kept / "trace.parquet")["time"].to_list()
    busy = links.filter(pl.col("queue_packets") > 0)["time"].to_list()
    assert min(sent) - 0.1 <= min(busy)
    assert max(busy) <= max(sent) + 0.2
    shown = served.command("report", kept)
    assert shown.returncode == 0, shown.stderr
    # Packets of both ends: those sent at one end, minus those dropped, arrive at the other end.
    near, far = (captured(kept / f"{end}.pcapng") for end in ("near", "far"))
    through = sum(report[way]["packets"] for way in ("down", "up"))
    dropped = {way: report[way]["dropped"] for way in ("down", "up")}
    assert abs(len(near) - through - dropped["up"]) <= 200  # some are still in flight at the end
    assert abs(len(far) - through - dropped["down"]) <= 200
    assert all(packet[0] >> 4 == 4 for _, packet in near + far)
    assert abs(near[0][0] / 1e9 - time.time()) < 120
    assert any(at % 1000 for at, _ in near)


def test_a_server_that_does_not_listen_is_said(link: Link, programs: Path) -> None:
    began = time.monotonic()
    listens = f"--server={sys.executable} {programs / 'server.py'}"
    deaf = ("--server=sleep 1000", "--server=sleep 1001")
    done = link("--rate=20mbit", deaf[0], listens, deaf[1], "--", "true")
    assert done.returncode == 0
    assert time.monotonic() - began < 30
    assert '--server "sleep 1000" did not listen before the program started' in done.stderr
    assert '--server "sleep 1001" did not listen before the program started' in done.stderr
    assert done.stderr.count("did not listen") == 2


MANY = """
import socket, sys
from concurrent.futures import ThreadPoolExecutor
def take(_):
    with socket.create_connection(("100.64.0.1", 7000)) as server:
        server.sendall(b"20000")
        while server.recv(1 << 16):
            pass
with ThreadPoolExecutor(5) as pool:
    list(pool.map(take, range(30)))
"""


def test_of_many_flows_the_largest_are_kept_and_the_sums_are_of_all(
    link: Link, programs: Path
) -> None:
    kept, imported = programs / "kept", programs / "imported"
    server = f"--server={sys.executable} {programs / 'server.py'}"
    client = ("--", sys.executable, "-c", MANY)
    done = link(
        "--rate=20mbit", "--rtt=20ms", "--buffer=4packets", server, f"--out={kept}", *client
    )
    assert done.returncode == 0, done.stderr
    said = "20 of 30 flows are kept, those with the most bytes; all 30 sent 0."
    assert said in done.stderr
    total = json.loads((kept / "link.json").read_text())["flows"]
    assert (total["kept"], total["flows"]) == (20, 30) and total["bytes"] >= 600_000
    metrics = json.loads((kept / "metrics.json").read_text())
    assert len(metrics["flows"]) == 20
    resent = sum(flow["retransmits"] for flow in metrics["flows"])
    assert total["again"] > resent, "the others lost packets, too"
    told = f"in {total['packets']:,} packets, {total['again']:,} of them again"
    assert told in done.stderr
    page = programs / "page.html"
    assert served.command("report", kept, "--out", page).returncode == 0
    text = page.read_text()
    assert text.count(told) >= 2, "in the facts and in the summary"
    assert "packets were sent again" not in text
    # The same of a capture.
    done = served.command("trace", "import", kept / "far.pcapng", "--out", imported)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout and "20 flows kept" in done.stdout
    assert told in done.stdout


def test_a_program_that_ends_at_once_is_kept(link: Link, tmp_path: Path) -> None:
    """It may leave no sample of a link at all."""
    for number in range(3):
        done = link("--rate=20mbit", f"--out={tmp_path / str(number)}", "--", "true")
        assert done.returncode == 0, done.stderr
        links = pl.read_parquet(tmp_path / str(number) / "links.parquet")
        assert links.schema["link"] == pl.Enum(["bottleneck", "up"])


def test_a_capture_that_finds_no_room_is_said_and_nothing_is_kept(
    link: Link, programs: Path
) -> None:
    server = f"--server={sys.executable} {programs / 'server.py'}"
    client = [sys.executable, str(programs / "client.py"), "500000"]
    most = ["sh", "-c", 'ulimit -f 100; exec "$@"', "sh"]  # blocks of 512 or 1024 bytes
    command = [*most, *LINK, server, f"--out={programs / 'kept'}", "--", *client]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2, done.stderr
    assert "pcapng: File too large" in done.stderr
    assert "fix: free some space where --out is" in done.stderr
    assert not list(programs.glob("kept*"))


def test_a_scenarios_path_its_queue_and_its_loss(link: Link, programs: Path) -> None:
    (programs / "lossy.toml").write_text(
        '# Lossy\nduration = "9s"\n[path]\nrate = "30mbit"\nrtt = "20ms"\nbuffer = "1bdp"\nqueue = "fq_codel"\n'
        'loss = "every 50"\n[[flow]]\ncc = "cubic"\n'
    )
    server = f"--server={sys.executable} {programs / 'server.py'}"
    client = [sys.executable, str(programs / "client.py"), "500000"]
    kept = programs / "kept"
    done = link(f"--scenario={programs / 'lossy.toml'}", server, f"--out={kept}", "--", *client)
    assert done.returncode == 0, done.stderr
    report = json.loads((kept / "link.json").read_text())
    # Packets of handshakes are not counted, and the last group of 50 may be incomplete.
    lost, sent = report["links"][0]["losses"], report["down"]["packets"] + report["down"]["dropped"]
    assert lost in range((sent - 3) // 50 - 1, sent // 50 + 1)
    assert report["up"]["links"] == []
    assert (kept / "resolved.toml").exists()


def test_the_exit_code_is_the_commands(link: Link) -> None:
    assert link("--", "sh", "-c", "exit 7").returncode == 7
    assert link("--", "sh", "-c", "kill -KILL $$").returncode == 128 + signal.SIGKILL
    done = link("--", "no-such-program-here")
    assert done.returncode == 2
    assert "error: no-such-program-here: not found on PATH" in done.stderr
    done = link("--server", "false", "--", "true")
    assert done.returncode == 2
    assert '--server "false" ended' in done.stderr


def test_arguments_reach_the_command_as_they_are(link: Link) -> None:
    strange = ["a b", "$HOME", "; touch x", "'", "*", "--rate"]
    done = link("--", sys.executable, "-c", "import sys; print(sys.argv[1:])", *strange)
    assert done.stdout == f"{strange}\n"


def test_live_says_each_second_how_it_is_going(link: Link) -> None:
    done = link("--live", "--", "sleep", "2.5", env={**os.environ, "COLUMNS": "60"})
    header, *lines = done.stderr.splitlines()
    assert header.split() == ["s", *["down", "ms", "pkts", "drop"], *["up", "ms", "pkts", "drop"]]
    assert [line.split()[0] for line in lines if line.endswith("   0    0")] == ["1", "2"]
    assert all(len(line.rstrip()) <= 60 for line in [header, *lines] if "·" not in line), (
        done.stderr
    )
    assert [
        line.split()[0] for line in lines if "bottleneck" in line or line.rstrip().endswith(" up")
    ] == [
        "down",
        "up",
    ]


def test_a_link_behind_a_link_is_refused(link: Link) -> None:
    done = link("--", *LINK, "--", "echo", "it ran")
    assert (done.returncode, done.stdout) == (2, "")
    assert "links can't be nested" in done.stderr


def test_without_root_it_works_or_says_what_to_allow(link: Link) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user; the other tests cover a user without root")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    done = subprocess.run(
        [*nobody, *LINK, "--", "id", "-u"], capture_output=True, text=True, cwd="/"
    )
    if "Permission denied" in done.stderr and "/dev/net/tun" not in done.stderr:
        pytest.skip("a user can't read the tests' Python")
    if done.returncode == 0:
        assert done.stdout == "65534\n"
        return
    assert done.returncode == 2
    assert (
        "fix: as root, allow access: chmod 666 /dev/net/tun" in done.stderr
        or "fix: run it as root" in done.stderr
    )


def test_what_the_machine_cant_do_is_refused_with_the_estimate(link: Link) -> None:
    done = link("--rate=900gbit", "--", "echo", "it ran")
    assert (done.returncode, done.stdout) == (2, "")
    assert "faster than this machine can pace packet by packet, about" in done.stderr
    assert "fix: ask for at most" in done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--rate", "20"], "fix: write"),
        (["--queue", "fq_coddle"], 'did you mean "fq_codel"'),
        (["--profile", "lte", "--up", "1mbit"], "fix: use --set link.0.rate=1mbit"),
        (["--set", "path.ack_filter=on"], "only the simulator filters ACKs"),
        (["--scenario", "nowhere.toml"], "nowhere.toml: No such file"),
        (["--server", "iperf3 '-s"], "fix: close the quotes"),
        (["--server", ""], "--server: the program is missing"),
    ],
)
def test_what_a_user_gets_wrong_is_explained(args: list[str], said: str) -> None:
    done = subprocess.run([*LINK, *args, "--", "echo", "it ran"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


SENDER = """
import socket, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
    for number in range(1500):
        out.sendto(bytes(100), ("100.64.0.1", 9))
        time.sleep(0.001)
"""


def test_late_packets_make_a_report_that_is_not_trustworthy(link: Link, tmp_path: Path) -> None:
    (tmp_path / "sender.py").write_text(SENDER)
    call = [*LINK, "--rtt=40ms", "--", sys.executable, str(tmp_path / "sender.py")]
    with subprocess.Popen(call, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 30
        forwarder: list[int] = []
        while not forwarder and time.monotonic() < deadline:
            forwarder = [each for keeper in children(process.pid) for each in children(keeper)]
        while process.poll() is None:
            for sent, for_s in ((signal.SIGSTOP, 0.1), (signal.SIGCONT, 0.1)):
                try:
                    os.kill(forwarder[0], sent)
                except ProcessLookupError:
                    break
                time.sleep(for_s)
        assert process.stderr
        said = process.stderr.read()
    assert process.returncode == 0, said
    assert "not trustworthy: 1 % of packets were" in said
