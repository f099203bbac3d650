"""Programs as flows with `--on kernel`: a scenario's own command lines and recipes, their results, and their faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import fullpipe as _fullpipe
from fullpipe import _core, runners
from fullpipe.algorithms.resolve import PROGRAM
from links import tool
from program_flows import CUBIC, SENDS, TAKES, fullpipe, metrics, own, program, scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel runner needs Linux")

FULLPIPE = [sys.executable, "-m", "fullpipe"]


def test_iperf3_shares_a_link_with_the_kernels_cubic(folder: Path) -> None:
    tool("iperf3")
    more = '\n[[program]]\nuse = "iperf3"\nparams = { cc = "cubic" }\nstart = "500ms"\n'
    done = fullpipe(
        "run", scenario(folder, CUBIC, more, duration="6s", warm_up="2s"), "--on=kernel", "--json"
    )
    flows = metrics(done)
    assert flows["iperf3"]["cc"] == "cubic", "what the kernel says"
    assert 8e6 < sum(flow["goodput_bps"] for flow in flows.values()) < 10e6
    for flow in flows.values():
        assert flow["goodput_bps"] > 1e6
        assert 0.02 < flow["rtt_s"]["p50"] < 0.06
        assert flow["queue_delay_s"]["p95"] > 0.001
        assert flow["retransmits"] > 0 < flow["drops"], (
            "the last drop may be repaired after the end"
        )
    assert flows["iperf3"]["completion_s"] is None, "it runs to the end"
    host = json.loads(done.stdout)["host"]
    assert host["program iperf3, version"].startswith("iperf 3")
    assert "--reverse --time" in host["program iperf3, client"]


def test_a_transfer_has_a_completion_time_and_ends_the_run(folder: Path) -> None:
    out = folder / "out"
    file = scenario(folder, own(folder, more='qlog = "*.qlog"\n'), duration="120s")
    began = time.monotonic()
    done = fullpipe("run", file, "--on=kernel", "--programs", "--out", out)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 100, "it ended with the transfer"
    flow = json.loads((out / "metrics.json").read_text())["flows"][0]
    # 1 MB take 0.83 s at 10 Mbit/s with headers, and a round trip for the connection.
    assert 0.8 < flow["completion_s"] < 10
    assert flow["goodput_bps"] * flow["completion_s"] / 8 == pytest.approx(1e6, rel=0.01)
    left = out / "programs" / "mine"
    assert (left / "left.qlog").read_text() == "a log"
    assert (left / "client.out").read_text() == "taken 1000000\n"
    assert sorted(file.name for file in left.iterdir()) == ["SHA256SUMS", "client.out", "left.qlog"]


def test_a_full_receive_buffer_is_a_warning(folder: Path) -> None:
    sends = """import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as of:
    of.bind(("0.0.0.0", int(sys.argv[1])))
    _, client = of.recvfrom(100)
    for _ in range(100):
        of.sendto(bytes(1000), client)
    of.recvfrom(100)
"""
    takes = """import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as of:
    of.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    of.sendto(b"now", (sys.argv[1], int(sys.argv[2])))
    time.sleep(1)
