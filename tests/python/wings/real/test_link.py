"""`fullpipe link`: real programs behind a path, in real time. Bounds are wide, since the machine may be busy."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import served
from links import LINK, Linked, captured

if TYPE_CHECKING:
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


# Without these, root is in a user namespace, as users are.
FEWER = ("setpriv", "--bounding-set=-sys_admin,-net_admin")


def test_the_command_has_no_capability_with_which_it_could_leave(linked: Linked) -> None:
    done = linked.link("--", "grep", "Cap", "/proc/self/status")
    caps = {
        name: int(value, 16)
        for name, value in (line.split(":\t") for line in done.stdout.splitlines())
    }
    for admin in (12, 16, 19, 21):  # NET_ADMIN, SYS_MODULE, SYS_PTRACE, SYS_ADMIN
        assert not any(
            caps[name] >> admin & 1 for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb", "CapInh")
        )
    assert linked.is_root or caps["CapEff"] == 0


# Settings of the machine, which root may write even without capabilities. The test opens them, but
# writes none.
SETTINGS = """
import errno, os, sys
tried, opened = 0, []
for root in ("/proc/sys", "/sys"):
    for folder, folders, files in os.walk(root):
        if folder == "/proc/sys":
            folders.remove("net")
        for file in files:
            tried += 1
            if file == "ns_last_pid" and os.geteuid() != 0:
                continue  # of its own processes, and to be written only with a capability
            if os.access(os.path.join(folder, file), os.W_OK):
                opened.append(os.path.join(folder, file))
for file in ("/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches",
             "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/sys/kernel/mm/ksm/run",
             "/sys/class/net/eth0/mtu", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs"):
    try:
        os.close(os.open(file, os.O_WRONLY))
        opened.append(file)
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES):
            opened.append(f"{file}: {error}")
own = "/proc/sys/net/ipv4/tcp_notsent_lowat"
try:
    with open(own, "r+") as setting:  # of its own network, as who owns that
        setting.write(setting.read())
    own = "written"
except PermissionError:
    own = "refused"
print(tried > 300, opened, own, os.access(f"/proc/{os.getpid()}/oom_score_adj", os.W_OK))
"""
IN_NAMESPACES_OF_ITS_OWN = """
import subprocess, sys
for more in ([], ["--mount-proc"]):
    nested = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", *more]
    probe = "mount -t sysfs sysfs /sys; mount -o remount,rw /sys; mount -o remount,rw /proc/sys; "
    probe += "umount /proc/sys; "
    probe += "for file in /proc/sys/kernel/hostname /sys/kernel/mm/ksm/run; do test -w $file && echo $file; done"
    subprocess.run([*nested, "sh", "-c", probe], stderr=subprocess.DEVNULL)
"""


@pytest.mark.parametrize("how", [(), FEWER], ids=["as it is", "userns"])
def test_the_command_can_not_write_the_machines_settings(
    linked: Linked, how: tuple[str, ...]
) -> None:
    if how and not linked.is_root:
        return  # it is in a user namespace as it is
    done = linked.link("--", linked.python, "-c", SETTINGS, within=how)
    own = "written" if linked.is_root else "refused"
    assert done.stdout == f"True [] {own} True\n", done.stderr


@pytest.mark.parametrize("options", [(), ("--unconfined",)], ids=["confined", "unconfined"])
def test_nor_in_namespaces_of_its_own(linked: Linked, options: tuple[str, ...]) -> None:
    done = linked.link(*options, "--", linked.python, "-c", IN_NAMESPACES_OF_ITS_OWN)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


# A process that can trace the first process gets into its namespaces, which are the machine's for the
# threads of its proxy.
TRACER = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
done = []
for thread in map(int, os.listdir("/proc/1/task")):
    if libc.ptrace(0x4206, thread, None, None) == 0:  # PTRACE_SEIZE
        done.append(f"{thread} traced")
    for name, call in (("mem", lambda file: os.open(file, os.O_RDWR)), ("ns/net", os.readlink)):
        try:
            call(f"/proc/1/task/{thread}/{name}")
            done.append(f"{thread} {name}")
        except PermissionError:
            pass
if libc.syscall(438, os.pidfd_open(1), 1, 0) >= 0:  # pidfd_getfd
    done.append("a descriptor")
print(done)
"""


