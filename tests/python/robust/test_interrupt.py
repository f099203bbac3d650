"""Every command answers Ctrl-C: exit code 130, and soon.

The commands come from the program, so that a new one can't be forgotten. Those that end alone before they have
used a second and a half of processor time are exempt; that they do is part of the test. Figures: run it with `-rP`.
A change is tested with one command for each kind of loop; a release, with all (`make deep`).
"""

from __future__ import annotations

import gzip
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import fullpipe as package
from conftest import SCENARIO
from depth import DEEP
from fleet_made import write_fleet
from fullpipe.commands import app
from fullpipe.commands.listing import Group
from test_plugin import IN_C, compiled
from test_published import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WITHIN_S = 5.0
"""For a busy machine; `docs/evidence/faults.md` has the measured times."""
AT_ONCE_S = 20.0
BEGUN_S = 1.5
"""Processor time after which a command is past its start-up."""
ASLEEP_S = 2.0
"""Time for which the main thread of a command sleeps only after the start-up: that computes, or waits for a disk."""
AT_ITS_END_S = 0.5
SLOW = """\
import time
import fullpipe

class Slow:
    def __init__(self, config):
        self.cwnd = config.initial_cwnd
    def on_ack(self, cx, ack):
        time.sleep(0.005)
    def decision(self):
        return fullpipe.Decision(self.cwnd, None)
"""
LONG = SCENARIO.replace('"2s"', '"100000s"')
EXPECT = LONG.replace("seed = 7", 'seed = 7\nexpect = ["link.bottleneck.utilization >= 1%"]')
ARGUMENTS = {
    "run": ["long.toml"],
    "compare": ["cubic", "bbr3", "--set", "duration=100000s"],
    "sweep": ["long.toml", "--set", "path.rate=5mbit,10mbit", "--out", "out"],
    "sweep ": ["long.toml", "--set", "flow.0.cc=slow:Slow", "--threads", "2", "--out", "out"],
    "check": ["expect.toml"],
    "reproduce": ["study.toml"],
    "evaluate": ["bbr3", "--suite", "bbr-draft", "--out", "out"],
    "evaluate ": ["cubic", "--criterion", "fairness", "--seeds", "10000", "--out", "out"],
    "attack search": ["cubic", "--budget", "1000min", "--out", "out"],
    "score": ["newreno", "--no-holdout", "--cache", "cache"],
    "trace judge": ["saved", "--as", "cubic"],
    "trace identify": ["saved"],
    "attack shrink": ["long.toml", "--keep", "jain >= 0"],
    "link": ["--rate", "10mbit", "--", "sleep", "100"],
    "validate": ["--seeds", "1000"],
    "report": ["saved", "--out", "report.html"],
    "verify": ["saved"],
    "trace qlog": ["saved", "saved.qlog"],
    "trace packets": ["saved"],
    "new": ["cubic"],
    "list": ["algorithms"],
    "explain": ["cubic"],
    "doctor": [],
    "explore": ["--out", "page.html"],
    "test": ["rrul", "--profile", "lte", "--duration", "20000s"],
    "plugin new": ["mine"],
    "plugin header": [],
    # Without a crate or a library they end at once; builds are cargo's.
    "plugin build": ["mine"],
    "plugin check": ["libmine.so"],
    "trace import": ["hosts/x/a.ss.gz", "--out", "out"],
    # Not the algorithms of test_kernel_bpf.py: the kernel has each name once.
    "kernel load": ["copa", "--", "sleep", "100"],
    "kernel list": [],
    "kernel status": [],
    "kernel unload": ["ledbat++"],
    "kernel trace": ["ledbat++"],
    "fleet sample": ["--interval", "20ms", "--out", "out"],
    "fleet ingest": ["--arm", "cubic=hosts/{host}/*.ss.gz", "--samples", "--out", "out"],
    "fleet compare": ["fleet"],
    "fleet simulate": ["--paths", "1000000", "--out", "out"],
    "fleet path": ["simulated", "0", "--arm", "cubic"],
    "workload extract": ["flows.csv.gz", "--out", "flows.parquet"],
    "workload describe": ["flows.csv.gz"],
    "workload fit": ["flows.csv.gz"],
}

# One command for each loop that has an interruption of its own: a run, runs on the core's threads, calls of a class in
# Python, the cases of a draft, candidates in processes, a program behind a link, readers of logs and of flows, the
# sampler, and a population.
LOOPS = {
    "run",
    "compare",
    "sweep ",
    "evaluate",
    "score",
    "link",
    "fleet ingest",
    "workload extract",
    "fleet sample",
    "fleet simulate",
}
assert set(ARGUMENTS) >= LOOPS


