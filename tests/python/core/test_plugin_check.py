"""`fullpipe plugin check` of classes in Python and policies: the findings of libraries, in Python's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Fullpipe

CLASS = """\
import fullpipe, itertools

count = itertools.count()

class Mine:
    {inside}
    def __init__(self, config):
        self.window = {window}

    def on_ack(self, cx, ack):
        {ack}

    def decision(self):
        return fullpipe.Decision(self.window, {ssthresh})
"""
GOOD = {"inside": "pass", "window": "10 * config.smss", "ack": "pass", "ssthresh": "2896"}
BROKEN = {
    "a window in segments": (
        {"window": "10", "ssthresh": "10"},
        ("the window is below one segment (10 of", "windows are in bytes: keep it at cx.conn.smss"),
    ),
    "a misspelled argument": (
        {"ack": "self.window += ack.acked"},
        ("AttributeError: ", "'acked'", " in line 11"),
    ),
    "state besides self": (
        {"ack": "self.window = (5 + next(count) % 7) * cx.conn.smss"},
        ("the same calls lead to other decisions", "no random numbers but cx.random()"),
    ),
    "no threshold": ({"ssthresh": "None"}, ('declare recovery = "own"',)),
    "no window": ({"window": "0"}, ("cwnd = 0: no packet could ever be sent",)),
    "no decision": ({"ack": "self.window = None"}, ("cwnd = None: give a number of bytes",)),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_class_that_breaks_a_rule_is_told_which(
    kind: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    parts, said = BROKEN[kind]
    (tmp_path / "checked_mine.py").write_text(CLASS.format(**{**GOOD, **parts}))
    done = fullpipe("plugin", "check", "checked_mine.py:Mine", "--sequences", "20")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("checked_mine:Mine: ")
    for each in said:
        assert each in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("name", ["checked_mine.py:Mine", "checked_mine:Mine", "policy:power"])
def test_one_that_keeps_the_contract_passes(name: str, fullpipe: Fullpipe, tmp_path: Path) -> None:
    (tmp_path / "checked_mine.py").write_text(CLASS.format(**GOOD))
    done = fullpipe("plugin", "check", name, "--sequences", "20")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "keeps the contract: no breach in 20 sequences" in done.stdout


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("checked_mine.py", "write checked_mine.py:Mine"),
        ("checked_mine.py:Other", "name one that it has: Mine"),
        ("missing.py:Mine", "name a Python file and its class"),
        ("policy:missing.json", "fix: "),
    ],
)
def test_a_name_without_an_algorithm_has_a_fix(
    name: str, fix: str, fullpipe: Fullpipe, tmp_path: Path
) -> None:
    (tmp_path / "checked_mine.py").write_text(CLASS.format(**GOOD))
    done = fullpipe("plugin", "check", name)
    assert done.returncode == 2
    assert fix in done.stderr


def test_an_exceptions_lines_do_not_pass_for_the_commands(
    fullpipe: Fullpipe, tmp_path: Path
) -> None:
    forged = 'raise ValueError("x\\n\\nerror: forged\\nscore 99")'
    (tmp_path / "checked_mine.py").write_text(CLASS.format(**{**GOOD, "ack": forged}))
    done = fullpipe("plugin", "check", "checked_mine.py:Mine", "--sequences", "5")
    assert done.returncode == 1
    assert "ValueError: x error: forged score 99 in line " in done.stdout.splitlines()[0]
    assert not any(each.startswith(("error:", "score")) for each in done.stdout.splitlines())
