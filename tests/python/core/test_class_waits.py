"""Calls of an algorithm in Python that do not return."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fullpipe import Decision
from fullpipe.errors import EndlessCallError
from plain_class import PLAIN

if TYPE_CHECKING:
    from pathlib import Path

    from fullpipe._core import Ack, Config, Context

PATH = ("--rate", "5mbit", "--rtt", "20ms")
LONG = ("--duration", "11s")


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


class Endless:
    """Does not return."""

    def __init__(self, config: Config) -> None:
        self.cwnd = config.initial_cwnd

    def on_ack(self, cx: Context, ack: Ack) -> None:
        while True:
            pass

    def decision(self) -> Decision:
        return Decision(self.cwnd)


def test_the_rehearsal_of_a_class_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    from fullpipe.algorithms import rehearsal

    monkeypatch.setattr(rehearsal, "_PATIENCE_S", 0.2)
    rehearsal.rehearse([("endless", Endless)])


def test_the_error_of_an_endless_call_can_be_sent() -> None:
    sent = pickle.loads(pickle.dumps(EndlessCallError()))
    assert str(sent) == "the method does not return"


ENDLESS = (
    PLAIN
    + """\
import re, sys, threading, time

class Loop(Plain):
    def on_ack(self, cx, ack):
        while True:
            pass

class Kept(Plain):
    def on_ack(self, cx, ack):
        re.fullmatch("(a|a)*b", "a" * 60)

class Sleeps(Plain):
    def on_ack(self, cx, ack):
        time.sleep(3600)

class Reads(Plain):
    def on_ack(self, cx, ack):
        input()

class Locked(Plain):
    def __init__(self, config):
        self.cwnd = 20_000
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()

class Observed(Plain):
    fields = {"a": fullpipe.Field()}

    def observe(self):
        time.sleep(3600)

class Swallows(Plain):
    def on_ack(self, cx, ack):
        while True:
            try:
                time.sleep(1)
            except BaseException:
                pass
"""
)
RUNS = """
import endless, fullpipe, sys
from fullpipe import _core

_core.limit_calls(seconds=0.5)
fullpipe.run([getattr(endless, sys.argv[1])], rate="5mbit", rtt="20ms", duration="2s")
"""
DOES_NOT = "EndlessCallError: the method does not return"


def ends(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a program whose standard input stays open."""
    reads, writes = os.pipe()
    try:
        return subprocess.run(
            [sys.executable, "-c", code, *words],
            stdin=reads,
            capture_output=True,
            text=True,
            timeout=30,
        )
    finally:
        os.close(reads)
        os.close(writes)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Loop", ["in on_ack", DOES_NOT]),
        ("Kept", ["a call of an algorithm did not return", "fix: let each method"]),
        ("Sleeps", ["in on_ack", DOES_NOT]),
        ("Locked", ["in __init__", DOES_NOT]),
        ("Swallows", ["in on_ack", "fix: let each method"]),
    ],
)
def test_a_call_that_does_not_return_ends(name: str, said: list[str]) -> None:
    done = ends(RUNS, name)
    assert done.returncode == (2 if name in ("Kept", "Swallows") else 1)
    for words in said:
        assert words in done.stderr


TOLD = """
import time
from fullpipe import errors

def slow(thread, tell=errors.end_call):
    tell(thread)
    time.sleep(0.5)

errors.end_call = slow
"""


def test_the_end_waits_for_the_thread_that_told_of_the_call() -> None:
    # Python would unwind that thread through code that can't be unwound: SIGABRT instead of the error's exit code.
    assert ends(TOLD + RUNS, "Loop").returncode == 1


COMMAND = """
import sys
from fullpipe import errors
from fullpipe.commands import main

errors.CALL_S = 0.5
sys.argv[0] = "fullpipe"
main()
"""


@pytest.mark.parametrize(
    ("name", "method", "line"),
    [
        ("Loop", "on_ack", "while True"),
        ("Sleeps", "on_ack", "time.sleep(3600)"),
        ("Reads", "on_ack", "input()"),
        ("Locked", "__init__", "lock.acquire()"),
        ("Observed", "observe", "time.sleep(3600)"),
    ],
)
@pytest.mark.parametrize("command", ["run", "sweep"])
def test_a_command_ends_a_call_that_waits(
    command: str, name: str, method: str, line: str, tmp_path: Path
) -> None:
    runs = {"run": ["--duration", "2s"], "sweep": [*LONG, "--repeat", "2"]}
    words = [*runs[command], "--out", "kept", "--trace", "10ms"]
    done = ends(COMMAND, command, f"endless:{name}", *PATH, *words)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ")
    assert f"in {method}" in done.stderr
    assert line in done.stderr
    assert f'File "{tmp_path}/endless.py", line' in done.stderr


DEBUGGED = """
import threading, time
from fullpipe import errors

source = compile("def wait(): time.sleep(1.2)", "pdb.py", "exec")
exec(source)
thread = threading.Thread(target=wait)
thread.start()
print(errors.waiting(thread.ident))
thread = threading.Thread(target=time.sleep, args=(1.2,))
thread.start()
print(errors.waiting(thread.ident))
"""


def test_a_debugger_may_wait() -> None:
    done = subprocess.run([sys.executable, "-c", DEBUGGED], capture_output=True, text=True)
    first, second = done.stdout.splitlines()[:2]
    assert first == "None"
    assert "does not return" in second
