"""The end of a process with a user's code: the command's own end alone is one, whatever the exit code says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import SCENARIO
from test_plugin import IN_C, compiled

if TYPE_CHECKING:
    from conftest import Fullpipe

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the guard is a parent")

OWN = """\
import fullpipe
class Mine:
    def __init__(self, config): pass
    def on_ack(self, cx, ack):
        {}
    def decision(self):
        return fullpipe.Decision(20_000)
"""
LIBC = "__import__('ctypes').CDLL(None)"
ENDS = {
    "os._exit": "__import__('os')._exit(0)",
    "posix._exit": "__import__('posix')._exit(0)",
    "exec": "__import__('os').execv('/bin/true', ['true'])",
    "_exit of C": f"{LIBC}._exit(0)",
    "exit of C": f"{LIBC}.exit(0)",
    "code": "__import__('posix')._exit(3)",
    "sys.exit": "raise SystemExit(0)",
}
COMMANDS = {
    "check": ["check", "own.toml"],
    "run": ["run", "own:Mine"],
    "sweep": ["sweep", "own.toml", "--repeat", "2", "--out", "out"],
    "compare": ["compare", "cubic", "own:Mine", "--repeat", "1"],
    "evaluate": ["evaluate", "own:Mine", "--criterion", "fairness", "--quick", "--out", "out"],
    "draft": ["evaluate", "own:Mine", "--suite", "bbr-draft", "--out", "out"],
    "attack": ["attack", "search", "own:Mine", "--budget", "5s", "--out", "out"],
    "shrink": ["attack", "shrink", "own.toml", "--keep", "jain >= 0"],
    "plugin check": ["plugin", "check", "own.py:Mine", "--sequences", "5"],
}


def written(folder: Path, code: str) -> None:
    """Writes a class that runs the code in each call, and a scenario with a condition that names it."""
    (folder / "own.py").write_text(OWN.format(code))
    scenario = SCENARIO.replace('cc = "bbr1"', 'cc = "own:Mine"')
    (folder / "own.toml").write_text(scenario.replace("seed = 7", 'expect = ["jain >= 1%"]'))


@pytest.mark.parametrize(
    ("name", "end"),
    [
        *((name, "_exit of C") for name in COMMANDS),
        *(("check", end) for end in ENDS),
        ("run", "exec"),
        ("plugin check", "exit of C"),
    ],
)
def test_a_class_that_ends_the_process_is_an_error(
    name: str, end: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    """A gate would be green otherwise."""
    written(tmp_path, ENDS[end])
    done = fullpipe(*COMMANDS[name])
    if (name, end) == ("plugin check", "sys.exit"):
        assert done.returncode == 1
        return
    assert done.returncode == 2, done.stdout
    assert "error: " in done.stderr
    assert "fix: " in done.stderr or end == "sys.exit"


@pytest.mark.parametrize("end", ENDS)
def test_a_module_that_ends_the_process_is_an_error(
    end: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(f"{ENDS[end]}\n")
    for words in (["run", "own:Mine"], ["explain", "own:Mine"], ["evaluate", "own:Mine"]):
        done = fullpipe(*words)
        assert done.returncode == 2
        assert "error: " in done.stderr


@pytest.mark.parametrize("end", ["_exit(0)", "exit(0)", 'execl("/bin/true", "true", (char *)0)'])
@pytest.mark.parametrize("place", ["call", "load"])
def test_a_library_that_ends_the_process_is_an_error(
    end: str, place: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    text = f"#include <stdlib.h>\n#include <unistd.h>\n{IN_C.read_text()}"
    if place == "load":
        text += f"\n__attribute__((constructor)) static void first(void) {{ {end}; }}\n"
    else:
        head = text[text.index("static int32_t on_ack(") :].partition("{")[0] + "{"
        text = text.replace(head, f"{head} {end};")
    (tmp_path / "ends.c").write_text(text)
    compiled(tmp_path / "ends.c", tmp_path / "libends.so", "-D_GNU_SOURCE")
    written(tmp_path, "pass")
    for words in (
        ["run", "./libends.so"],
        ["check", "own.toml", "--cc", "./libends.so"],
        ["test", "download", "--cc", "./libends.so", "--duration", "5s"],
        ["plugin", "check", "libends.so", "--sequences", "5"],
    ):
        done = fullpipe(*words)
        assert done.returncode == 2, done.stdout
        assert "error: an algorithm ended the process" in done.stderr


def test_a_signal_that_ends_the_process_is_the_commands(command: list[str], tmp_path: Path) -> None:
    written(tmp_path, "__import__('os').kill(__import__('os').getpid(), 9)")
    done = subprocess.run([*command, "run", "own:Mine"], cwd=tmp_path, check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("code", [0, 1])
def test_the_commands_exit_code_stays(code: int, fullpipe: Fullpipe, tmp_path: Path) -> None:
    written(tmp_path, "pass")
    expect = {0: "jain >= 1%", 1: "jain >= 101%"}[code]
    scenario = (tmp_path / "own.toml").read_text()
    (tmp_path / "own.toml").write_text(scenario.replace("jain >= 1%", expect))
    done = fullpipe("check", "own.toml")
    assert done.returncode == code, done.stdout + done.stderr


def test_results_of_before_are_read_after_the_process_is_divided(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    """Threads of polars do not live on in a child."""
    written(tmp_path, "pass")
    assert fullpipe("check", "own.toml", "--out", "before").returncode == 0
    done = fullpipe("check", "own.toml", "--against", "before")
    assert done.returncode == 0, done.stderr
    written(tmp_path, ENDS["_exit of C"])
    assert fullpipe("check", "own.toml", "--against", "before").returncode == 2


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_kill_leaves_no_process(command: list[str], tmp_path: Path) -> None:
    written(tmp_path, "__import__('pathlib').Path('on').touch(); __import__('time').sleep(100)")
    with subprocess.Popen([*command, "run", "own:Mine"], cwd=tmp_path) as process:
        while not (tmp_path / "on").exists():
            assert process.poll() is None
            time.sleep(0.02)
        there = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert there
        process.kill()
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{each}/stat").exists() for each in there):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_without_a_users_code_there_is_one_process(command: list[str], tmp_path: Path) -> None:
    words = ["run", "cubic", "--duration", "100000s"]
    with subprocess.Popen([*command, *words], cwd=tmp_path) as process:
        time.sleep(2)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        process.kill()
    assert children == ""