"""
    file = scenario(folder, own(folder, sends, takes))
    done = fullpipe(
        "run", file, "--on=kernel", "--programs", "--json", "--set", "path.buffer=200kB"
    )
    (warning,) = [it for it in json.loads(done.stdout)["warnings"] if "receive buffer" in it]
    dropped = int(warning.split()[0])
    assert 80 < dropped < 100, "all but a few of 100"


def test_a_file_runs_no_commands_by_itself(folder: Path) -> None:
    mark = folder / "ran"
    file = scenario(folder, program(f"touch {mark}", "true"))
    done = fullpipe("run", file, "--on", "kernel")
    assert done.returncode == 2
    assert "program.0.server" in done.stderr
    assert "--programs" in done.stderr.partition("fix: ")[2]
    assert not mark.exists()


def test_the_simulator_refuses_programs(tmp_path: Path) -> None:
    file = scenario(tmp_path, '\n[[program]]\nuse = "iperf3"\n')
    done = fullpipe("run", file, "--on", "sim")
    assert done.returncode == 2
    assert f'{file}:11: program.0.use = "iperf3": ' in done.stderr
    assert "fix: run it with --on kernel, uml or uml-emulator" in done.stderr


@pytest.mark.parametrize("runner", runners.every(), ids=lambda each: each.name)
def test_a_runner_without_programs_names_those_that_have_them(runner: runners.Runner) -> None:
    """The fix names the same runners everywhere: those that accept a program."""
    path = 'duration = "1s"\n[path]\nrate = "9mbit"\nrtt = "9ms"\nbuffer = "1bdp"\n'
    text = f'{path}[[program]]\nuse = "iperf3"\n'
    scenario = _core.Scenario.parse(text, "x.toml", [])
    if runners.runs(runner.name, PROGRAM):
        if missing := runner.missing():
            pytest.skip(f"{missing.problem}: {missing.fix}")
        runner.refuse(scenario, "off")
        return
    with pytest.raises(_core.ScenarioError) as refused:
        runners.refuse(runner, scenario, "off")
    assert refused.value.problem == PROGRAM.only
    with pytest.raises(_core.ScenarioError) as core:
        _core.run(scenario, "off", None)
    assert str(core.value) == str(refused.value)
    assert refused.value.fix == runners.elsewhere(PROGRAM)


@pytest.mark.parametrize(
    ("server", "client", "problem", "code"),
    [
        ("no-such-program {{port}}", "true", "no-such-program: not found on PATH", ""),
        ("sh -c 'echo bad option >&2; exit 3'", "true", "its server ended before it listened", "3"),
        ("SERVER", "sh -c 'echo no route >&2; exit 7'", "its client failed", "7"),
    ],
)
def test_errors_name_program_command_code_and_output(
    folder: Path, server: str, client: str, problem: str, code: str
) -> None:
    (folder / "sends.py").write_text(SENDS)
    server = server.replace("SERVER", f"{sys.executable} {folder / 'sends.py'} {{port}}")
    done = fullpipe("run", scenario(folder, program(server, client)), "--on=kernel", "--programs")
    assert done.returncode == 2
    assert '"mine"' in done.stderr
    assert problem in done.stderr
    assert "fix: " in done.stderr
    assert "Traceback" not in done.stderr
    if code:
        assert f"(exit code {code})" in done.stderr
        assert ("  | bad option" if code == "3" else "  | no route") in done.stderr


def test_a_server_that_ends_during_the_run_is_an_error(folder: Path) -> None:
    sends = SENDS.replace("taker.sendall(bytes(1_000_000))", "sys.exit('out of memory')")
    takes = "import time\n" + TAKES + "time.sleep(60)\n"
    file = scenario(folder, own(folder, sends, takes), duration="20s")
    done = fullpipe("run", file, "--on=kernel", "--programs")
    assert done.returncode == 2
    assert "its server ended during the run (exit code 1)" in done.stderr
    assert "| out of memory" in done.stderr


def test_programs_get_sigterm_at_the_end_and_can_complete_their_files(folder: Path) -> None:
    """A program that does not end within two seconds is killed."""
    ends = """import signal
def end(*_):
    open("whole.qlog", "w").write("whole")
    raise SystemExit(0)