def commands() -> Iterator[str]:
    """Yields the names of all commands."""
    for names, command in app.walk():
        if not isinstance(command, Group):
            yield " ".join(names)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scenarios, logs and results that all commands can use."""
    place = tmp_path_factory.mktemp("inputs")
    (place / "long.toml").write_text(LONG)
    (place / "expect.toml").write_text(EXPECT)
    (place / "study.toml").write_text(GOOD.replace('"2s"', '"1000000s"'))
    (place / "slow.py").write_text(SLOW)
    package.run(package.load(SCENARIO), trace="1ms").save(place / "saved")
    simulate = [
        "fleet",
        "simulate",
        "--paths",
        "2",
        "--cc",
        "cubic",
        "-o",
        str(place / "simulated"),
    ]
    assert CliRunner().invoke(app, simulate).exit_code == 0
    write_fleet(place / "fleet", {"cubic": {}, "bbr": {}}, rows=20_000)
    sample = (
        "@1576576800\nESTAB 0 0 10.0.0.1:443 192.0.2.7:1\n\t cubic rto:204 rtt:20/1 mss:1000 cwnd:10 bytes_sent:110 "
        "bytes_retrans:10 bytes_acked:100 segs_out:9 busy:500ms rwnd_limited:50ms(10.0%)\n"
    )
    (place / "hosts" / "x").mkdir(parents=True)
    (place / "hosts" / "x" / "a.ss.gz").write_bytes(gzip.compress(sample.encode() * 4000) * 1000)
    rows = gzip.compress(b"1,2\n" * 100_000)
    (place / "flows.csv.gz").write_bytes(gzip.compress(b"start,bytes\n") + rows * 1000)
    return place


def _state(process: int) -> tuple[str, float]:
    """Returns the letter of the state of the main thread, and the processor time in s."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return words[0], sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


def _begun(process: subprocess.Popen[str]) -> bool:
    """Waits until a command is at work; returns False if it has ended."""
    awake = time.monotonic()
    while process.poll() is None:
        try:
            state, cpu_s = _state(process.pid)
        except FileNotFoundError:
            break
        if state != "S":
            awake = time.monotonic()
        if cpu_s >= BEGUN_S or time.monotonic() > awake + ASLEEP_S:
            return True
        time.sleep(0.02)
    return False


