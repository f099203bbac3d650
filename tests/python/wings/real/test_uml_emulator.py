"""fullpipe's emulator and programs inside user-mode Linux: paths, exact times, the same packets again."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pytest

import fullpipe
import needs
import served
from fullpipe.algorithms import programs
from fullpipe.wings.real.runners import _uml_boot
from links import tool

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe.base.metrics import Metrics

# The directory of a run's programs lasts as long as the run.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SCENARIO = """# A path that both Linux' disciplines and the emulator have
duration = "3s"

[path]
rate = "10mbit"
rtt = "20ms"
buffer = "20packets"

[[flow]]
cc = "cubic"
"""

PROGRAM = """
duration = "3s"

[path]
rate = "10mbit"
rtt = "20ms"
buffer = "20packets"

[[program]]
name = "it"
server = '''{server}'''
client = '''{client}'''
"""

EVERY_ELEMENT = {
    "path.rate_pattern": "sine 5mbit..15mbit every 1s",
    "path.jitter": "2ms",
    "path.queue": "dualpi2",
    "path.duplicate": "0.1%",
    "path.loss": "0.1%",
}


@pytest.fixture(scope="module")
def ours() -> fullpipe.Run:
    """The scenario behind the emulator."""
    return fullpipe.run(SCENARIO, on="uml-emulator")


@needs.UML
def test_it_has_the_path_elements_that_linux_has_not() -> None:
    run = fullpipe.run(SCENARIO, on="uml", set=EVERY_ELEMENT, duration="2s")
    (flow,), host = run.flow_metrics, run.metrics["host"]
    assert 2e6 < flow["goodput_bps"] < 11e6
    assert (flow["rtt_s"]["max"] or 0) - (flow["rtt_s"]["min"] or 0) > 0.001
    assert host["path"] == "fullpipe's emulator, on TUN"
    assert "6.1" in host["kernel"]


@needs.UML
def test_no_packet_is_late(ours: fullpipe.Run) -> None:
    assert ours.metrics["host"]["lateness"] == "p50 0 ns, p99 0 ns, max 0 ns"


@needs.UML
def test_a_packet_is_late_by_a_reading_of_the_clock_at_most() -> None:
    """A program's reading takes 1 us, and a packet that is due meanwhile waits for its end."""
    tool("iperf3")
    run = fullpipe.run(
        ["cubic", "program:iperf3:cubic"],
        rate="5mbit",
        rtt="20ms",
        duration="0.5s",  # longer, iperf3 next to another flow would compute for half a minute
        on="uml-emulator",
    )
    host = run.metrics["host"]
    late = dict(each.split(" ", 1) for each in host["lateness"].split(", "))
    assert late["p50"] == "0 ns"
    assert all(value == "1 us" or value.endswith(" ns") for value in late.values()), late


@needs.UML
def test_a_path_of_the_emulator_is_as_one_of_linux(ours: fullpipe.Run) -> None:
    netem = fullpipe.run(SCENARIO, on="uml")
    assert "path" not in netem.metrics["host"]
    (theirs,), (flow,) = netem.flow_metrics, ours.flow_metrics
    assert flow["goodput_bps"] == pytest.approx(theirs["goodput_bps"], rel=0.01)
    # Linux' path has access links, of ten times the rate.
    assert flow["rtt_s"]["min"] == pytest.approx(
        (theirs["rtt_s"]["min"] or 0) - 0.00012, abs=0.00001
    )
    assert flow["rtt_s"]["mean"] == pytest.approx(theirs["rtt_s"]["mean"], rel=0.03)
    assert flow["drops"] == pytest.approx(theirs["drops"], rel=0.3, abs=5)


@needs.UML
@pytest.mark.parametrize("seed", [1, 2])
def test_a_seed_gives_the_same_packets_again(seed: int) -> None:
    flows = SCENARIO + '[[flow]]\ncc = "bbr1"\n'
    first, second = (
        fullpipe.run(flows, on="uml-emulator", seed=seed, duration="500ms").metrics
        for _ in range(2)
    )
    assert first["host"]["packets"].split(", ")[0] > "100"
    assert first == second