signal.signal(signal.SIGTERM, end)
"""
    takes = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + TAKES
    takes += "import time; time.sleep(60)\n"
    out = folder / "out"
    more = 'qlog = "*.qlog"\n'
    file = scenario(folder, own(folder, ends + SENDS, takes, more), duration="1s")
    done = fullpipe("run", file, "--on=kernel", "--programs", "--out", out)
    assert done.returncode == 0, done.stderr
    assert (out / "programs" / "mine" / "whole.qlog").read_text() == "whole"


def test_nothing_survives_a_kill_of_the_command(folder: Path) -> None:
    mark = f"mark-{os.getpid()}"
    takes = TAKES + "import time; time.sleep(60)\n"
    file = scenario(folder, own(folder, SENDS, takes), duration="60s")
    text = file.read_text().replace("{far} {port}", "{far} {port} " + mark)
    file.write_text(text.replace("sends.py {port}", "sends.py {port} " + mark))
    running = subprocess.Popen(
        [*FULLPIPE, "run", str(file), "--on=kernel", "--programs"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _until(lambda: len(_with(mark)) >= 2, "the programs have not started")
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    _until(lambda: not _with(mark), "programs are left")


def _with(mark: str) -> list[str]:
    """Returns the processes whose command lines have a word."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words:
            found.append(folder.name)
    return found


def _until(holds: object, otherwise: str) -> None:
    for _ in range(600):
        if holds():  # type: ignore[operator]
            return
        time.sleep(0.1)
    pytest.fail(otherwise)


def test_a_flow_can_name_a_recipe_as_its_algorithm(folder: Path) -> None:
    tool("iperf3")
    done = fullpipe(
        "run",
        "cubic",
        "program:iperf3:reno",
        "--rate=10mbit",
        "--duration=3s",
        "--on=kernel",
        "--json",
    )
    flows = metrics(done)
    assert set(flows) == {"cubic", "iperf3-reno"}
    assert flows["iperf3-reno"]["goodput_bps"] > 1e5  # its share in three seconds is chance