@pytest.mark.parametrize("how", [(), FEWER], ids=["as it is", "userns"])
def test_the_command_can_not_trace_the_first_process(linked: Linked, how: tuple[str, ...]) -> None:
    if how and not linked.is_root:
        return  # it is in a user namespace as it is
    done = linked.link("--uplink", "--", linked.python, "-c", TRACER, within=how)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_of_the_measurement_before_nothing_is_left_on_the_path(link: Link, tmp_path: Path) -> None:
    for number, loss in enumerate(("0%", "0%", "50%", "0%")):
        done = link(f"--loss={loss}", f"--out={tmp_path / str(number)}", "--", "sleep", "0.1")
        assert done.returncode == 0, done.stderr
        report = json.loads((tmp_path / str(number) / "link.json").read_text())
        assert (report["down"]["packets"], report["up"]["packets"]) == (0, 0)


@pytest.mark.parametrize("victim", ["caller", "keeper", "first"])
def test_nothing_is_left_after_kill_9(link: Link, tmp_path: Path, victim: str) -> None:
    process, namespaces = _begin(tmp_path)
    children = _children(process.pid)
    who = {"caller": process.pid, "keeper": children[0], "first": _children(children[0])[0]}[victim]
    os.kill(who, signal.SIGKILL)
    _, said = process.communicate(timeout=20)
    assert victim == "caller" or (process.returncode == 2 and "left nothing behind" in said)
    _wait_for_nobody_in(namespaces)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_when_a_signal_ends_it(
    link: Link, tmp_path: Path, sent: signal.Signals
) -> None:
    process, namespaces = _begin(tmp_path, "--out", str(tmp_path / "kept"))
    process.send_signal(sent)
    _, said = process.communicate(timeout=20)
    assert "Traceback" not in said
    assert process.returncode == 128 + sent
    # SIGINT asks the command to end; its end is then a normal one.
    assert (tmp_path / "kept").exists() == (sent == signal.SIGINT)
    _wait_for_nobody_in(namespaces)