@needs.UML
def test_a_program_runs_and_sends_the_same_packets_again() -> None:
    first, second = (_web() for _ in range(2))
    (flow,) = first["flows"]
    assert flow["completion_s"] == pytest.approx(1_000_000 * 8 / 9.6e6, rel=0.1)
    assert first["host"]["packets"] == second["host"]["packets"]
    assert first == second


_BATCH = """import socket, sys
ours = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if sys.argv[1] == "server":
    ours.bind(("0.0.0.0", int(sys.argv[2])))
    _, client = ours.recvfrom(100)
    segment = (socket.IPPROTO_UDP, 103, (1200).to_bytes(2, sys.byteorder))  # UDP_SEGMENT
    ours.sendmsg([bytes(8 * 1200)], [segment], 0, client)
    ours.recv(100)
else:
    ours.sendto(b"ask", (sys.argv[2], int(sys.argv[3])))
    sizes = [len(ours.recv(65535)) for _ in range(8)]
    assert sizes == [1200] * 8, sizes
"""


@needs.UML
def test_a_batch_of_datagrams_is_cut_as_newer_kernels_cut_it() -> None:
    # Linux 6.1 refuses a batch on a device that computes no checksums, and a QUIC stack loses its first one.
    code = f"{_python()} -c {shlex.quote(_BATCH)}"
    (flow,) = _run(f"{code} server {{port}}", f"{code} client {{far}} {{port}}").metrics["flows"]
    assert flow["goodput_bps"] * (flow["completion_s"] or 0) / 8 == pytest.approx(8 * 1200)


def _web() -> Metrics:
    server = f"{_python()} -c {shlex.quote(_SERVER)} {{port}}"
    client = "curl --silent --fail --output /dev/null http://{far}:{port}/zeros"
    return _run(server, client).metrics


_SERVER = """
import http.server, os, sys
with open("zeros", "wb") as file:
    file.write(bytes(1000000))
http.server.ThreadingHTTPServer(("", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""

# A server whose start takes little, for clients that send nothing or one request.
_ANSWERS = r"""
import socket, sys
ours = socket.create_server(("", int(sys.argv[1])))
while True:
    client, _ = ours.accept()
    client.recv(65536)
    client.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")
    client.close()
