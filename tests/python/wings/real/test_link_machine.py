"""`fullpipe link` and the machine: the reach of a program behind it, and an end that leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from links import LINK, Linked, children

if TYPE_CHECKING:
    from links import Link

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a link needs Linux")

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
    (keeper, *_) = children(process.pid)
    who = {"caller": process.pid, "keeper": keeper, "first": children(keeper)[0]}[victim]
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
