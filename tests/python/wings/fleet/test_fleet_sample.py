"""`fullpipe fleet sample` on this host, and the way from a real nginx to a fleet directory."""

import gzip
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fullpipe.commands import app
from fullpipe.wings.fleet import store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inet_diag is Linux's")
# Debian puts nginx in a directory that is usually on root's path only.
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


def fleet(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["fleet", *arguments])


@pytest.fixture
def connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Opens a connection and sends data over it; yields the server's port."""
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = listener.getsockname()[1]
        client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        server = stack.enter_context(listener.accept()[0])
        server.sendall(bytes(50_000))
        client.recv(50_000, socket.MSG_WAITALL)
        yield port


def test_what_is_sampled_can_be_ingested(connection: int) -> None:
    result = fleet(
        "sample", "--sport", str(connection), "--interval", "50ms", "--count", "3", "-o", "samples"
    )
    assert result.exit_code == 0, result.output
    assert "3 samples in samples" in result.stderr
    assert "fullpipe fleet ingest --arm 'ARM=samples/*.ss.gz'" in result.stderr
    assert sorted(path.name.split(".", 1)[1] for path in Path("samples").glob("[!.]*")) == [
        "snmp.gz",
        "ss.gz",
    ]
    result = fleet(
        "ingest",
        "--arm",
        "here=samples/*.ss.gz",
        "--snmp",
        "samples/*.snmp.gz",
        "-o",
        "out",
        "--samples",
    )
    assert result.exit_code == 0, result.output
    row = store.scan(Path("out"), "connections").collect().row(0, named=True)
    assert (row["samples"], row["local_port"], row["bytes_sent"], row["state"]) == (
        3,
        connection,
        50_000,
        "ESTAB",
    )
    assert row["unknown"] is None
    assert store.scan(Path("out"), "samples").collect()["time"].n_unique() == 3
    counters = store.scan(Path("out"), "counters").collect()
    assert counters.height == 2
    assert counters["cpu_s"].min() is not None


def test_files_rotate_and_old_ones_go(connection: int) -> None:
    Path("samples").mkdir()
    Path("samples/20191217T100000Z.ss.gz.part").write_bytes(b"")  # left by a killed process
    arguments = (
        "--sport",
        str(connection),
        "--interval",
        "400ms",
        "--rotate",
        "1s",
        "--keep",
        "2",
        "--count",
        "6",
    )
    assert fleet("sample", *arguments, "-o", "samples").exit_code == 0
    names = sorted(path.name for path in Path("samples").glob("[!.]*"))
    assert len(names) == 4
    assert not [name for name in names if "part" in name or name.startswith("2019")]


def test_only_one_process_samples_into_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that the first one is writing keep their names."""
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "fullpipe", "fleet", "sample", "--interval", "50ms"]
    with subprocess.Popen([*command, "-o", "samples"], stderr=subprocess.DEVNULL) as first:
        while not list(Path("samples").glob("*.part")) and first.poll() is None:
            time.sleep(0.01)
        second = fleet("sample", "--count", "1", "-o", "samples")
        assert list(Path("samples").glob("*.part"))
        first.send_signal(signal.SIGINT)
        assert first.wait(30) == 130
    assert second.exit_code == 2
    assert second.stderr == (
        "error: samples: another process is adding to it; wait until that has finished\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--sport", "https"],
            "--sport https: neither a port nor a range\n  fix: write 443 or 8000-8999",
        ),
        (["--dport", "9-8"], "--dport 9-8: neither a port nor a range"),
        (["--dst", "here"], "--dst here: not a network"),
        (
            ["--state", "open"],
            "--state open: no such state\n  fix: the kernel's states are ESTAB, SYN-SENT",
        ),
        (["--interval", "10"], "--interval 10: not a time\n  fix: write one, like 10s or 500ms"),
    ],
)
def test_wrong_use_is_said(tmp_path: Path, arguments: list[str], said: str) -> None:
    result = fleet("sample", *arguments, "-o", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert said in result.stderr
    assert not (tmp_path / "out").exists()


LOG_FORMAT = (
    "log_format fleet '$remote_addr [$time_local] \"$request\" $status $bytes_sent $request_time $msec '\n"
    "  '$tcpinfo_rtt $tcpinfo_rttvar $tcpinfo_snd_cwnd $tcpinfo_rcv_space $connection/$connection_requests';"
)


TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def _listener(algorithm: str) -> socket.socket:
    """Returns a listening socket with an algorithm, which accepted connections inherit."""
    listener = socket.create_server(("127.0.0.1", 0))
    try:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    except OSError:
        listener.close()
        pytest.skip(f"this kernel has no {algorithm}, or not for everybody")
    listener.setblocking(False)  # like nginx's own sockets
    return listener


@pytest.mark.skipif(NGINX is None, reason="no nginx: make nginx installs Debian's")
def test_a_real_nginx_under_cubic_and_bbr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real nginx serves downloads over loopback: tables from its log and from samples must agree."""
    assert NGINX
    monkeypatch.chdir(tmp_path)
    size = 20_000_000  # ss prints busy time in milliseconds: below one millisecond there is no rate
    Path("www").mkdir()
    Path("www/file").write_bytes(os.urandom(size))
    arguments = ["--log-format", LOG_FORMAT, "-o", "out"]
    user = "" if os.geteuid() else "user root;"  # the user must be able to read this test's folder
    for name in ("cubic", "bbr"):
        Path(name).mkdir()
        with _listener(name) as listener:
            port, own = listener.getsockname()[1], tmp_path / name
            Path(name, "nginx.conf").write_text(
                f"daemon off; pid {own}/pid; {user} events {{}}\nhttp {{\n"
                + "".join(f"{what}_temp_path {own}/{what};\n" for what in TEMPORARY)
                + f"{LOG_FORMAT}\naccess_log {own}/access.log fleet;\n"
                f"server {{ listen 127.0.0.1:{port}; root {tmp_path}/www; }}\n}}\n"
            )
            nginx = subprocess.Popen(
                [NGINX, "-c", f"{own}/nginx.conf", "-e", f"{own}/error.log"],
                # nginx has no option for the algorithm, so it inherits a listening socket as if
                # from an older nginx.
                env={**os.environ, "NGINX": f"{listener.fileno()};"},
                pass_fds=[listener.fileno()],
            )
            try:
                _download(port, size, Path(name, "samples"))
            finally:
                nginx.terminate()
                nginx.wait(10)
        arguments += [
            "--arm",
            f"{name}={name}/samples/*.ss.gz",
            "--nginx",
            f"{name}={name}/access.log",
        ]
    result = fleet("ingest", *arguments)
    assert result.exit_code == 0, result.output
    requests = store.scan(Path("out"), "requests").collect()
    connections = store.scan(Path("out"), "connections").collect()
    for name in ("cubic", "bbr"):
        of_arm, seen = requests.filter(arm=name), connections.filter(arm=name)
        assert of_arm["status"].to_list() == [200] * 3
        assert (of_arm["bytes_sent"] > size).all()
        assert (of_arm["tcpinfo_rtt_s"] > 0).all()
        assert seen["cc"].to_list() == [name]
        # Three requests on one connection: the log and the kernel count the same bytes.
        assert (
            seen["bytes_sent"].item() - seen["bytes_retrans"].item() == of_arm["bytes_sent"].sum()
        )
    result = fleet("compare", "out", "--out", "compared", "--json")
    assert result.exit_code == 0, result.output
    # Requests may lack a throughput: on loopback many take less than nginx's resolution of 1 ms.
    (rate,) = (
        each for each in json.loads(result.stdout)["decision"] if each["metric"] == "busy_rate.p50"
    )
    assert rate["value_b"]["value"] == pytest.approx(
        connections.filter(arm="cubic")["busy_rate_bps"].item(), rel=0.02
    )
    assert rate["value_a"]["value"] == pytest.approx(
        connections.filter(arm="bbr")["busy_rate_bps"].item(), rel=0.02
    )
    report = Path("compared/report.html").read_text(encoding="utf-8")
    assert "bbr vs. cubic" in report
    assert "A single cluster has no spread, so there are no intervals" in report