def test_nothing_is_left_of_what_the_command_has_started(link: Link, tmp_path: Path) -> None:
    done = link("--", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & readlink /proc/self/ns/net")
    assert done.returncode == 0
    _wait_for_nobody_in([done.stdout.strip()])


def _begin(directory: Path, *options: str) -> tuple[subprocess.Popen[str], list[str]]:
    """Starts a link with a long-running command and a daemon; returns it with its network namespaces."""
    script = "setsid sleep 1000 & readlink /proc/self/ns/net > near.new && mv near.new near; exec sleep 1000"
    far = f"sh -c 'readlink /proc/self/ns/net > {directory}/far; exec {sys.executable} -m http.server 80'"
    process = subprocess.Popen(
        [*LINK, *options, "--server", far, "--", "sh", "-c", script],
        cwd=directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: [
            signal.signal(each, signal.SIG_DFL) for each in (signal.SIGINT, signal.SIGHUP)
        ],
    )
    deadline = time.monotonic() + 30
    while not (directory / "near").exists() and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.02)
    namespaces = [(directory / end).read_text().strip() for end in ("near", "far")]
    assert len({*namespaces, str(Path("/proc/self/ns/net").readlink())}) == 3
    return process, namespaces


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _wait_for_nobody_in(namespaces: list[str]) -> None:
    """Waits for the end of the last process in the namespaces: they have no names, so they vanish with it."""

    def inside() -> list[str]:
        found = []
        for process in Path("/proc").glob("[0-9]*/ns/net"):
            try:
                if str(process.readlink()) in namespaces:
                    found.append(f"{process}: {(process.parent.parent / 'cmdline').read_text()}")
            except OSError:  # the process has just ended, or has a different owner
                continue
        return found

    deadline = time.monotonic() + 10
    while (left := inside()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


# A host of the test's own, which runs the link: a namespace with an address of its own and a server.
HOST = """
import socket, subprocess, sys, threading
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
subprocess.run(["ip", "address", "add", "192.0.2.1/32", "dev", "lo"], check=True)
def serve(address):
    with socket.create_server((address, 80)) as server:
        while True:
            client, _ = server.accept()
            with client:
                client.sendall(b"outside")
for address in ("192.0.2.1", "127.0.0.1"):
    threading.Thread(target=serve, args=(address,), daemon=True).start()
sys.exit(subprocess.run([sys.executable, "-m", "fullpipe", "link", *sys.argv[1:]]).returncode)
"""
SOCKS = """
import os, socket, sys, time
def ask(host):
    door, port = os.environ["ALL_PROXY"].removeprefix("socks5h://").split(":")
    with socket.create_connection((door, int(port))) as proxy:
        proxy.sendall(bytes([5, 1, 0]))
        assert proxy.recv(2) == bytes([5, 0])
        proxy.sendall(bytes([5, 1, 0, 3, len(host)]) + host.encode() + (80).to_bytes(2))
        answer = proxy.recv(10)[1]
        return answer, proxy.recv(100) if answer == 0 else b""
before = time.monotonic()
print(ask("192.0.2.1"), ask("127.0.0.1"), ask("192.0.2.1.invalid"), time.monotonic() - before > 0.15)
"""
DIRECT = """
import socket
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
    print("reached")
except OSError as error:
    print(error.strerror)
"""


def test_the_outside_is_reached_only_when_it_is_asked_for(link: Link, tmp_path: Path) -> None:
    own = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if subprocess.run([*own, "ip", "link"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no namespace of the test's own: unshare and ip are needed")
    for name, text in (("host", HOST), ("socks", SOCKS), ("direct", DIRECT)):
        (tmp_path / f"{name}.py").write_text(text)

    def on_host(*args: str) -> str:
        command = [*own, sys.executable, "host.py", *args]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=300
        ).stdout

    assert on_host("--rtt=50ms", "--", sys.executable, "direct.py") == "Network is unreachable\n"
    assert (
        on_host("--rtt=50ms", "--uplink", "--", sys.executable, "direct.py")
        == "Network is unreachable\n"
    )
    # The proxy reaches the outside but not its loopback, refuses an unknown name, and data take the
    # path's RTT.
    said = on_host("--rtt=50ms", "--uplink", "--", sys.executable, "socks.py")
    assert said == "(0, b'outside') (2, b'') (4, b'') True\n"


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
            forwarder = [each for keeper in _children(process.pid) for each in _children(keeper)]
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


def test_a_second_ctrl_c_ends_a_program_that_ignores_it(link: Link, tmp_path: Path) -> None:
    (tmp_path / "deaf").mkdir()
    script = "trap '' INT; touch deaf/yes; sleep 1000; sleep 1000"
    with subprocess.Popen(
        [*LINK, "--", "sh", "-c", script],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        deadline = time.monotonic() + 30
        while not (tmp_path / "deaf/yes").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        try:
            for _ in range(2):
                process.send_signal(signal.SIGINT)
                time.sleep(0.3)
            _, said = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 128 + signal.SIGINT, said


# The network of a host of the test's own before, during and after a link.
UNCHANGED = """
import pathlib, subprocess, sys
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
def network():
    shown = [subprocess.run(["ip", "-o", *what], capture_output=True, text=True, check=True).stdout
             for what in (["-d", "link"], ["address"], ["route", "show", "table", "all"], ["rule"])]
    settings = ("ip_forward", "conf/all/forwarding", "conf/all/rp_filter", "tcp_congestion_control", "tcp_rmem")
    return shown + [pathlib.Path("/proc/sys/net/ipv4", name).read_text() for name in settings]
before = network()
link = [sys.executable, "-m", "fullpipe", "link", *sys.argv[1:], "--", "sh", "-c", "touch begun; sleep 1; touch ended"]
process = subprocess.Popen(link)
while not pathlib.Path("begun").exists():
    assert not process.poll()
during = network()
still = not pathlib.Path("ended").exists()
print(still, process.wait(), before == during == network())
"""


@pytest.mark.parametrize("more", [[], ["--uplink"]])
def test_the_machines_network_stays_as_it_is(link: Link, tmp_path: Path, more: list[str]) -> None:
    own = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if subprocess.run([*own, "ip", "link"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no namespace of the test's own: unshare and ip are needed")
    (tmp_path / "unchanged.py").write_text(UNCHANGED)
    command = [*own, sys.executable, "unchanged.py", *more]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.stdout == "True 0 True\n", done.stderr