"""
_IDLE = f"{shlex.quote(sys.executable)} -IS -c {shlex.quote(_ANSWERS)} {{port}}"

_LEAKS = r"""
import ctypes, json, mmap, os, sys, time
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("0f3148c1e2204809d0c3"))  # rdtsc; shl rdx, 32; or rax, rdx; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(address)
getauxval = ctypes.CDLL(None).getauxval
getauxval.restype, getauxval.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
open("written", "w").close()
drawn = {
    "getrandom": os.getrandom(16).hex(),
    "urandom": open("/dev/urandom", "rb").read(16).hex(),
    "AT_RANDOM": ctypes.string_at(getauxval(25), 16).hex(),
    "hash": str(hash("text")),
}
dates = [os.stat("written").st_mtime_ns, time.time_ns()]
stack = ctypes.addressof(ctypes.c_char.from_address(getauxval(25)))
drawn["ASLR"] = hex(stack)
listing = os.listdir(sys.argv[1])
found = {"drawn": drawn, "mapped": address, "rdtsc": [rdtsc() for _ in range(100)], "dates": dates}
print(json.dumps({**found, "listing": listing}))
"""


@needs.UML
def test_no_known_source_of_chance_reaches_a_program(tmp_path: Path) -> None:
    (tmp_path / "leaks.py").write_text(_LEAKS)
    for name in "cab":
        (tmp_path / "listed" / name).mkdir(parents=True)
    first, second, other = (_leaks(tmp_path, seed) for seed in (1, 1, 2))
    assert first == second
    for name, drawn in first.drawn.items():
        assert drawn != other.drawn[name], name
    assert first.listing == ["a", "b", "c"]
    # The counter is of 1 GHz, and a reading takes a microsecond, with a jitter below one.
    steps = [after - before for before, after in pairwise(first.rdtsc)]
    assert all(0 < step < 2_000 for step in steps)
    assert abs(sum(steps) - 1_000 * len(steps)) < 1_000
    assert len(set(steps)) > 50
    for date in first.dates:
        assert 60 * 10**9 <= date - 1_798_761_600 * 10**9 < 120 * 10**9, "a minute after the boot"


class _Leaks(NamedTuple):
    drawn: dict[str, str]
    mapped: int
    rdtsc: list[int]
    dates: list[int]
    listing: list[str]


def _leaks(folder: Path, seed: int) -> _Leaks:
    client = f"{_python()} {folder}/leaks.py {folder}/listed"
    run = _run(_IDLE, client, seed=seed, duration="1s")
    assert run.files is not None
    return _Leaks(**json.loads((run.files / "it" / "client.out").read_text()))


@needs.UML
def test_a_program_that_reads_the_clock_in_a_loop_ends() -> None:
    code = "import time\nend = time.monotonic() + 0.05\nwhile time.monotonic() < end: pass"
    run = _run(_IDLE, f"{_python()} -c {shlex.quote(code)}", duration="1s")
    assert run.metrics["runner"] == "uml"


@needs.UML
def test_a_program_that_computes_for_ever_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_uml_boot, "PATIENCE_S", 2)
    with pytest.raises(fullpipe.ScenarioError, match="computed for 2 s of this machine") as refused:
        _run(_IDLE, f"{_python()} -c 'while True: pass'", duration="1s")
    assert "python" in refused.value.problem
    assert "run it on kernel" in refused.value.fix


@needs.UML
def test_a_program_that_fails_is_an_error_with_its_words() -> None:
    with pytest.raises(fullpipe.ScenarioError, match="its client failed") as refused:
        _run(_IDLE, "sh -c 'echo no route >&2; exit 7'")
    assert "no route" in refused.value.problem


@needs.UML
def test_programs_can_not_write_to_the_host(tmp_path: Path) -> None:
    client = f"sh -c 'touch {tmp_path}/written && exit 1; mount -o remount,rw / && exit 1; exit 0'"
    _run(_IDLE, client, duration="1s")
    assert not list(tmp_path.iterdir())


@needs.UML
def test_the_command_runs_a_file_with_programs(tmp_path: Path) -> None:
    file = tmp_path / "witness.toml"
    client = "curl --silent --fail --output /dev/null http://{far}:{port}/"
    file.write_text(PROGRAM.format(server=_IDLE, client=client))
    words = [
        sys.executable,
        "-m",
        "fullpipe",
        "run",
        str(file),
        "--on",
        "uml",
        "--programs",
        "--json",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flows"][0]["completion_s"] < 0.2


@needs.UML
def test_a_sweep_and_a_check_run_a_files_programs_too(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    client = "curl --silent --fail --output /dev/null http://{far}:{port}/"
    text = PROGRAM.format(server=_IDLE, client=client)
    file.write_text('expect = ["flow.it.completion < 1s"]' + text)
    for words in (("sweep", file, "--json"), ("check", file)):
        done = served.command(*words, "--on=uml", "--programs", "--repeat=2", directory=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        refused = served.command(*words, "--on=uml", "--repeat=2", directory=tmp_path)
        assert refused.returncode == 2 and "add --programs" in refused.stderr


def _python() -> str:
    return shlex.quote(sys.executable)


def _run(server: str, client: str, seed: int = 1, duration: str = "3s") -> fullpipe.Run:
    text = PROGRAM.format(server=server, client=client)
    with programs.allowed():
        return fullpipe.run(text, on="uml", seed=seed, duration=duration)