def _started(words: list[str], folder: Path) -> subprocess.Popen[str]:
    """Starts the command with Python's own handler of SIGINT, which it may not have inherited."""
    return subprocess.Popen(
        [sys.executable, "-m", "fullpipe", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def test_every_command_has_its_arguments() -> None:
    assert set(commands()) == {name.strip() for name in ARGUMENTS}


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
# With a space: with a slow controller.
@pytest.mark.parametrize(
    "name", ARGUMENTS if DEEP else [each for each in ARGUMENTS if each in LOOPS]
)
def test_ctrl_c_ends_a_command(name: str, inputs: Path, tmp_path: Path) -> None:
    for each in inputs.iterdir():
        (tmp_path / each.name).symlink_to(each)
    began = time.monotonic()
    with _started([*name.split(), *ARGUMENTS[name]], tmp_path) as process:
        try:
            if not _begun(process):
                took = time.monotonic() - began
                assert took < AT_ONCE_S
                print(f"{name}: ends alone, {took:.1f} s, exit code {process.wait()}")
                return
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
            took = time.monotonic() - sent
        finally:
            process.kill()
    print(f"{name}: {took:.2f} s; {said.strip()}")
    if process.returncode in (0, -signal.SIGINT) and took < AT_ITS_END_S:
        return  # its work was done when the signal came, or the interpreter had already let go of its handler
    assert process.returncode == 130
    assert took < WITHIN_S
    assert "interrupted" in said or name == "link"  # which prints its report


STUCK = """\
import re
import sys
import time
from pathlib import Path
from fullpipe import Decision

class Stuck:
    def __init__(self, config):
        self.cwnd = config.initial_cwnd
    def on_ack(self, cx, ack):
        if sys.stdout.name == "<stdout>":  # not in the rehearsal, which has an end
            Path("stuck").touch()
        {call}
    def decision(self):
        return Decision(self.cwnd, None)
"""
# Python code that goes on, a wait without Python's lock, and calls that keep it.
ENDLESS = {
    "loop": "while True: pass",
    "sleep": "time.sleep(1000)",
    "number": "10 ** 10 ** 9",
    "regular expression": 're.match("(a+)+$", "a" * 60 + "b")',
}
WITH_CLASS = {
    "run": ["stuck.toml"],
    "sweep": ["stuck.toml", "--repeat", "3", "--out", "out"],
    "compare": ["cubic", "stuck:Stuck", "--rate", "5mbit", "--rtt", "20ms", "--duration", "2s"],
    "check": ["stuck.toml"],
    "evaluate": ["stuck:Stuck", "--criterion", "fairness", "--quick", "--out", "out"],
    "attack search": ["stuck:Stuck", "--budget", "100s", "--out", "out"],
    "attack shrink": ["stuck.toml", "--keep", "jain >= 0"],
    "plugin check": ["stuck:Stuck"],
}
STUCK_CASES = [
    *(("plugin check", call, signal.SIGINT) for call in ENDLESS if call != "loop"),
    ("plugin check", "number", signal.SIGTERM),
    *((name, "loop", signal.SIGINT) for name in WITH_CLASS),
    *(("compare", call, signal.SIGTERM) for call in ENDLESS),
    *(("run", call, signal.SIGINT) for call in ENDLESS if call != "loop"),
]
if DEEP:
    STUCK_CASES = [(name, call, signal.SIGINT) for name in WITH_CLASS for call in ENDLESS]


@pytest.mark.skipif(sys.platform != "linux", reason="a thread of Linux answers the signal")
@pytest.mark.parametrize(("name", "call", "sent"), STUCK_CASES)
def test_an_algorithm_that_does_not_return_is_interrupted(
    name: str, call: str, sent: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "stuck.py").write_text(STUCK.format(call=ENDLESS[call]))
    toml = EXPECT.replace('"100000s"', '"2s"').replace('cc = "bbr1"', 'cc = "stuck:Stuck"')
    (tmp_path / "stuck.toml").write_text(toml)
    with _started([*name.split(), *WITH_CLASS[name]], tmp_path) as process:
        try:
            deadline = time.monotonic() + AT_ONCE_S
            while not (tmp_path / "stuck").exists():
                assert time.monotonic() < deadline
                assert process.poll() is None, process.communicate()
                time.sleep(0.02)
            began = time.monotonic()
            process.send_signal(sent)
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 128 + sent
    assert time.monotonic() - began < WITHIN_S
    assert said.splitlines()[-1].startswith("interrupted")
    assert "Traceback" not in said


@pytest.fixture(scope="module")
def endless_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that does not return from its first ACK."""
    folder = tmp_path_factory.mktemp("c")
    text = IN_C.read_text()
    head = text[text.index("static int32_t on_ack(") :].partition("{")[0] + "{"
    loop = 'fclose(fopen("stuck", "w")); for (volatile int i = 0; ; ) i = 0;'
    (folder / "endless.c").write_text(f"#include <stdio.h>\n{text.replace(head, head + loop)}")
    return compiled(folder / "endless.c", folder / "libendless.so")


WITH_LIBRARY = {
    "run": ["./libendless.so", "--duration", "2s"],
    "sweep": ["./libendless.so", "--duration", "2s", "--repeat", "3", "--out", "out"],
    "check": ["expect.toml", "--cc", "./libendless.so"],
    "attack search": ["./libendless.so", "--budget", "100s", "--out", "out"],
    "test": ["download", "--cc", "./libendless.so", "--duration", "5s"],
    "plugin check": ["libendless.so"],
    "script": ["run"],
    "script ": ["sweep"],
}
LIBRARY_SCRIPT = """\
import sys
import fullpipe

mine = fullpipe.load_plugin("./libendless.so")
try:
    if sys.argv[1] == "run":
        fullpipe.run([mine], duration="2s")
    else:
        fullpipe.sweep([mine], duration="2s", repeat=3, out="out")
except KeyboardInterrupt:
    print("interrupted", file=sys.stderr)
    raise SystemExit(130)
"""


def _interrupted_when_stuck(words: Sequence[str], place: Path) -> tuple[int, str, str]:
    """Sends SIGINT when the algorithm is in its endless call; returns exit code, output and error output.

    The process must end soon.
    """
    with subprocess.Popen(
        words,
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            deadline = time.monotonic() + AT_ONCE_S
            while not (place / "stuck").exists():
                assert time.monotonic() < deadline
                assert process.poll() is None, process.communicate()
                time.sleep(0.02)
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            out, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert time.monotonic() - began < WITHIN_S
    return process.returncode, out, said


@pytest.mark.skipif(sys.platform != "linux", reason="a thread of Linux answers the signal")
@pytest.mark.parametrize("name", WITH_LIBRARY)
def test_a_library_that_does_not_return_is_interrupted(
    name: str, endless_library: Path, tmp_path: Path
) -> None:
    (tmp_path / "libendless.so").symlink_to(endless_library)
    (tmp_path / "script.py").write_text(LIBRARY_SCRIPT)
    (tmp_path / "expect.toml").write_text(EXPECT.replace('"100000s"', '"2s"'))
    words = [sys.executable, "-m", "fullpipe", *name.split()]
    if name.startswith("script"):
        words = [sys.executable, "script.py"]
    code, _, said = _interrupted_when_stuck([*words, *WITH_LIBRARY[name]], tmp_path)
    assert code == 130
    assert said.splitlines()[-1].startswith("interrupted")


SCRIPT = """\
import sys
import fullpipe
from stuck import Stuck

PATH = {"rate": "5mbit", "rtt": "20ms", "duration": "2s"}
if __name__ == "__main__":
    try:
        if sys.argv[1] == "sweep":
            fullpipe.sweep([Stuck], repeat=3, out="out", **PATH)
        elif sys.argv[1] == "compare":
            fullpipe.compare("cubic", Stuck, repeat=3, **PATH)
        else:
            fullpipe.run([Stuck], **PATH)
    except KeyboardInterrupt:
        print("caught", flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a thread of Linux answers the signal")
@pytest.mark.parametrize("name", ["sweep", "compare", "run"])
@pytest.mark.parametrize("call", ENDLESS)
def test_a_script_is_interrupted(name: str, call: str, tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(STUCK.format(call=ENDLESS[call]))
    (tmp_path / "script.py").write_text(SCRIPT)
    code, out, said = _interrupted_when_stuck([sys.executable, "script.py", name], tmp_path)
    if call in ("loop", "sleep") or name == "run":
        assert (code, out, said) == (0, "caught\n", "")
    else:  # it keeps the interpreter, which can't raise anything
        assert (code, out) == (130, "")
        assert said == "interrupted in a call of an algorithm that did not return\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
@pytest.mark.parametrize("start", ["script", "module"])
def test_ctrl_c_before_the_command_is_imported_is_a_line(start: str, tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("fullpipe")
    words = [script] if start == "script" else [sys.executable, "-m", "fullpipe"]
    for tenths in (0.5, 1, 1.5, 2, 3, 4, 5):
        with subprocess.Popen(
            [*words, "run", "cubic", "--duration", "100000s"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        ) as process:
            time.sleep(tenths / 10)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
        if "Traceback" in said:  # Python had not begun with the package, or was in its first import
            files = re.findall(r"/fullpipe/(\w+\.py)", said.replace(str(script), ""))
            assert set(files) <= {"__init__.py", "_begin.py"}, said
            assert not files or "import fullpipe._begin" in said, said
            continue
        if process.returncode != -signal.SIGINT:
            assert process.returncode == 130
            assert said.startswith("interrupted")
            assert len(said.splitlines()) == 1


def test_a_signal_that_a_library_drops_comes_again(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import os, signal, time\n"
        "from fullpipe.errors import ending, heed_signals, stoppable\n"
        "with ending():\n"
        "    heed_signals()\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(60)\n"
        "    except BaseException:\n"
        "        pass\n"
        "    with stoppable(lambda: 'here'):\n"
        "        time.sleep(60)\n"
    )
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (143, "interrupted here; nothing kept\n")


def test_an_import_of_the_package_leaves_the_signals_alone(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import signal, fullpipe\nassert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    words = [sys.executable, "script.py"]
    subprocess.run(
        words,
        cwd=tmp_path,
        check=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def test_a_run_that_does_not_return_is_no_run_that_did_not_begin(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(STUCK.format(call="while True: pass"))
    with _started(["run", "stuck:Stuck", "--duration", "2s"], tmp_path) as process:
        while not (tmp_path / "stuck").exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    place = "in on_ack of stuck:Stuck, called at "
    assert said.startswith(f"interrupted while the run began, {place}")
    assert said.endswith(" s; nothing kept\n")


def test_another_program_keeps_its_own_ctrl_c(tmp_path: Path) -> None:
    package = tmp_path / "other"
    package.mkdir()
    (package / "__init__.py").write_text("import fullpipe\n")
    kept = "signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    (package / "__main__.py").write_text(f"import signal\nassert {kept}\n")
    called = [sys.executable, "-m", "other"]
    done = subprocess.run(
        called,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.returncode == 0, done.stderr