def _download(port: int, size: int, samples: Path) -> None:
    """Makes three downloads on one connection, and samples it at its end."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        for _ in range(3):
            client.sendall(b"GET /file HTTP/1.1\r\nHost: here\r\n\r\n")
            answer = bytearray()
            while len(answer.partition(b"\r\n\r\n")[2]) < size:
                piece = client.recv(1 << 20)
                assert piece, "nginx has gone"
                answer += piece
        result = fleet("sample", "--sport", str(port), "--count", "1", "-o", str(samples))
        assert result.exit_code == 0, result.output


def test_it_needs_no_privilege(connection: int) -> None:
    bare = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    script = 'grep -q "^CapEff:.0*$" /proc/self/status && exec "$@"'
    sample = ["fleet", "sample", "--sport", str(connection), "--count", "1", "-o", "samples"]
    command = [*bare, "sh", "-c", script, "-", sys.executable, "-m", "fullpipe", *sample]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (file,) = Path("samples").glob("*.ss.gz")
    assert b"bytes_sent:50000" in gzip.decompress(file.read_bytes())


class Busy:
    """A sampler that takes 5 ms of processor time."""

    def list(self) -> tuple[bytes, int, bool]:
        before = time.process_time()
        while time.process_time() < before + 0.005:
            pass
        return b"", 0, False


def test_it_uses_at_most_a_twentieth_of_a_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fullpipe.wings.fleet.sample.Filter.sampler", lambda _: Busy())
    result = fleet("sample", "--interval", "10ms", "--count", "5", "-o", "samples")
    assert result.exit_code == 0, result.output
    assert "to use at most 5% of a core" in result.stderr
    (file,) = Path("samples").glob("*.ss.gz")
    times = [float(line[1:]) for line in gzip.decompress(file.read_bytes()).splitlines()]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert len(gaps) == 4 and min(gaps) > 0.095, "5 ms are a twentieth of 100 ms"


def test_a_kill_loses_no_sample(connection: int) -> None:
    sample = ["fleet", "sample", "--sport", str(connection), "--interval", "100ms", "-o", "samples"]
    with subprocess.Popen([sys.executable, "-m", "fullpipe", *sample]) as process:
        written, deadline = 0, time.monotonic() + 60
        while written < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
            for file in Path("samples").glob("*.ss.gz.part"):
                written = zlib.decompressobj(31).decompress(file.read_bytes()).count(b"@")
        process.kill()
    assert written >= 3, "each sample is in the file before the next one"
    result = fleet("ingest", "--arm", "here=samples/*.ss.gz.part", "-o", "out")
    assert result.exit_code == 1, "the file has no end"
    row = store.scan(Path("out"), "connections").collect().row(0, named=True)
    assert row["samples"] >= written
