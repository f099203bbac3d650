"""`fullpipe kernel`: algorithms in this machine's TCP as BPF, through the command."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

if sys.platform != "linux":
    pytest.skip("BPF needs Linux", allow_module_level=True)

from fullpipe.wings.bpf import machine, program
from fullpipe.wings.bpf import needed as _bpf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[4]
FULLPIPE = shlex.join([sys.executable, "-m", "fullpipe"])
NAME = "fp_newreno"
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
DEFAULT = "/proc/sys/net/ipv4/tcp_congestion_control"
pytestmark = [
    pytest.mark.skipif(
        program.find() is None, reason="fullpipe-kernel has not been built; make kernel does that"
    ),
    pytest.mark.skipif(machine.unmet() is not None, reason=f"BPF: {machine.unmet()}"),
]


@pytest.fixture(autouse=True)
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Lets one test at a time load algorithms: the kernel has each name once. Nothing may remain of a test."""
    with (tmp_path_factory.getbasetemp().parent / "bpf.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
        until(lambda: not loaded())


def loaded() -> bool:
    return NAME in AVAILABLE.read_text(encoding="ascii").split()


def until(condition: Callable[[], object]) -> None:
    """Waits for a condition, which has to be met."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def shell(
    script: str, *around: str, then: Callable[[subprocess.Popen[str]], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a script in which `fullpipe` is the command; it ends with the script's first error."""
    text = f'set -eu\nfullpipe() {{ {FULLPIPE} "$@"; }}\n{script}'
    with subprocess.Popen(
        [*around, "bash", "-c", text],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            if then:
                then(process)
            out, errors = process.communicate(timeout=300)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)


def refused(script: str, *around: str) -> str:
    """Returns the error of a script, which has exit code 2 and a fix."""
    done = shell(script, *around)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("error: ")
    assert "\n  fix: " in done.stderr
    return done.stderr


def holders() -> list[int]:
    """Returns the processes that hold an algorithm."""
    done = shell("fullpipe kernel status --json")
    return [each["process"] for each in json.loads(done.stdout)["loaded"] if each["process"]]


def test_it_is_loaded_until_the_shell_that_called_it_ends() -> None:
    done = shell(f"fullpipe kernel load newreno && cat {AVAILABLE}\nfullpipe kernel status newreno")
    assert done.returncode == 0, done.stderr
    said, offered, status = done.stdout.splitlines()
    process = re.match(rf"{NAME} is loaded until (bash \(process \d+\)) ends, or ", said)
    assert process
    assert NAME in offered.split()
    assert status == f"{NAME}: loaded until {process[1]} ends, used by 0 sockets"
    until(lambda: not loaded())


def test_the_shell_that_called_sudo_holds_it_and_not_sudo(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash
    shutil.copy(bash, tmp_path / "sudo")  # a process of this name, which ends with its command
    called = f"{FULLPIPE} kernel load newreno; true"
    done = shell(f"{tmp_path}/sudo -c {shlex.quote(called)}; {FULLPIPE} kernel status newreno")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{NAME} is loaded until bash (process ")


def test_connections_choose_it_by_its_name() -> None:
    send = (
        "import socket; server = socket.create_server(('127.0.0.1', 0));"
        "client = socket.create_connection(server.getsockname());"
        f"client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'{NAME}');"
        "peer = server.accept()[0]; size = 0;"
        "client.setblocking(False); client.send(b'x' * 100000); client.close();"
        "exec('while part := peer.recv(65536): size += len(part)'); print(size)"
    )
    done = shell(f"fullpipe kernel load newreno -- {shlex.join([sys.executable, '-c', send])}")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
    assert not loaded()


def test_a_link_finds_it_by_fullpipes_name(tmp_path: Path) -> None:
    ask = (
        'import socket; s = socket.create_connection(("100.64.0.1", 7000));'
        "print(s.getsockopt(6, 13, 16).rstrip(bytes(1)).decode())"
    )
    serve = f"{shlex.quote(sys.executable)} -m http.server 7000"
    link = f"{FULLPIPE} link --rate 20mbit --cc copa --server {shlex.quote(serve)} -- "
    link += shlex.join([sys.executable, "-c", ask])
    done = shell(f"cd {tmp_path}; fullpipe kernel load copa -- {link}")
    assert done.stdout.split()[0] == "fp_copa", done.stderr
    assert "fix: load it first: fullpipe kernel load copa; or name one" in refused(link)


def test_with_a_command_it_is_loaded_until_that_ends_and_has_its_exit_code() -> None:
    done = shell(f"fullpipe kernel load newreno -- sh -c 'cat {AVAILABLE}; exit 7'")
    assert done.returncode == 7, done.stderr
    assert NAME in done.stdout.split()
    assert not loaded()
    assert "nosuch-program: No such file" in refused(
        "fullpipe kernel load newreno -- nosuch-program"
    )
    assert not loaded()


def test_kill_of_the_holder_leaves_nothing() -> None:
    def kill(process: subprocess.Popen[str]) -> None:
        until(loaded)
        for holder in holders():
            os.kill(holder, signal.SIGKILL)
        until(lambda: not loaded())
        process.communicate("\n")

    done = shell("fullpipe kernel load newreno > /dev/null; read _", then=kill)
    assert done.returncode == 0, done.stderr


def test_kill_of_the_command_leaves_nothing() -> None:
    process = subprocess.Popen(
        [*shlex.split(FULLPIPE), *["kernel", "load", "newreno", "--", "sleep", "100"]],
        start_new_session=True,
    )
    until(loaded)
    process.kill()
    process.wait()
    until(lambda: not loaded())
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # the command's own program


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_default_is_restored_also_after_a_signal(number: signal.Signals) -> None:
    script = f"""
        echo reno > {DEFAULT}
        fullpipe kernel load newreno --default -- sleep 100 & command=$!
        until grep -q {NAME} {DEFAULT}; do sleep 0.01; done
        cat {DEFAULT}
        kill -{number.name[3:]} $(pgrep -x -f '.*/fullpipe-kernel hold .*')
        until grep -qx reno {DEFAULT}; do sleep 0.01; done
        cat {DEFAULT}
        pkill -x -P $(pgrep -P $command) sleep || pkill -x -P $command sleep
        wait $command || true
    """
    done = shell(script, "unshare", "--net", "--pid", "--kill-child", "--mount-proc")
    assert done.stdout.split() == [NAME, "reno"], done.stderr


def test_a_default_of_a_command_ends_with_it() -> None:
    script = f"""
        echo reno > {DEFAULT}
        fullpipe kernel load newreno --default -- cat {DEFAULT}
        cat {DEFAULT}
    """
    done = shell(script, "unshare", "--net")
    assert (done.returncode, done.stdout.split()) == (0, [NAME, "reno"]), done.stderr


def test_a_default_that_someone_else_changed_stays() -> None:
    script = f"""
        fullpipe kernel load newreno --default > /dev/null
        echo reno > {DEFAULT}
        fullpipe kernel unload newreno > /dev/null
        cat {DEFAULT}
    """
    done = shell(script, "unshare", "--net")
    assert (done.returncode, done.stdout.split()) == (0, ["reno"]), done.stderr


def test_a_detached_one_stays_until_it_is_unloaded() -> None:
    script = f"""
        mount -t bpf bpf /sys/fs/bpf
        echo reno > {DEFAULT}
        bash -c '{FULLPIPE} kernel load newreno --detach --default'
        grep -o {NAME} {AVAILABLE} {DEFAULT}
        fullpipe kernel status newreno
        fullpipe kernel unload newreno
        cat {DEFAULT}
        ls /sys/fs/bpf
    """
    done = shell(script, "unshare", "--mount", "--net")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:6] == [
        f"{NAME} is loaded until fullpipe kernel unload newreno",
        f"{AVAILABLE}:{NAME}",
        f"{DEFAULT}:{NAME}",
        f"{NAME}: loaded detached, used by 0 sockets, the default of this network namespace",
        f"{NAME} is unloaded",
        "reno",
    ]
    assert "fullpipe" not in done.stdout.splitlines()[6:]


def test_without_a_bpf_file_system_nothing_can_be_detached() -> None:
    hidden = "mount -t tmpfs none /sys/fs/bpf 2> /dev/null || mount -t tmpfs none /sys/fs;"
    error = refused(f"{hidden} fullpipe kernel load newreno --detach", "unshare", "--mount")
    assert "mount -t bpf bpf /sys/fs/bpf" in error


def test_sockets_keep_it_until_they_close() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def unload(process: subprocess.Popen[str]) -> None:
            until(loaded)
            with socket.create_connection(server.getsockname()) as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, NAME.encode())
                peer, _ = server.accept()
                with peer:
                    assert "used by 1 socket" in shell("fullpipe kernel status newreno").stdout
                    done = shell("fullpipe kernel unload newreno")
                    assert done.stdout == (
                        f"{NAME} is unloaded; 1 socket still uses it until they close\n"
                    ), done.stderr
                    assert not loaded()
                    left = shell("fullpipe kernel status newreno")
                    assert (left.returncode, left.stdout) == (
                        1,
                        f"{NAME}: not loaded, still used by 1 socket until they close\n",
                    )
                    as_json = json.loads(shell("fullpipe kernel status --json").stdout)
                    assert as_json["loaded"] == []
                    assert [each["sockets"] for each in as_json["unloaded"]] == [1]
                    option = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
                    assert option.rstrip(b"\0").decode() == NAME
                    client.sendall(b"x" * 100_000)
                    assert len(peer.recv(100_000, socket.MSG_WAITALL)) == 100_000
            process.communicate("\n")

        done = shell("fullpipe kernel load newreno > /dev/null; read _", then=unload)
    assert done.returncode == 0, done.stderr
    # The name is free again at once, and the memory after the last socket.
    assert shell("fullpipe kernel load newreno -- true").returncode == 0


def test_wrong_words_are_refused_by_their_name() -> None:
    load = "fullpipe kernel load newreno"
    assert "did you mean newreno" in refused("fullpipe kernel load newren")
    assert "use it without a load: iperf3 -C reno" in refused("fullpipe kernel load reno")
    beyond = refused(f"{load} --set beta_ec=0.8")
    assert "did you mean beta_ecn? the kernel's newreno has abc_limit, beta_ecn" in beyond
    assert "--set abc_limit=0: abc_limit can't be 0" in refused(f"{load} --set abc_limit=0")
    assert 'no parameter "abc_limi"' in refused(f"{load} --set abc_limi=2")
    assert "does not have this parameter" in refused(f"{load} --set slow_start=hystart")
    assert "follows the rules of Linux" in refused(f"{load} --set profile=rfc5681")
    assert "not NAME=VALUE" in refused(f"{load} --set abc_limit")
    assert "not a time" in refused(f"{load} --trace-interval 3")
    assert "exclude each other" in refused(f"{load} --detach -- true")
    assert "is not loaded" in refused("fullpipe kernel unload newreno")
    assert f"{NAME} is not loaded" in refused("fullpipe kernel trace newreno")


def test_a_parameter_is_set_and_shown() -> None:
    done = shell(f"fullpipe kernel load newreno --set beta_ecn=0.75 -- {FULLPIPE} kernel status")
    assert done.stdout.strip().endswith("beta_ecn = 0.75"), done.stderr


def test_the_exit_code_of_status_says_whether_it_is_loaded() -> None:
    status = f"{FULLPIPE} kernel status newreno"
    assert shell(f"fullpipe kernel load newreno -- {status}").returncode == 0
    done = shell(status)
    assert (done.returncode, done.stdout) == (1, f"{NAME} is not loaded\n")


def test_the_name_is_loaded_once() -> None:
    done = shell("fullpipe kernel load newreno > /dev/null; fullpipe kernel load newreno")
    assert done.returncode == 2
    assert (
        done.stderr == f"error: {NAME} is loaded already\n  fix: fullpipe kernel unload newreno\n"
    )


def test_missing_capabilities_are_named() -> None:
    named = ("CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN")
    few = ["setpriv", "--bounding-set", "-bpf,-perfmon,-net_admin"]
    for around in (few, ["unshare", "--user", "--map-root-user"]):
        error = refused("fullpipe kernel load newreno", *around)
        assert all(each in error for each in named)
    less = refused("fullpipe kernel load newreno", "setpriv", "--bounding-set", "-perfmon")
    assert [each in less for each in named] == [False, True, False]


def test_these_three_capabilities_are_enough() -> None:
    least = ["setpriv", "--bounding-set", "-all,+bpf,+perfmon,+net_admin"]
    done = shell(f"fullpipe kernel load newreno -- cat {AVAILABLE}", *least)
    assert done.returncode == 0, done.stderr
    assert NAME in done.stdout.split()


def test_prague_is_refused_without_accurate_ecn() -> None:
    assert "prague" in program.objects()
    script = "echo 1 > /proc/sys/net/ipv4/tcp_ecn; fullpipe kernel load prague"
    error = refused(script, "unshare", "--net")
    assert "fp_prague needs accurate ECN, and net.ipv4.tcp_ecn is 1" in error
    assert "sysctl -w net.ipv4.tcp_ecn=3" in error


def test_times_and_words_have_the_units_of_their_declaration() -> None:
    known = program.objects()
    assert {"ledbat++", "copa"} <= known.keys()
    target = program.declared("ledbat++")["target"]
    assert known["ledbat++"].parameters["target"] == target["default"]  # ms
    words = {name: each["choices"] for name, each in program.declared("copa").items()}
    assert known["copa"].parameters["modes"] in (words["modes"] or [])
    done = shell(f"fullpipe kernel load ledbat++ --set target=30 -- {FULLPIPE} kernel status")
    assert "target = 30" in done.stdout, done.stderr


def test_a_list_has_every_object() -> None:
    listed = shell("fullpipe kernel list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(program.objects())
    assert next(line for line in listed if NAME in line).endswith("not loaded")
    rows = json.loads(shell("fullpipe kernel list --json").stdout)["algorithms"]
    assert {each["name"] for each in rows} >= {NAME}


SEND = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[1].encode())
peer, _ = server.accept()
print(client.getsockname()[1], flush=True)
while True:
    client.sendall(bytes(50000))
    peer.recv(50000, socket.MSG_WAITALL)
    time.sleep(0.01)
"""


def test_connections_are_recorded_as_a_run(tmp_path: Path) -> None:
    sender = shlex.join([sys.executable, "-c", SEND, NAME])
    script = f"""
        cd {tmp_path}
        fullpipe kernel load newreno > /dev/null
        {sender} > ports & {sender} > other & trap 'kill $(jobs -p)' EXIT
        until test -s ports; do sleep 0.01; done
        fullpipe kernel trace newreno --port $(cat ports) --for 1s --out live
        fullpipe kernel trace --port $(cat ports) --for 0.3s > rows.jsonl
        fullpipe trace import rows.jsonl --out imported
        fullpipe report live --format md > /dev/null
        fullpipe trace qlog live live.qlog
    """
    done = shell(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 flow kept in live\n")
    rows = pl.read_parquet(tmp_path / "live" / "trace.parquet")
    port = (tmp_path / "ports").read_text().strip()
    assert rows["flow"].unique().cast(str).to_list()[0].startswith(f"127.0.0.1:{port} → ")
    assert rows.height >= 20  # a row at most every 10 ms
    assert (rows["cwnd"] > 0).all()
    assert rows["delivered"].is_sorted()
    assert (rows["srtt"].drop_nulls() < 1).all()  # seconds
    metrics = json.loads((tmp_path / "live" / "metrics.json").read_text())
    assert [each["cc"] for each in metrics["flows"]] == ["newreno"]
    assert metrics["runner"] == "kernel trace"
    states = pl.read_parquet(tmp_path / "live" / "transitions.parquet")["to"]
    assert {*states} <= {"slow_start", "congestion_avoidance", "recovery"}
    (trace,) = json.loads((tmp_path / "live.qlog").read_text())["traces"]
    kinds = {each["name"] for each in trace["events"]}
    assert {"recovery:metrics_updated", "recovery:congestion_state_updated"} <= kinds
    first = next(each for each in trace["events"] if each["name"] == "recovery:metrics_updated")
    assert first["data"]["congestion_window"] > 0
    imported = json.loads((tmp_path / "imported" / "metrics.json").read_text())
    assert [each["cc"] for each in imported["flows"]] == ["newreno"]


def test_a_recording_that_is_stopped_is_kept(tmp_path: Path) -> None:
    sender = shlex.join([sys.executable, "-c", SEND, NAME])
    script = f"""
        cd {tmp_path}
        fullpipe kernel load newreno > /dev/null
        {sender} > ports & trap 'kill $(jobs -p)' EXIT
        until test -s ports; do sleep 0.01; done
        {FULLPIPE} kernel trace --out live 2> words & recorder=$!
        until test -s words; do sleep 0.01; done
        sleep 1
        kill -TERM $recorder
        code=0; wait $recorder || code=$?
        test $code -eq 143
        test -e live/metrics.json
    """
    done = shell(script)
    assert done.returncode == 0, done.stderr
    assert "interrupted after " in done.stdout


def test_two_recordings_at_once_are_refused(tmp_path: Path) -> None:
    sender = shlex.join([sys.executable, "-c", SEND, NAME])
    script = f"""
        fullpipe kernel load newreno > /dev/null
        cd {tmp_path}
        {sender} > /dev/null & {FULLPIPE} kernel trace > rows & trap 'kill $(jobs -p)' EXIT
        until test -s rows; do sleep 0.01; done
        fullpipe kernel trace
    """
    done = shell(script)
    assert done.returncode == 2
    assert "another fullpipe kernel trace reads its rows" in done.stderr


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario whose algorithm this kernel does not have."""
    assert "bbr3" in program.objects()
    file = tmp_path / "bbr3.toml"
    file.write_text(
        'duration = "2s"\n[path]\nrate = "5mbit"\nrtt = "20ms"\nbuffer = "20packets"\n'
        '[[flow]]\ncc = "bbr3"\nparams = { beta = 0.5 }\n'
    )
    return file


def test_a_run_on_the_kernel_loads_what_the_kernel_lacks(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = shell(f"fullpipe run {scenario} --on kernel --out {out}")
    assert done.returncode == 0, done.stderr
    said = "fullpipe's version for BPF, fp_bbr3, was loaded for this run"
    assert said in done.stdout + done.stderr
    assert "fp_bbr3" not in AVAILABLE.read_text(encoding="ascii").split()
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["host"]["bpf bbr3"] == "fp_bbr3"
    (flow,) = metrics["flows"]
    assert 3.5e6 < flow["goodput_bps"] < 5e6
    paced = pl.read_parquet(out / "trace.parquet")["pacing_rate"].drop_nulls()
    assert paced.len() > 0
    # The states are those that the algorithm itself reports.
    states = pl.read_parquet(out / "transitions.parquet")
    assert states["from"].cast(str).to_list()[0] == "startup"
    assert {"drain", "probe_bw_cruise"} <= {*states["to"].cast(str)}
    assert states["time"].is_sorted()


def test_marks_reach_an_algorithm_that_asks_for_them(scenario: Path, tmp_path: Path) -> None:
    text = scenario.read_text().replace(
        '"20packets"', '"50packets"\nqueue = { kind = "step_ecn", threshold = "4packets" }'
    )
    asked = 'ecn = "ect0"\necn_feedback = "classic"\nparams = { ecn = true, ecn_max_rtt = 0 }'
    scenario.write_text(text.replace("params = { beta = 0.5 }", asked))
    out = tmp_path / "out"
    done = shell(f"fullpipe run {scenario} --on kernel --out {out}")
    assert done.returncode == 0, done.stderr
    (flow,) = json.loads((out / "metrics.json").read_text())["flows"]
    assert flow["marks"] > 10  # Linux sent ECT(0), and the queue marked it
    assert flow["loss_fraction"] == 0


def test_a_run_uses_what_is_loaded_only_with_the_same_parameters(scenario: Path) -> None:
    load = "fullpipe kernel load bbr3 > /dev/null; "
    refused_here = shell(f"{load} fullpipe run {scenario} --on kernel")
    assert refused_here.returncode == 2
    assert "fp_bbr3 is loaded with other parameters" in refused_here.stderr
    same = load.replace("bbr3 >", "bbr3 --set beta=0.5 >")
    done = shell(f"{same} fullpipe run {scenario} --on kernel; {FULLPIPE} kernel status bbr3")
    assert done.returncode == 0, done.stderr
    assert "was loaded before" in done.stdout + done.stderr
    until(lambda: "fp_bbr3" not in AVAILABLE.read_text(encoding="ascii").split())


def test_two_runs_at_once_share_what_was_loaded_before_and_nothing_else(scenario: Path) -> None:
    run = f"{FULLPIPE} run {scenario} --on kernel"
    loads = "until fullpipe kernel status bbr3 > /dev/null; do sleep 0.1; done; "
    first = f"{run} --set duration=10s > first 2>&1 & {loads}"
    done = shell(f"cd {scenario.parent}; {first} code=0; {run} || code=$?; wait $!; exit $code")
    assert done.returncode == 2
    assert "another run on this machine has loaded fp_bbr3, and will unload it" in done.stderr
    assert "load it for both: fullpipe kernel load bbr3" in done.stderr
    assert "was loaded for this run" in (scenario.parent / "first").read_text()
    load = "fullpipe kernel load bbr3 --set beta=0.5 > /dev/null"
    both = shell(f"{load}; {run} & one=$!; {run}; wait $one")
    assert both.returncode == 0, both.stderr
    assert (both.stdout + both.stderr).count("was loaded before") == 2
    until(lambda: "fp_bbr3" not in AVAILABLE.read_text(encoding="ascii").split())


def test_runs_that_look_for_a_claim_make_none() -> None:
    name = f"fp_test_{os.getpid()}"
    with ThreadPoolExecutor(4) as pool:
        assert not any(pool.map(_bpf.is_claimed, [name] * 2_000))
    with _bpf.claimed(name) as first, _bpf.claimed(name) as second:
        assert (first, second, _bpf.is_claimed(name)) == (True, False, True)
    assert not _bpf.is_claimed(name)


def test_flows_of_one_algorithm_share_its_parameters(scenario: Path) -> None:
    more = scenario.read_text() + '[[flow]]\ncc = "bbr3"\n'
    scenario.write_text(more)
    error = refused(f"fullpipe run {scenario} --on kernel")
    assert "the same parameters for all flows" in error


def test_loads_and_unloads_between_flows_leave_nothing_in_the_kernel() -> None:
    words = [sys.executable, str(ROOT / "tools/kernel_soak.py"), "--seconds", "20", "--seed", "1"]
    done = subprocess.run(
        [*words, "--algorithm", "newreno"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