def test_sweeps_and_conditions_treat_programs_like_flows(folder: Path) -> None:
    tool("iperf3")
    more = '\n[[program]]\nuse = "iperf3"\n'
    file = scenario(folder, CUBIC, more, duration="1s")
    file.write_text(
        file.read_text().replace(
            "duration", 'expect = ["flow.iperf3.goodput >= 1kbit"]\nduration', 1
        )
    )
    done = fullpipe("check", file, "--on=kernel", "--repeat=1")
    assert done.returncode == 0, done.stdout + done.stderr
    out = folder / "sweep"
    done = fullpipe(
        "sweep", file, "--on=kernel", "--set=program.0.params.cc=cubic,reno", "--out", out
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "reno" in done.stdout
    assert "receiver" in (out / "programs/run-0/iperf3/client.out").read_text()


def test_a_comparison_of_programs_has_a_control(folder: Path) -> None:
    tool("iperf3")
    path = ("--rate=5mbit", "--rtt=10ms", "--duration=500ms", "--repeat=3", "--on=kernel")
    out = folder / "compared"
    done = fullpipe("compare", "cubic", "program:iperf3", *path, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "control: program:iperf3:cubic twice differs by " in " ".join(done.stdout.split())
    again = fullpipe("compare", "cubic", "program:iperf3", *path, "--out", out, "--json")
    assert again.returncode == 0, again.stderr
    control = json.loads(again.stdout)["control"]
    assert {each["metric"] for each in control} == {"goodput_bps", "queue_delay_s.p95"}
    assert all(each["low"] <= each["percent"] <= each["high"] for each in control)
    page = folder / "page.html"
    done = fullpipe("report", out, "--out", page)
    assert done.returncode == 0, done.stderr
    assert "Control: the same program twice" in page.read_text(encoding="utf-8")


def test_the_judge_of_a_kept_run_takes_the_qlog_of_its_program(folder: Path) -> None:
    """The programs write logs of our own CUBIC and Reno, as a stack's sender would, and one of a receiver."""
    path = {"rate": "10mbit", "rtt": "20ms", "buffer": "1bdp"}
    for name in ("cubic", "newreno"):
        run = {"duration": "25s", "path": path, "flow": [{"cc": name}]}
        _fullpipe.run(run, trace="ack").qlog(folder / f"{name}.sqlog")
    (folder / "receiver.sqlog").write_text("")
    sends = SENDS.replace(
        'open("left.qlog", "w").write("a log")',
        f"import shutil\nfor name in sys.argv[2:]: shutil.copy({str(folder)!r} + '/' + name, 'of-' + name)",
    )
    tables = own(folder, sends, more='qlog = "*.sqlog"\nstart = "500ms"\n')

    def kept(name: str, *logs: str) -> Path:
        called = tables.replace("{port}", f"{{port}} {' '.join(logs)}", 1)
        file = scenario(folder, CUBIC, called, duration="2s", name=name)
        done = fullpipe(
            "run", file, "--on=kernel", "--programs", "--trace=ack", "--out", folder / name
        )
        assert done.returncode == 0, done.stderr
        return folder / name

    one = kept("one", "cubic.sqlog", "receiver.sqlog")
    words = ("--seeds", 2, "--json")
    found = {}
    for name in ("cubic", "newreno"):
        done = fullpipe("trace", "judge", one, "--as", name, *words)
        found[name] = json.loads(done.stdout)
        assert found[name]["trace"] == "one, mine"
    verdicts = {each["condition"]: each["verdict"] for each in found["cubic"]["conditions"]}
    assert verdicts["beta"] == verdicts["slow-start-end"] == "met"
    assert found["newreno"]["first_difference"]["condition"] in ("halving", "reno-growth")
    # The kernel's flow, by its name, needs a path without the program.
    words_of_it = ("trace", "judge", one, "--as=cubic", "--flow=kernel-cubic")
    done = fullpipe(*words_of_it, *words)
    assert "1 program next to the judged flow" in done.stderr and "--path" in done.stderr
    alone = scenario(folder, CUBIC, name="alone")
    done = fullpipe(*words_of_it, "--path", alone, *words)
    assert json.loads(done.stdout)["trace"] == "one, kernel-cubic", done.stderr

    two = kept("two", "cubic.sqlog", "newreno.sqlog")
    done = fullpipe("trace", "judge", two, "--as", "newreno", *words)
    assert done.returncode == 2
    assert "2 qlogs of programs: mine/of-cubic.sqlog, mine/of-newreno.sqlog" in done.stderr
    assert "fix: name one of them, like --flow mine/of-cubic.sqlog" in done.stderr
    done = fullpipe("trace", "judge", two, "--as=newreno", "--flow=mine/of-newreno.sqlog", *words)
    found = {each["condition"]: each for each in json.loads(done.stdout)["conditions"]}
    assert found["halving"]["verdict"] == "met", done.stderr


DATAGRAMS = """import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
    own.bind(("0.0.0.0", int(sys.argv[1])))
    _, of = own.recvfrom(1500)
    for _ in range(200):
        own.sendto(bytes(1200), of)
        time.sleep(0.002)
    own.sendto(b"end", of)
    time.sleep(60)
"""
LISTENS = """import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
    own.sendto(b"begin", (sys.argv[1], int(sys.argv[2])))
    while own.recv(1500) != b"end":
        pass
"""


@pytest.mark.parametrize(
    ("sends", "takes", "cc"),
    [
        # Its own choice comes after a first connection with the default, which sends less.
        (
            SENDS.replace(
                "with taker:",
                "with taker:\n        taker.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'reno')",
            ),
            TAKES,
            "reno",
        ),
        (SENDS, TAKES, Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()),
        # One packet: no connection lives long enough to be listed.
        (
            SENDS.replace("1_000_000", "100").replace(
                "while True",
                "listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'reno')\nwhile True",
            ),
            TAKES,
            "reno",
        ),
        (DATAGRAMS, LISTENS, "UDP"),
        # A server of HTTP/3 often listens for TCP, too.
        (
            DATAGRAMS.replace("as own:", "as own, socket.create_server(('', int(sys.argv[1]))):"),
            LISTENS,
            "UDP",
        ),
    ],
)
def test_the_algorithm_of_a_program_is_the_one_that_the_kernel_used(
    folder: Path, sends: str, takes: str, cc: str
) -> None:
    file = scenario(folder, own(folder, sends, takes), duration="30s")
    out = folder / "out"
    done = fullpipe("run", file, "--on=kernel", "--programs", "--out", out)
    assert done.returncode == 0, done.stderr
    assert f"mine ({cc})" in done.stdout
    assert json.loads((out / "metrics.json").read_text())["flows"][0]["cc"] == cc
    page = folder / "page.md"
    done = fullpipe("report", out, "--format=md", "--out", page)
    assert done.returncode == 0, done.stderr
    text = next(folder.glob("page*/report.md"), page).read_text()
    assert f"mine ({cc})" in text or f"| {cc} |" in text


def test_runners_with_other_defaults_are_said() -> None:
    from fullpipe.algorithms.programs.used import differences, names

    text = (
        '[[program]]\nuse = "iperf3"\n[[flow]]\ncc = "program:nginx:bbr"\n[[flow]]\ncc = "cubic"\n'
    )
    assert names([text, '[[program]]\nname = "web"\n']) == {"iperf3", "nginx", "web"}
    used = [
        ("on kernel", "web", "bbr"),
        ("on uml", "web", "cubic"),
        ("on kernel", "same", "program:iperf3:reno"),
        ("on uml", "same", "program:iperf3:reno"),
    ]
    assert differences(used) == [
        "web used bbr (on kernel) and cubic (on uml): a program's TCP has the machine's default unless it asks for "
        "another"
    ]


def test_a_program_with_another_algorithm_on_another_runner_is_said_on_the_page(
    folder: Path,
) -> None:
    """A second kept run with another default stands for that of another machine."""
    file = scenario(folder, own(folder), duration="30s")
    one, two = folder / "one", folder / "two"
    done = fullpipe("run", file, "--on=kernel", "--programs", "--out", one)
    assert done.returncode == 0, done.stderr
    was = json.loads((one / "metrics.json").read_text())["flows"][0]["cc"]
    other = "reno" if was != "reno" else "cubic"
    setting = f"taker.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'{other}')"
    own(folder, SENDS.replace("with taker:", f"with taker:\n        {setting}"))
    done = fullpipe("run", file, "--on=kernel", "--programs", "--out", two)
    assert done.returncode == 0, done.stderr
    done = fullpipe("report", one, two, "--out", folder / "page.html")
    assert done.returncode == 0, done.stderr
    page = (folder / "page.html").read_text()
    assert f"mine used {was} (" in page and f" and {other} (" in page


class Ended(NamedTuple):
    """A process that has ended."""

    code: int
    said: str
    took_s: float
    cpu_s: float


@pytest.fixture(scope="module", autouse=True)
def silent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Future[Ended]]:
    """The end of a run whose server never listens; it waits for that while the other tests run."""
    file = scenario(tmp_path_factory.mktemp("silent"), program("sleep 1000", "true"), duration="1s")
    began = time.monotonic()
    words = [*FULLPIPE, "run", str(file), "--on=kernel", "--programs"]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def end() -> Ended:
        assert running.stderr
        said = running.stderr.read()
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        took_s = time.monotonic() - began
        return Ended(running.returncode, said, took_s, used.ru_utime + used.ru_stime)

    with ThreadPoolExecutor(1) as waiting:
        ending = waiting.submit(end)
        yield ending
        if not ending.done():
            running.kill()
    assert running.stderr
    running.stderr.close()


@pytest.mark.usefixtures("folder")
def test_a_server_that_never_listens_is_said_in_time_and_without_polling(
    silent: Future[Ended],
) -> None:
    ended = silent.result()
    assert ended.code == 2
    assert "its server did not listen at port 5001 within 30 s: sleep 1000" in ended.said
    assert 30 <= ended.took_s < 45
    assert ended.cpu_s < 10, "the start of Python takes a second or two on a busy machine"
