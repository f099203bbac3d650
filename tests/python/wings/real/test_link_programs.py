"""Programs that work behind `fullpipe link`, as root and as a user."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import needs
import served
from browser import chromium
from fullpipe.wings.real.runners import _uml_boot
from links import AS_USER, FAR, LINK, Linked, tool

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a link needs Linux")

PATH = ("--rate=50mbit", "--rtt=20ms")


def test_ping(linked: Linked) -> None:
    done = linked.link(*PATH, "--", tool("ping"), "-c", "3", "-i", "0.2", FAR)
    assert " 3 received" in done.stdout, done.stdout + done.stderr


def test_a_report_of_a_link_without_flows_says_so(linked: Linked) -> None:
    kept = str(linked.folder / "kept")
    assert linked.link(*PATH, "--out", kept, "--", "true").returncode == 0
    done = served.command("report", kept)
    assert done.returncode == 2
    assert "kept: no flow: nothing was sent over the path\n  fix: " in done.stderr


def test_ping_as_another_user_behind_roots_link(linked: Linked) -> None:
    if not linked.is_root:
        return  # only root can become another user
    done = linked.link(*PATH, "--", *AS_USER, tool("ping"), "-c", "3", "-i", "0.2", FAR)
    assert " 3 received" in done.stdout, done.stdout + done.stderr


def test_iperf3(linked: Linked) -> None:
    client = [tool("iperf3"), "--client", FAR, "--bytes", "300K", "--reverse", "--json"]
    done = linked.link(*PATH, "--server", "iperf3 --server --one-off", "--", *client)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["end"]["sum_received"]["bytes"] >= 300_000


def test_tcpdump(linked: Linked) -> None:
    if not linked.is_root:
        return  # captures need CAP_NET_RAW, which only root's programs have
    script = f"{tool('tcpdump')} -c 4 -n icmp & sleep 1; {tool('ping')} -c 2 -i 0.2 {FAR} > ping.txt; wait $!"
    done = linked.link(*PATH, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ICMP echo re") == 4, done.stdout + done.stderr


def test_the_network_of_a_program_stays_as_it_is(linked: Linked) -> None:
    """Chromium abandons a page that it loads when an address comes (ERR_NETWORK_CHANGED)."""
    script = f"timeout 1.5 {tool('ip')} monitor; {tool('ip')} -oneline address show dev fullpipe0"
    done = linked.link("--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    (address,) = done.stdout.splitlines()
    assert "inet 100.64.0.2/30" in address


# A host of the test's own, with a server outside the path; it runs the link.
OUTSIDE = """
import http.server, subprocess, sys, threading
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
subprocess.run(["ip", "address", "add", "192.0.2.1/32", "dev", "lo"], check=True)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"from outside")
server = http.server.ThreadingHTTPServer(("192.0.2.1", 80), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""


def test_curl_through_the_uplink(linked: Linked) -> None:
    host = ("unshare", "--net", *(() if os.geteuid() == 0 else ("--map-root-user",)))
    host += (sys.executable, "-c", OUTSIDE)
    url = "http://192.0.2.1/"
    done = linked.link(*PATH, "--uplink", "--", tool("curl"), "-s", url, within=host)
    assert (done.returncode, done.stdout) == (0, "from outside"), done.stderr


@pytest.mark.parametrize("sandbox", [False, True], ids=["no-sandbox", "sandbox"])
def test_chromium(linked: Linked, sandbox: bool) -> None:
    if sandbox and linked.is_root:
        return  # Chromium refuses its sandbox to root
    program = chromium()
    if program is None:
        pytest.skip("no chromium: `make browser` installs what this needs")
    (linked.folder / "page.html").write_text("<p id=p></p><script>p.textContent = 6 * 7</script>")
    options = ["--headless", "--disable-gpu", "--dump-dom", f"--user-data-dir={linked.folder}/data"]
    if not sandbox:
        options.append("--no-sandbox")
    server = f"{linked.python} -m http.server 8000"
    command = [program, *options, f"http://{FAR}:8000/page.html"]
    done = linked.link(*PATH, "--server", server, "--", *command)
    assert '<p id="p">42</p>' in done.stdout, done.stderr


# Memory that processes share, a terminal of its own, processes that trace others, threads.
ORDINARY = """
import ctypes, multiprocessing.shared_memory as shared, os, pty, socket, threading
memory = shared.SharedMemory(create=True, size=100)
memory.close(); memory.unlink()
child, terminal = pty.fork()
if child == 0:
    os.execvp("echo", ["echo", "in a terminal"])
print(os.read(terminal, 100).decode().strip())
os.waitpid(child, 0)
thread = threading.Thread(target=print, args=["in a thread"])
thread.start(); thread.join()
child = os.fork()
if child == 0:
    ctypes.CDLL(None).ptrace(0, 0, 0, 0)
    os.kill(os.getpid(), 19)
print(os.WIFSTOPPED(os.waitpid(child, 0)[1]))
ctypes.CDLL(None).ptrace(7, child, 0, 9)
for device in ("null", "zero", "full", "random", "urandom", "tty", "stdin", "fd/1"):
    assert os.path.exists("/dev/" + device) or device == "tty", device
assert socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
print(os.getrandom(4) != os.getrandom(4), open("/dev/zero", "rb").read(2))
"""


def test_an_ordinary_program(linked: Linked) -> None:
    done = linked.link("--", linked.python, "-c", ORDINARY)
    said = ["in a terminal", "in a thread", "True", "True b'\\x00\\x00'"]
    assert done.stdout.splitlines() == said, done.stderr


def test_a_shell_on_a_terminal(linked: Linked) -> None:
    screen, keyboard = pty.openpty()
    script = 'test -t 0 && tty > /dev/null && echo typed > /dev/tty && echo "$TERM" > "$HOME/done"'
    command = [*linked.who, *LINK, "--", "sh", "-c", script]
    # A session of its own, whose terminal this is.
    own = "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    own += "os.execvp(sys.argv[1], sys.argv[1:])"
    environment = {**linked.environment, "HOME": str(linked.folder), "TERM": "dumb"}
    process = subprocess.Popen(
        [sys.executable, "-c", own, *command],
        stdin=keyboard,
        stdout=keyboard,
        stderr=keyboard,
        env=environment,
        cwd=linked.folder,
    )
    os.close(keyboard)
    said = b""
    while process.poll() is None or b"lateness" not in said:
        try:
            said += os.read(screen, 10_000)
        except OSError:  # the last process has closed the terminal
            break
    assert process.wait(timeout=20) == 0, said
    assert b"typed" in said
    assert (linked.folder / "done").read_text() == "dumb\n"


@needs.UML
def test_user_mode_linux(linked: Linked) -> None:
    # The kernel may lie where only root can read it.
    kernel = linked.folder / "linux"
    shutil.copy(_uml_boot.cache() / "linux", kernel)
    init = linked.folder / "init"
    init.write_text("#!/bin/sh\necho booted $$\nexec sleep 100\n")
    init.chmod(0o755)
    words = ["mem=128M", "rootfstype=hostfs", "rootflags=/", "ro", "quiet", "con=null"]
    words += ["con0=fd:0,fd:1", f"uml_dir={linked.folder}/", "umid=uml", f"init={init}"]
    script = '"$@" > console & while ! grep -q "booted 1" console; do sleep 0.1; done; kill -9 $!'
    done = linked.link("--", "timeout", "50", "sh", "-c", script, "sh", str(kernel), *words)
    console = Path(linked.folder / "console").read_text(errors="replace")
    assert "booted 1" in console, done.stdout + done.stderr + console
